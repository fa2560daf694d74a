package forms

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

// valueBytes is an upper bound of the bytes that a form needs for a value in addition to its name and its text.
const valueBytes = 100

// Upload returns the content of the file that was chosen in a field without Save, or "" if none was chosen.
func (f *Form) Upload(name string) string { return f.Field(name).upload }

// readParts reads a form with files, and sets PostForm of the request. It returns a fault for a wrong or too large form,
// and the error of the request's context if the context ends.
//
// Decision: it reads the parts one after the other. ParseMultipartForm would accept at most about 1,000 files, and would
// leave temporary files behind: net/http removes only those of its own Request, and the handlers have a copy of that
// Request.
func (f *Form) readParts(r *http.Request) error {
	reader, err := r.MultipartReader()
	if err != nil {
		return parsed(err)
	}
	r.PostForm = url.Values{}
	for left := web.MaxBody; ; {
		part, err := reader.NextPart()
		if ended := r.Context().Err(); ended != nil {
			return ended
		}
		if err == io.EOF { // the end of the form; the error of a form that is cut off wraps io.EOF
			return nil
		}
		if err != nil {
			return parsed(err)
		}
		name := part.FormName()
		switch {
		case name == "":
		case part.FileName() == "" && part.Header.Get("Content-Type") != "": // no file was chosen
		case part.FileName() != "":
			err = f.readFile(name, part)
		default:
			var value []byte
			if value, err = io.ReadAll(io.LimitReader(part, int64(left)+1)); err == nil {
				if left -= len(name) + len(value) + valueBytes; left < 0 {
					err = tooLarge(web.MaxBody)
				}
				r.PostForm.Add(name, string(value))
			}
		}
		if err != nil {
			return parsed(err)
		}
	}
}

// readFile passes a file that was chosen in the field with the name to Save of the field. If Save is nil, it stores the
// content of the first file for Upload and ignores further files. It returns a fault if the form has no such File field.
func (f *Form) readFile(name string, file *multipart.Part) error {
	for _, field := range f.Fields {
		switch {
		case field.Name != name || field.Kind != File:
		case field.Save != nil:
			return field.Save(file)
		case field.upload == "":
			content, err := io.ReadAll(io.LimitReader(file, web.MaxBody+1))
			if len(content) > web.MaxBody {
				err = tooLarge(web.MaxBody)
			}
			field.upload = string(content)
			return err
		default:
			return nil
		}
	}
	return fault.Field(name, "is not a field of this form")
}

func tooLarge(most int64) error {
	return fault.New(fault.TooLarge, "The form must have at most %d bytes.", most)
}

// parsed returns the fault for an error of reading a form.
func parsed(err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*fault.Error](err); is {
		return err
	}
	if large, is := errors.AsType[*http.MaxBytesError](err); is {
		return tooLarge(large.Limit)
	}
	return fault.Wrap(fault.Invalid, err, "The body must be a form, as browsers send it.")
}
