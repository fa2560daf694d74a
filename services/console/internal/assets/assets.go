// Package assets serves the style, the scripts and the icons of the console, without comments and with short names of
// variables. The name of a file contains the hash of its content, so a changed file has a new name. Browsers may
// therefore keep a file forever.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"

	"github.com/bellbuoy/bellbuoy/libs/coding"
	"github.com/bellbuoy/bellbuoy/libs/look"
)

//go:embed style.css console.js passkey.js order.js work.js import.js move.js icons.svg
var sources embed.FS

// Files are the files of the console.
type Files struct {
	addresses map[string]string // by the name of the source
	byName    map[string]file   // by the name with the hash
}

type file struct {
	media       string
	plain, gzip []byte
	// brotli compresses the file at the first request of a browser that accepts brotli, as all browsers do over https. The
	// best quality takes up to 0.1 s for a file, so the start does not wait for it.
	brotli func() []byte
}

// Prefix is the path below which the files are served.
const Prefix = "/console/assets/"

// New returns the files.
func New() (*Files, error) {
	files := &Files{addresses: map[string]string{}, byName: map[string]file{}}
	small := minify.New()
	small.AddFunc("text/css", css.Minify)
	small.AddFunc("text/javascript", js.Minify)
	for name, media := range map[string]string{
		"style.css": "text/css; charset=utf-8", "console.js": "text/javascript; charset=utf-8",
		"passkey.js": "text/javascript; charset=utf-8", "order.js": "text/javascript; charset=utf-8", "work.js": "text/javascript; charset=utf-8",
		"import.js": "text/javascript; charset=utf-8", "move.js": "text/javascript; charset=utf-8",
		"icons.svg": "image/svg+xml",
	} {
		source, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}
		content := source
		switch path.Ext(name) {
		case ".css":
			content, err = small.Bytes("text/css", append([]byte(style()), source...))
		case ".js":
			content, err = small.Bytes("text/javascript", source)
		case ".svg":
			content = []byte(sprite(string(source)))
		}
		if err != nil {
			return nil, fmt.Errorf("minify %s: %w", name, err)
		}
		sum := sha256.Sum256(content)
		extension := path.Ext(name)
		hashed := strings.TrimSuffix(name, extension) + "." + base64.RawURLEncoding.EncodeToString(sum[:9]) + extension
		var zipped bytes.Buffer
		writer, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if err == nil {
			err = write(writer, content)
		}
		if err != nil {
			return nil, fmt.Errorf("compress %s: %w", name, err)
		}
		files.addresses[name] = Prefix + hashed
		files.byName[hashed] = file{media, content, zipped.Bytes(), sync.OnceValue(func() []byte {
			var best bytes.Buffer
			_ = write(brotli.NewWriterLevel(&best, brotli.BestCompression), content) // a Buffer never fails
			return best.Bytes()
		})}
	}
	return files, nil
}

func write(w io.WriteCloser, content []byte) error {
	if _, err := w.Write(content); err != nil {
		return err
	}
	return w.Close()
}

// style returns the colours and the base style. The member's theme has priority over the system's. Print is light.
func style() string {
	light, dark := look.Light().Properties(), look.Dark().Properties()
	return ":root{" + light + "}@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark + "}}@media screen{:root[data-theme=dark]{" + dark + "}}" + look.Base()
}

// sprite returns the icons of the console and, with the prefix i-, the icons of states. A style does not apply within
// the symbols of another document, so the filled shape of a state has the attribute fill="currentColor".
func sprite(source string) string {
	var out strings.Builder
	out.WriteString(`<svg xmlns="http://www.w3.org/2000/svg">` + "\n" + source)
	for _, icon := range look.Icons() {
		shape := strings.Replace(string(icon.Markup), `class="f"`, `fill="currentColor" stroke="none"`, 1)
		fmt.Fprintf(&out, `<symbol id="i-%s" viewBox="0 0 16 16">%s</symbol>`+"\n", icon.Class, shape)
	}
	return out.String() + "</svg>\n"
}

// Address returns the path of the file whose source has the name.
func (f *Files) Address(name string) string { return f.addresses[name] }

// find returns the file with the name. If the name has the hash of another version, find returns the file of this version
// and current is false: while an upgrade is under way, the page may come from a console of one version, and its files from
// a console of another.
func (f *Files) find(name string) (found file, current, known bool) {
	if found, known = f.byName[name]; known {
		return found, true, true
	}
	base, rest, _ := strings.Cut(name, ".")
	_, extension, _ := strings.Cut(rest, ".")
	own, known := f.addresses[base+"."+extension]
	return f.byName[strings.TrimPrefix(own, Prefix)], false, known
}

// ServeHTTP responds with the file that the path names. Its errors are plain text, because a browser does not show the
// response to a request for a file.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	found, current, known := f.find(strings.TrimPrefix(r.URL.Path, Prefix))
	switch {
	case !known:
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "A file takes no such request.", http.StatusMethodNotAllowed)
		return
	case current:
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Content-Type", found.media)
	header.Set("Vary", "Accept-Encoding")
	body := found.plain
	switch of := coding.For(r.Header.Values("Accept-Encoding")); of {
	case coding.Brotli:
		header.Set("Content-Encoding", of)
		body = found.brotli()
	case coding.Gzip:
		header.Set("Content-Encoding", of)
		body = found.gzip
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error means that the browser has gone; the server sends no body for HEAD
}
