package site

import (
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// robots returns robots.txt: crawlers may visit a public dashboard that wants to be found.
func robots(s *edition.Snapshot) (File, error) {
	rule := "Disallow:" // nothing
	if !s.Dashboard.SearchIndexing || s.Dashboard.Access.Mode != catalog.AccessPublic {
		rule = "Disallow: /"
	}
	return File{Body: []byte("User-agent: *\n" + rule + "\n")}, nil
}
