package download_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/download"
	"github.com/bellbuoy/bellbuoy/libs/moving/source"
)

const base = "https://api.statuspage.io/v1/pages/p"

// server answers requests as Statuspage does, without a network, so that time can be that of a synctest bubble.
type server struct {
	t       *testing.T
	times   []time.Time
	paths   []string
	refused int // requests that are refused before the others
	status  int
	headers http.Header
	lists   map[string][]string // pages by the path of the list; the state of subscribers follows the path
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.times = append(s.times, time.Now())
	s.paths = append(s.paths, r.URL.RequestURI())
	if r.Header.Get("Authorization") != "OAuth key" || r.URL.Host != "api.statuspage.io" {
		s.t.Errorf("%s is requested with %q", r.URL, r.Header.Get("Authorization"))
	}
	response := func(status int, body string) *http.Response {
		return &http.Response{StatusCode: status, Header: s.headers, Body: io.NopCloser(strings.NewReader(body)), Request: r}
	}
	if s.refused > 0 {
		s.refused--
		return response(s.status, ""), nil
	}
	path, query := strings.TrimPrefix(r.URL.Path, "/v1/pages/p"), r.URL.Query()
	if path == "" {
		return response(http.StatusOK, `{"id": "p", "name": "Harbour", "subdomain": "harbour", "time_zone": "Etc/UTC"}`), nil
	}
	page, first := 0, 1
	if path == "/subscribers" {
		first = 0
	}
	fmt.Sscan(query.Get("page"), &page)
	pages := s.lists[path+query.Get("state")]
	if page-first < 0 || page-first >= len(pages) {
		return response(http.StatusOK, "[]"), nil
	}
	return response(http.StatusOK, pages[page-first]), nil
}

// subscribers returns n pages with 100 subscribers each.
func subscribers(n int) (pages []string) {
	for page := range n {
		var rows []string
		for i := range 100 {
			rows = append(rows, fmt.Sprintf(`{"id": "s%d", "mode": "email", "email": "r%d@reader.example", "components": [], "created_at": "2022-01-01T00:00:00Z"}`, page*100+i, page*100+i))
		}
		pages = append(pages, "["+strings.Join(rows, ", ")+"]")
	}
	return pages
}

// All pages are saved, those of subscribers from page 0 on, with at most one request a second. The reader reads them.
func TestAPageIsSavedWholeWithOneRequestASecond(t *testing.T) {
	folder := t.TempDir()
	s := &server{t: t, lists: map[string][]string{
		"/components": {`[{"id": "c", "name": "Gate", "status": "operational"}]`},
		"/incidents": {`[{"id": "i1", "name": "A", "status": "resolved", "impact": "minor", "created_at": "2022-01-01T00:00:00Z", "incident_updates": []}]`,
			`[{"id": "i0", "name": "B", "status": "resolved", "impact": "minor", "created_at": "2021-01-01T00:00:00Z", "incident_updates": []}]`},
		"/subscribersactive": subscribers(2), "/subscribersunconfirmed": {`[{"id": "u", "mode": "email", "email": "u@reader.example", "components": []}]`},
	}}
	synctest.Test(t, func(t *testing.T) {
		if err := download.Statuspage(t.Context(), &http.Client{Transport: s}, base, "key", folder, true); err != nil {
			t.Fatal(err)
		}
	})
	for i := range s.times[1:] {
		if s.times[i+1].Sub(s.times[i]) < time.Second {
			t.Errorf("%s follows %s after %s", s.paths[i+1], s.paths[i], s.times[i+1].Sub(s.times[i]))
		}
	}
	set, err := source.Read(t.Context(), "statuspage", folder, source.Options{Only: []string{"components", "events", "subscribers"}, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	confirmed := 0
	for _, r := range set.Subscribers {
		if r.State == "confirmed" {
			confirmed++
		}
	}
	if len(set.Components) != 1 || len(set.Events) != 2 || len(set.Subscribers) != 201 || confirmed != 200 || len(set.Warnings) != 0 {
		t.Errorf("%d components, %d events, %d subscribers, %d confirmed, warnings %v", len(set.Components), len(set.Events), len(set.Subscribers), confirmed, set.Warnings)
	}
}

func TestRefusedRequestsAreSentAgainAfterAPause(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		after   string
		refused int
		pause   time.Duration
		fails   string
	}{
		"420":         {420, "", 2, time.Minute, ""},
		"429":         {429, "7", 1, 7 * time.Second, ""},
		"429 a day":   {429, "86400", 1, 10 * time.Minute, ""},
		"429 for all": {429, "7", 1000, 7 * time.Second, "is refused because of too many requests"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := &server{t: t, refused: c.refused, status: c.status, headers: http.Header{"Retry-After": {c.after}}}
			synctest.Test(t, func(t *testing.T) {
				err := download.Statuspage(t.Context(), &http.Client{Transport: s}, base, "key", folder, false)
				if err == nil != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v", err)
				}
			})
			if got := s.times[1].Sub(s.times[0]); got != c.pause {
				t.Errorf("the request is sent again after %s", got)
			}
		})
	}
}

func TestWrongAddressesAndResponsesAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		base, token string
		server      server
		fails       string
	}{
		"http":         {"http://api.statuspage.io/v1/pages/p", "key", server{}, "must be https://"},
		"no address":   {"https://", "key", server{}, "must be https://"},
		"foreign host": {"https://api.statuspage.io.example/v1/pages/p", "key", server{}, "must be https://api.statuspage.io/"},
		"user info":    {"https://key@api.statuspage.io/v1/pages/p", "key", server{}, "must be https://api.statuspage.io/"},
		"other port":   {"https://api.statuspage.io:8443/v1/pages/p", "key", server{}, "must be https://api.statuspage.io/"},
		"no key":       {base, "", server{}, "set IMPORT_TOKEN"},
		"wrong key":    {base, "key", server{refused: 1, status: 401}, "returned status 401; check IMPORT_TOKEN"},
		"foreign page": {base, "key", server{refused: 1, status: 404}, "returned status 404; check the address"},
		"redirect":     {base, "key", server{refused: 1, status: 302, headers: http.Header{"Location": {"https://elsewhere.example/"}}}, "returned status 302"},
		"endless":      {base, "key", server{lists: map[string][]string{"/incidents": {`[{"id": "i"}]`, `[{"id": "i"}]`}}}, "returns the same page again"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			c.server.t = t
			synctest.Test(t, func(t *testing.T) {
				err := download.Statuspage(t.Context(), &http.Client{Transport: &c.server}, c.base, c.token, folder, false)
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
