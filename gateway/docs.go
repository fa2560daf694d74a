package gateway

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/swaggest/swgui/v5/static"
)

// docsPage is the documentation page: Swagger UI, which shows the four OpenAPI documents.
//
//go:embed docs
var docsPage embed.FS

// docsPath is the path of the documentation page. The files of the page are below this path.
const docsPath = "/docs"

const (
	scriptType = "text/javascript; charset=utf-8"
	// docsPolicy lets the page load only from the gateway and call only the gateway. Swagger UI needs two exceptions:
	// icons as data: URLs in its style sheet, and the style element with this hash in its logo.
	docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; " +
		"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// docsFile is a document or a file of the documentation page. A file whose name ends in .gz is sent compressed, because
// every browser that runs Swagger UI accepts gzip.
type docsFile struct {
	in                      fs.FS
	name, mediaType, policy string
}

// docsFiles returns the documents and the files of the documentation page by their paths. The HTML file is our own,
// because the HTML of package v5emb has inline scripts, which need a weaker policy, and cannot show several documents.
func docsFiles() map[string]docsFile {
	files := map[string]docsFile{
		docsPath:                                      {docsPage, "docs/index.html", "text/html; charset=utf-8", docsPolicy},
		docsPath + "/start.js":                        {docsPage, "docs/start.js", scriptType, docsPolicy},
		docsPath + "/favicon-32x32.png":               {static.FS, "favicon-32x32.png", "image/png", docsPolicy},
		docsPath + "/swagger-ui.css":                  {static.FS, "swagger-ui.css.gz", "text/css; charset=utf-8", docsPolicy},
		docsPath + "/swagger-ui-bundle.js":            {static.FS, "swagger-ui-bundle.js.gz", scriptType, docsPolicy},
		docsPath + "/swagger-ui-standalone-preset.js": {static.FS, "swagger-ui-standalone-preset.js.gz", scriptType, docsPolicy},
	}
	for _, path := range []string{legacyDocument, appDocument, operatorDocument, publicDocument} {
		files[path] = docsFile{documents, strings.TrimPrefix(path, "/"), "application/yaml", "default-src 'none'"}
	}
	return files
}

// Public declares the public operations that the gateway serves: the documents, the documentation page, and the pages at
// / and /d.
func Public() []web.Public {
	row := func(path, id, summary string, content web.Content, description string) web.Public {
		return web.Public{
			Method: http.MethodGet, Path: path, ID: id, Tag: "documents", Summary: summary, Parameters: web.Conditional{},
			Responses: []web.Response{
				{Status: http.StatusOK, Description: description, Headers: []string{"ETag"}, Contents: []web.Content{content}}, web.NotModified(),
			},
		}
	}
	document := web.Content{Media: "application/yaml", Of: ""}
	return append(frontPublic(),
		row(legacyDocument, "getLegacyDocument", "Get the document of the legacy interface", document, "An OpenAPI document."),
		row(appDocument, "getAppDocument", "Get the document of the App interface", document, "An OpenAPI document."),
		row(operatorDocument, "getOperatorDocument", "Get the document of the operator interface", document, "An OpenAPI document."),
		row(publicDocument, "getPublicDocument", "Get this document", document, "An OpenAPI document."),
		row(docsPath, "getPage", "Get the page that shows the four documents", web.Content{Media: "text/html", Of: ""}, "The page."),
	)
}

// newDocs returns the responses for the files of docsFiles by their paths. The files never change while the program runs.
func newDocs() (map[string]*message.Response, error) {
	docs := map[string]*message.Response{}
	for path, file := range docsFiles() {
		content, err := fs.ReadFile(file.in, file.name)
		if err != nil {
			return nil, fmt.Errorf("documents: %w", err)
		}
		header := http.Header{
			"Content-Type":            {file.mediaType},
			"Content-Security-Policy": {file.policy},
			"X-Content-Type-Options":  {"nosniff"},
			"Cache-Control":           {"public, max-age=300"},
		}
		if strings.HasSuffix(file.name, ".gz") {
			header.Set("Content-Encoding", "gzip")
		}
		response := message.NewResponse(http.StatusOK, header, content)
		docs[path] = &response
	}
	return docs, nil
}
