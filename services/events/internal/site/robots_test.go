package site

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func TestCrawlersMayVisitPublicDashboardsThatWantThem(t *testing.T) {
	for _, c := range []struct {
		mode    catalog.AccessMode
		indexed bool
		want    string
	}{
		{catalog.AccessPublic, true, "User-agent: *\nDisallow:\n"},
		{catalog.AccessPublic, false, "User-agent: *\nDisallow: /\n"},
		{catalog.AccessPassword, true, "User-agent: *\nDisallow: /\n"},
		{catalog.AccessIPAllowlist, true, "User-agent: *\nDisallow: /\n"},
	} {
		s := sampleSnapshot()
		s.Dashboard.Access.Mode, s.Dashboard.SearchIndexing = c.mode, c.indexed
		if file, err := robots(s); err != nil || string(file.Body) != c.want {
			t.Errorf("%s, searchIndexing %v: %q, want %q (%v)", c.mode, c.indexed, file.Body, c.want, err)
		}
	}
}
