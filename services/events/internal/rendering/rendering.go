// Package rendering renders the files of a dashboard with package site and compresses them. It is a package of its own
// because the catalog imports no renderer, and because site returns plain bytes.
package rendering

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"

	"github.com/andybalholm/brotli"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/site"
)

// The content codings, by their names in Content-Encoding.
const (
	Identity = "identity"
	Gzip     = "gzip"
	Brotli   = "br"
)

// brotliQuality is the quality after which a file shrinks little, because the first visitor of an edition waits for the
// compression. Of a page of 122 KB, quality 4 makes 16.9 KB, 5 makes 15.1 KB and 6 makes 14.9 KB in about the same time.
// Quality 9 makes 14.6 KB in 3 times the time, and 11 makes 13.3 KB in 100 times the time.
const brotliQuality = 6

// Renderer implements catalog.Renderer.
type Renderer struct {
	site *site.Site
	// encoders has a place for each compression at the same time. A place keeps its encoder, which has tables of several
	// megabytes; nil: the place was not used yet.
	encoders chan *encoder
}

// encoder compresses one file after the other.
type encoder struct {
	zip *gzip.Writer
	br  *brotli.Writer
}

// maxEncoders bounds the memory of encoders on machines with many processors.
const maxEncoders = 4

// New reads the templates and the words. confirm is the URL that takes the code of a visitor.
func New(confirm string) (Renderer, error) {
	s, err := site.New(confirm)
	r := Renderer{s, make(chan *encoder, min(maxEncoders, runtime.GOMAXPROCS(0)))}
	for range cap(r.encoders) {
		r.encoders <- nil
	}
	return r, err
}

func (r Renderer) Render(snapshot *catalog.Snapshot, name string, asked catalog.Asked) (catalog.File, error) {
	file, err := r.site.Render(snapshot, name, asked)
	if err != nil {
		return catalog.File{}, err
	}
	out := catalog.File{Name: name, Media: file.Media, Policy: file.Policy}
	out.Codings, err = r.codings(coding(Identity, file.Body))
	return out, err
}

func (r Renderer) codings(plain catalog.Coding) ([]catalog.Coding, error) {
	e := <-r.encoders
	defer func() { r.encoders <- e }()
	if e == nil {
		zip, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
		if err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		e = &encoder{zip, brotli.NewWriterLevel(nil, brotliQuality)}
	}
	var zipped, brotlied bytes.Buffer
	e.zip.Reset(&zipped)
	e.br.Reset(&brotlied)
	for _, w := range []io.WriteCloser{e.zip, e.br} {
		if _, err := w.Write(plain.Body); err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
	}
	return []catalog.Coding{plain, coding(Gzip, zipped.Bytes()), coding(Brotli, brotlied.Bytes())}, nil
}

func coding(name string, body []byte) catalog.Coding {
	return catalog.Coding{Name: name, Body: body, ETag: etag.Of(body)}
}
