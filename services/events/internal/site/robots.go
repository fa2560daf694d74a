package site

import (
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// robots returns robots.txt. Crawlers may visit a public dashboard that allows search engines.
func robots(s *edition.Snapshot) (File, error) {
	rule := "Disallow:" // an empty Disallow forbids nothing
	if !s.Dashboard.SearchIndexing || s.Dashboard.Access.Mode != catalog.AccessPublic {
		rule = "Disallow: /"
	}
	return File{Body: []byte("User-agent: *\n" + rule + "\n")}, nil
}
