package pages

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const (
	// mostPacked bounds the compressed body of a part, in bytes. The gateway has the same limit for these paths.
	mostPacked = 8 << 20
	// mostUploaded bounds what the body of a part contains when it is unpacked, in bytes.
	mostUploaded = 64 << 20
	// mostFiles bounds the number of files of a folder.
	mostFiles = 20_000
	// readTime bounds the time in which a source is read. With the upload, the request stays below its time limit.
	readTime = 12 * time.Second
)

var errUploadLarge = fault.New(fault.TooLarge, "The files have more than 64 MiB, or more than 8 MiB when compressed. Use the command bellbuoy import.")

// unpack lets the handler read the body of a part: up to mostPacked bytes, which the script compresses.
func unpack(v *visit) error {
	web.Admit(v.Context, mostPacked)
	if v.GetHeader("Content-Encoding") != "gzip" {
		return nil
	}
	body, err := gzip.NewReader(v.Request.Body)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "The body must be compressed with gzip.")
	}
	v.Request.Body = http.MaxBytesReader(v.Writer, io.NopCloser(body), mostUploaded)
	return nil
}

// readUpload saves the files of a form in a temporary folder, reads the source from there and removes the folder. A reader
// that does not end in time runs on, on the folder that is gone. left has the number of records of each kind that the
// options leave out.
func readUpload(ctx context.Context, r *http.Request, product string, o source.Options) (set *lines.Set, left map[string]int, err error) {
	folder, err := os.MkdirTemp("", "bellbuoy-import-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder)
	at, err := saveFiles(r, folder)
	if err != nil {
		return nil, nil, err
	}
	type result struct {
		set  *lines.Set
		left map[string]int
		err  error
	}
	done := make(chan result, 1)
	go func() {
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
			got.err = errors.New("the source cannot be read: " + strings.ReplaceAll(strings.ReplaceAll(got.err.Error(), at, path.Base(at)), folder+string(filepath.Separator), ""))
		}
		return got.set, got.left, got.err
	}
}

// saveFiles saves the files of a form below a folder. It returns the path of the only file, or of the folder.
func saveFiles(r *http.Request, folder string) (string, error) {
	var files []*multipart.FileHeader
	if r.MultipartForm != nil {
		for _, name := range []string{"file", "folder"} {
			for _, file := range r.MultipartForm.File[name] {
				if file.Filename != "" {
					files = append(files, file)
				}
			}
		}
	}
	switch {
	case len(files) == 0:
		return "", errors.New("choose a file or a folder")
	case len(files) > mostFiles:
		return "", fmt.Errorf("the folder has more than %d files; leave out what does not belong to the status page", mostFiles)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for _, file := range files {
		if err := saveFile(root, file, nameOfUpload(file)); err != nil {
			return "", err
		}
	}
	name := nameOfUpload(files[0])
	if len(files) == 1 && path.Dir(name) == "." {
		return filepath.Join(folder, name), nil
	}
	if top, _, below := strings.Cut(name, "/"); below && allBelow(files, top) {
		return filepath.Join(folder, top), nil // browsers send the name of a chosen folder, too
	}
	return folder, nil
}

// nameOfUpload returns the name of a file with its path in a chosen folder, as the browser has sent it.
func nameOfUpload(file *multipart.FileHeader) string {
	_, parameters, err := mime.ParseMediaType(file.Header.Get("Content-Disposition"))
	if name := parameters["filename"]; err == nil && name != "" {
		return name
	}
	return file.Filename
}

func allBelow(files []*multipart.FileHeader, top string) bool {
	for _, file := range files {
		if !strings.HasPrefix(nameOfUpload(file), top+"/") {
			return false
		}
	}
	return true
}

func saveFile(root *os.Root, file *multipart.FileHeader, name string) error {
	if !filepath.IsLocal(name) || strings.ContainsAny(name, "\\\x00") || len(name) > 1000 {
		return fmt.Errorf("the file name %.100q leads out of the folder", name)
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fmt.Errorf("the file %.100q cannot be stored: %w", name, errors.Unwrap(err))
	}
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the file %.100q cannot be stored: %w", name, errors.Unwrap(err))
	}
	from, err := file.Open()
	if err != nil {
		return errors.Join(err, to.Close())
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
