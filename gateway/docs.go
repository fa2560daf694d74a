package gateway

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

// docsPage is the documentation page: Swagger UI over the four documents.
//
//go:embed docs
var docsPage embed.FS

// docsPath is the path of the documentation page. Its files are below it.
const docsPath = "/docs"

const (
	scriptType = "text/javascript; charset=utf-8"
	// docsPolicy lets the page load and call nothing but the gateway. Swagger UI needs two
	// exceptions: its style sheet holds icons as data: URLs, and its components write style
	// attributes.
	docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// docsFile is a file of the documentation page. A name that ends in .gz is compressed.
type docsFile struct {
	in              fs.FS
	name, mediaType string
}

// docsFiles returns the files of the documentation page by their paths. The page is our
// own, not the one of package v5emb: that one has its script inline, so its policy would
// need a hash for each release.
func docsFiles() map[string]docsFile {
	return map[string]docsFile{
		docsPath:                                      {docsPage, "docs/index.html", "text/html; charset=utf-8"},
		docsPath + "/start.js":                        {docsPage, "docs/start.js", scriptType},
		docsPath + "/favicon-32x32.png":               {static.FS, "favicon-32x32.png", "image/png"},
		docsPath + "/swagger-ui.css":                  {static.FS, "swagger-ui.css.gz", "text/css; charset=utf-8"},
		docsPath + "/swagger-ui-bundle.js":            {static.FS, "swagger-ui-bundle.js.gz", scriptType},
		docsPath + "/swagger-ui-standalone-preset.js": {static.FS, "swagger-ui-standalone-preset.js.gz", scriptType},
	}
}

// newDocs returns the handlers of the documents and of the documentation page, by path.
func newDocs() (map[string]http.Handler, error) {
	docs := map[string]http.Handler{}
	for _, path := range documentPaths() {
		text, err := documents.ReadFile(strings.TrimPrefix(path, "/"))
		if err != nil {
			return nil, fmt.Errorf("documents: %w", err)
		}
		docs[path] = staticPage("application/yaml", "default-src 'none'", text)
	}
	for path, file := range docsFiles() {
		content, err := fs.ReadFile(file.in, file.name)
		if err != nil {
			return nil, fmt.Errorf("documents: %w", err)
		}
		page := staticPage(file.mediaType, docsPolicy, content)
		docs[path] = page
		if strings.HasSuffix(file.name, ".gz") {
			docs[path] = compressed(page, file.mediaType)
		}
	}
	return docs, nil
}

// staticPage returns a page that is the same until the next version of the platform.
func staticPage(mediaType, policy string, body []byte) *page {
	return newPage(&http.Response{StatusCode: http.StatusOK, Header: http.Header{
		"Content-Type":            {mediaType},
		"Content-Security-Policy": {policy},
		"X-Content-Type-Options":  {"nosniff"},
		"Cache-Control":           {"public, max-age=300"},
	}}, body)
}

// compressed returns a handler for a page whose body is compressed with gzip. It
// decompresses the body for a client that does not accept gzip.
func compressed(zipped *page, mediaType string) http.Handler {
	zipped.header.Set("Content-Encoding", "gzip")
	zipped.header.Set("Vary", "Accept-Encoding")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(strings.Join(r.Header["Accept-Encoding"], ","), "gzip") {
			zipped.ServeHTTP(w, r)
			return
		}
		var plain bytes.Buffer
		reader, err := gzip.NewReader(bytes.NewReader(zipped.body))
		if err == nil {
			_, err = plain.ReadFrom(reader)
		}
		if err != nil {
			panic(err) // the content is embedded
		}
		out := staticPage(mediaType, docsPolicy, plain.Bytes())
		out.header.Set("Vary", "Accept-Encoding")
		out.ServeHTTP(w, r)
	})
}
