package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// input is the file or folder of a source. No name leads out of the folder, also not through a symbolic link.
type input struct {
	files  fs.FS
	folder bool
	names  []string // the name of the file, or the names of all files of the folder, in order
	close  func() error
}

// openInput opens a file or folder. In a folder, node_modules is left out, and so are files and folders whose names
// begin with a dot, except .upptimerc.yml. openInput returns an error if the context of Read ends.
func (b *builder) openInput(path string) (*input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	in := &input{folder: info.IsDir()}
	folder := path
	if !in.folder {
		folder = filepath.Dir(path)
		in.names = []string{filepath.Base(path)}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	in.files, in.close = root.FS(), root.Close
	if !in.folder {
		return in, nil
	}
	err = fs.WalkDir(in.files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch err = cmp.Or(err, b.ended()); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !entry.IsDir() && (!strings.HasPrefix(entry.Name(), ".") || entry.Name() == ".upptimerc.yml"):
			in.names = append(in.names, name)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	slices.Sort(in.names)
	return in, nil
}

// read returns a file in valid UTF-8, without its byte order mark, and with \n for every line break.
func (in *input) read(name string) ([]byte, error) {
	file, err := in.files.Open(name)
	if err != nil {
		if path, is := errors.AsType[*fs.PathError](err); is {
			return nil, fmt.Errorf("cannot be opened: %w", path.Err)
		}
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, lines.MaxFile+1))
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	if len(content) > lines.MaxFile {
		return nil, fmt.Errorf("has more than %d bytes", lines.MaxFile)
	}
	content = bytes.TrimPrefix(bytes.ToValidUTF8(content, []byte("\uFFFD")), []byte("\ufeff"))
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), nil
}

// elements calls each with every element of the JSON array at the decoder. It returns an error if the array is cut off
// or wrong, or if next returns an error. each was then called with the elements before this place.
func (b *builder) elements(decoder *jsontext.Decoder, each func(value jsontext.Value)) error {
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '[' {
		return errors.New("is no JSON array")
	}
	for n := 0; ; n++ {
		if decoder.PeekKind() == ']' {
			_, err := decoder.ReadToken()
			return err
		}
		value, err := decoder.ReadValue()
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("is cut off after %d records", n)
			}
			return fmt.Errorf("is wrong JSON after %d records", n)
		}
		if err := b.next(len(value)); err != nil {
			return err
		}
		each(value)
	}
}

// wrongJSON returns nil if a file begins with a JSON value. Otherwise it returns an error, which names the line and the
// byte at which the file is cut off or wrong.
func wrongJSON(content []byte) error {
	_, err := jsontext.NewDecoder(bytes.NewReader(content), jsontext.AllowDuplicateNames(true)).ReadValue()
	switch {
	case err == nil:
		return nil
	case len(bytes.TrimSpace(content)) == 0:
		return errors.New("is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("is cut off in line %d, after %d bytes", 1+bytes.Count(content, []byte("\n")), len(content))
	}
	at := 0
	if syntax, is := errors.AsType[*jsontext.SyntacticError](err); is {
		at = min(int(syntax.ByteOffset), len(content))
	}
	return fmt.Errorf("is wrong JSON in line %d, at byte %d", 1+bytes.Count(content[:at], []byte("\n")), at)
}

// record decodes a JSON record of another product. It ignores members that into lacks. It returns two empty texts if
// the record is right. Otherwise text is for a warning, and field is the member that has a wrong type, or empty.
func record(value jsontext.Value, into any) (field, text string) {
	err := json.Unmarshal(value, into, jsontext.AllowDuplicateNames(true))
	if err == nil {
		return "", ""
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return strings.TrimPrefix(strings.ReplaceAll(string(semantic.JSONPointer), "/", "."), "."), "has another JSON type than expected; the record is left out"
	}
	return "", "is no valid JSON; the record is left out"
}

// decodeYAML decodes YAML. The error is one line, with the line number if it is known.
func (b *builder) decodeYAML(content []byte, into any) error {
	if err := b.next(len(content)); err != nil {
		return err
	}
	err := yaml.Unmarshal(content, into)
	if err == nil {
		return nil
	}
	text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
	if wrong, is := errors.AsType[*yaml.TypeError](err); is && len(wrong.Errors) > 0 {
		line, _, _ := strings.Cut(wrong.Errors[0], ": ")
		text = line + ": a value has another type than expected"
	}
	return errors.New("is wrong YAML: " + text)
}
