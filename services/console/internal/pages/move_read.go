package pages

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	// mostPacked bounds the compressed body of a request to a path below /parts/import, in bytes. The gateway has the same limit
	// for these paths.
	mostPacked = 8 << 20
	// mostUploaded bounds the files of a source, in bytes when they are unpacked.
	mostUploaded = 64 << 20
	// mostPart bounds a movePart, in bytes of unpacked JSON. A piece has at most about 8 MiB of lines.
	mostPart = 24 << 20
	// mostLines bounds the lines of a piece. Package transfer puts at most 1,000 lines into a piece, except for dashboards.
	mostLines = 5000
	// mostFiles bounds the number of files of a folder.
	mostFiles = 20_000
	// mostLevels bounds the depth of folders. Without this bound, a small upload could make millions of folders.
	mostLevels = 20
	// readTime bounds the time in which a source is read. With the upload, the request stays below its time limit.
	readTime = 12 * time.Second
)

// unpack makes the handler read the unpacked body of the request, if the script has compressed the body with gzip. After most
// bytes, reading fails.
func unpack(v *visit, most int64) error {
	if v.GetHeader("Content-Encoding") != "gzip" {
		return nil
	}
	body, err := gzip.NewReader(v.Request.Body)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "The body must be compressed with gzip.")
	}
	v.Request.Body = http.MaxBytesReader(v.Writer, io.NopCloser(body), most)
	return nil
}

// upload is the temporary folder with the files of a form.
type upload struct {
	folder  string // empty: no file is stored yet
	names   []string
	problem error // why a file cannot be saved; later files are not saved either
}

// take makes the form save its files in the folder while the form is read. After the request, the caller calls remove.
func (u *upload) take(form *forms.Form) {
	form.Field("file").Save, form.Field("folder").Save = u.save, u.save
}

func (u *upload) remove() {
	if u.folder != "" {
		_ = os.RemoveAll(u.folder) // a temporary folder that is left harms nobody
	}
}

// save saves a file of the form. If the file cannot be saved, save sets problem. It returns an error only if the form cannot
// be read.
func (u *upload) save(file *multipart.Part) error {
	if u.problem != nil {
		return nil
	}
	name := nameOfUpload(file)
	switch u.names = append(u.names, name); {
	case len(u.names) > mostFiles:
		u.problem = fmt.Errorf("the folder has more than %d files; leave out what does not belong to the status page", mostFiles)
	case strings.Count(name, "/") > mostLevels:
		u.problem = fmt.Errorf("the file %.100q lies more than %d folders deep; leave out what does not belong to the status page", name, mostLevels)
	case !filepath.IsLocal(name) || strings.ContainsAny(name, "\\\x00") || len(name) > 1000:
		u.problem = fmt.Errorf("the file name %.100q leads out of the folder", name)
	default:
		err := u.store(name, file)
		wrong, is := errors.AsType[*fs.PathError](err) // its text would name the temporary folder
		if !is {
			return err
		}
		u.problem = fmt.Errorf("the file %.100q cannot be stored: %w", name, wrong.Err)
	}
	return nil
}

func (u *upload) store(name string, file io.Reader) (err error) {
	if u.folder == "" {
		if u.folder, err = os.MkdirTemp("", "bellbuoy-import-"); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(u.folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, file)
	return errors.Join(err, to.Close())
}

// path returns the path of the only file, or of the folder with the files.
func (u *upload) path() (string, error) {
	if len(u.names) == 0 {
		return "", errors.New("choose a file or a folder")
	}
	if u.problem != nil {
		return "", u.problem
	}
	name := u.names[0]
	if len(u.names) == 1 && path.Dir(name) == "." {
		return filepath.Join(u.folder, name), nil
	}
	top, _, below := strings.Cut(name, "/")
	if below && !slices.ContainsFunc(u.names, func(name string) bool { return !strings.HasPrefix(name, top+"/") }) {
		return filepath.Join(u.folder, top), nil // browsers send the name of a chosen folder, too
	}
	return u.folder, nil
}

// read reads the source, and calls release when the reader has ended. If ctx ends first, read returns an error at once, and
// the reader ends at its next record. left is the number of records of each kind that the options leave out.
func (u *upload) read(ctx context.Context, product string, o source.Options, release func()) (set *lines.Set, left map[string]int, err error) {
	at, err := u.path()
	if err != nil {
		release()
		return nil, nil, err
	}
	type result struct {
		set  *lines.Set
		left map[string]int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		defer release()
		defer func() {
			if cause := recover(); cause != nil {
				done <- result{err: fmt.Errorf("it is not one of %s", product)}
			}
		}()
		left := map[string]int{}
		o.LeftOut = func(kind string, count int) { left[kind] += count }
		set, err := source.Read(ctx, product, at, o)
		done <- result{set, left, err}
	}()
	select {
	case <-ctx.Done():
		return nil, nil, errors.New("reading takes too long here; use the command bellbuoy import")
	case got := <-done:
		if got.err != nil { // an error may name the temporary folder
			got.err = errors.New("the source cannot be read: " + strings.ReplaceAll(strings.ReplaceAll(got.err.Error(), at, path.Base(at)), u.folder+string(filepath.Separator), ""))
		}
		return got.set, got.left, got.err
	}
}

// nameOfUpload returns the name of a file with its path in a chosen folder, as the browser has sent it.
func nameOfUpload(file *multipart.Part) string {
	_, parameters, err := mime.ParseMediaType(file.Header.Get("Content-Disposition"))
	if name := parameters["filename"]; err == nil && name != "" {
		return name
	}
	return file.FileName()
}
