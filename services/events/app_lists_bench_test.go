package events_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
	"github.com/google/uuid"
)

const fewRecords, benchRounds = 1000, 400

// manyRecords returns BENCH_RECORDS.
func manyRecords(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_RECORDS"), "100000"))
	if err != nil {
		b.Fatalf("BENCH_RECORDS: %v", err)
	}
	return n
}

// BenchmarkAppLists measures the App's lists of events and components over HTTP, for an organization with 1,000
// records and for one with BENCH_RECORDS (100,000). Requests to the two alternate. The benchmark reports the 99th percentiles of 400
// requests and their ratio, for the first page, the page in the middle and the last page of each filter; of a search for a
// part of a text only the time. It runs on SQLite, or on the MongoDB server that apitest.Documents names:
//
//	go test -run NONE -bench AppLists -benchtime 1x .
func BenchmarkAppLists(b *testing.B) {
	broker := startBroker(b)
	small, large := appCrowd(b, broker, fewRecords), appCrowd(b, broker, manyRecords(b))
	filters := []struct{ name, query string }{
		{"all", ""}, {"type", "type=maintenance"}, {"status", "status=resolved"}, {"a rare status", "status=verifying"},
		{"active", "active=true"}, {"not active", "active=false"}, {"drafts", "publish=false"}, {"published", "publish=true"}, {"dashboard", "dashboardId=" + dashA}, {"component", "componentId=" + benchComponent(3)},
		{"from", "from=FROM"}, {"to", "to=FROM"}, {"from and to", "from=FROM&to=TO"},
		{"q, a frequent word", "q=REGIONS"}, {"q, a rare word", "q=zebra"}, {"q, no word", "q=nothing+has+this"},
		{"type and status", "type=incident&status=resolved"}, {"type and active", "type=incident&active=true"}, {"dashboard and active", "active=true&dashboardId=" + dashA},
		{"dashboard and status", "status=resolved&dashboardId=" + dashA}, {"component and status", "status=resolved&componentId=" + benchComponent(3)},
		{"component and from", "from=FROM&componentId=" + benchComponent(3)}, {"dashboard, from and to", "from=FROM&to=TO&dashboardId=" + dashA},
		{"dashboard and q", "q=regions&dashboardId=" + dashA}, {"component and q", "q=nothing+has+this&componentId=" + benchComponent(3)},
	}
	for _, filter := range filters {
		for place, offset := range map[string]func(n int) int{
			"first": nil, "middle": func(n int) int { return n / 2 }, "last": func(n int) int { return n - 11 },
		} {
			compare(b, filter.name+", "+place, small, large, func(p *appPlatform) string { return p.events(filter.query, offset) })
		}
	}
	for place, offset := range map[string]func(n int) int{
		"first": nil, "middle": func(n int) int { return n / 2 }, "last": func(n int) int { return n - 11 },
	} {
		compare(b, "components, "+place, small, large, func(p *appPlatform) string { return p.componentPage(offset) })
	}
	for _, query := range []string{"q=no+such+name", "legacyId=17"} {
		compare(b, "components, "+query, small, large, func(*appPlatform) string { return "/app/components?" + query })
	}
	compare(b, "events, legacyId=17", small, large, func(*appPlatform) string { return "/app/events?legacyId=17" })
}

// compare fails if one of the two pages has more than twice as many records as the other, unless it is a page of a search, of which only
// the time counts.
func compare(b *testing.B, name string, small, large *appPlatform, path func(*appPlatform) string) {
	b.Run(name, func(b *testing.B) {
		few, many := path(small), path(large)
		search := strings.Contains(many, "q=")
		if one, other := small.size(few), large.size(many); !search && (one > 2*other || other > 2*one) {
			b.Fatalf("%d and %d records are compared", one, other)
		}
		for b.Loop() {
			var fast, slow []time.Duration
			for range benchRounds + 5 { // the first warm up
				fast = append(fast, small.asks(few))
				slow = append(slow, large.asks(many))
			}
			report(b, fast[5:], slow[5:], search)
		}
	})
}

// appPlatform is a service with n events and n components of an organization.
type appPlatform struct {
	*platform
	n       int
	records *store.Store
}

func (p *appPlatform) asks(path string) time.Duration {
	p.t.Helper()
	began := time.Now()
	if got := p.send("app event a", "GET", path, ""); got.status != 200 {
		p.t.Fatalf("%s returned %d %s", path, got.status, got.body)
	}
	return time.Since(began)
}

// size returns the number of records of a page.
func (p *appPlatform) size(path string) (n int) {
	p.t.Helper()
	var page map[string]json.RawMessage
	var list []json.RawMessage
	if got := p.send("app event a", "GET", path, ""); json.Unmarshal([]byte(got.body), &page) != nil {
		p.t.Fatalf("%s returned %d %s", path, got.status, got.body)
	}
	for _, member := range page {
		if json.Unmarshal(member, &list) == nil {
			n += len(list)
		}
	}
	return n
}

// benchComponent returns the id of a component. The dashboard holds the first benchPlaced of them.
func benchComponent(i int) string { return fmt.Sprintf("0190cccc-0000-7000-8000-%012d", i) }

const (
	benchPlaced  = 30
	benchSpacing = 5 * time.Minute // between the starts of events
)

// benchStart returns the start of event i; event 0 is the newest.
func benchStart(i int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(i) * benchSpacing)
}

func appCrowd(b *testing.B, broker string, n int) *appPlatform {
	p := &appPlatform{platform: start(b, broker), n: n}
	db, err := document.Open(p.documents, "events", document.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	p.records = store.Declare(db)
	began := time.Now()
	for at := 0; at < n; at += 1000 {
		var components []catalog.Component
		var events []catalog.Event
		for i := at; i < min(at+1000, n); i++ {
			components = append(components, catalog.Component{
				ID: benchComponent(i), LegacyID: int64(1 + i), OrganizationID: orgA, Name: "API", Group: "default", CreatedAt: benchStart(n), UpdatedAt: benchStart(n), Version: 1,
			})
			events = append(events, benchEvent(i, n))
		}
		put(b, p.records.Components, components...)
		put(b, p.records.Events, events...)
	}
	b.Logf("%d events and components written in %v", n, time.Since(began).Round(time.Millisecond))
	dashboard, err := p.records.Dashboards.Get(b.Context(), dashA)
	if err != nil {
		b.Fatal(err)
	}
	for i := range benchPlaced {
		dashboard.Components = append(dashboard.Components, catalog.Placement{ComponentID: benchComponent(i), Position: int64(i)})
	}
	put(b, p.records.Dashboards, dashboard)
	return p
}

// benchEvent returns event i of n, which lasts 20 minutes; one in 100 lasts a week, and 60 are open.
func benchEvent(i, n int) catalog.Event {
	e := catalog.Event{
		ID: uuid.Must(uuid.NewV7()).String(), LegacyID: int64(1 + i), OrganizationID: orgA, Type: catalog.Incident, Status: catalog.Resolved, Published: true,
		Title: "Requests are slow", Description: catalog.Rich{Format: richtext.Plain, Text: "Requests of some regions are answered late."},
		StartAt: benchStart(i), Version: 1, Source: catalog.SourceApp, CreatedAt: benchStart(i), UpdatedAt: benchStart(i),
	}
	end := e.StartAt.Add(20 * time.Minute)
	switch {
	case i%100 == 7:
		end = e.StartAt.Add(7 * 24 * time.Hour)
	case i%(n/20) == 1:
		e.Status = catalog.Investigating
	case i%(n/20) == 2:
		e.Type, e.Status = catalog.Maintenance, catalog.Planning
	case i%(n/20) == 3:
		e.Type, e.Status = catalog.Maintenance, catalog.Verifying
	case i%3 == 0:
		e.Type, e.Status = catalog.Maintenance, catalog.Completed
	}
	if i == n/2+3 {
		e.Title = "A zebra is in the data centre"
	}
	if e.Open() {
		e.ScheduledEndAt = &end
	} else {
		e.EndAt = &end
	}
	for j := range 2 {
		e.Links = append(e.Links, catalog.Link{LegacyID: int64(1 + 2*i + j), ComponentID: benchComponent((i + j) % (2 * benchPlaced))})
	}
	for j := range 4 {
		e.Timeline = append(e.Timeline, catalog.Entry{
			StatusID: uuid.NewString(), LegacyID: int64(1 + 4*i + j), Status: catalog.StatusUpdate, Timestamp: e.StartAt, CreatedAt: e.StartAt,
			Message: catalog.Rich{Format: richtext.Plain, Text: "We have seen it and are looking for the cause."},
		})
	}
	return e
}

// events returns the path of the page that begins behind the event at the offset.
func (p *appPlatform) events(query string, offset func(n int) int) string {
	p.t.Helper()
	middle := benchStart(p.n / 2)
	values, err := url.ParseQuery(query)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, replaced := range []struct{ name, value string }{{"FROM", middle.Format(time.RFC3339)}, {"TO", middle.Add(24 * time.Hour).Format(time.RFC3339)}} {
		for name := range values {
			if values.Get(name) == replaced.name {
				values.Set(name, replaced.value)
			}
		}
	}
	if offset != nil {
		rows, err := p.records.Events.Keys(p.t.Context(), find.Query{
			Where: []find.Condition{find.Eq("organization", orgA), find.Has("listed", "|")},
			Order: []find.Order{{Field: "start", Descending: true}}, Limit: 1, Offset: offset(p.n),
		})
		if err != nil || len(rows) == 0 {
			p.t.Fatal(err)
		}
		values.Set("nextToken", *web.NewPages(secret).Token(web.List(orgA+"\x00/app/events\x00"), rows[0].Position))
	}
	return "/app/events?" + values.Encode()
}

func (p *appPlatform) componentPage(offset func(n int) int) string {
	p.t.Helper()
	if offset == nil {
		return "/app/components"
	}
	page, err := p.records.Components.Find(p.t.Context(), find.Query{
		Where: []find.Condition{find.Eq("organization", orgA)}, Limit: 1, Offset: offset(p.n),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return "/app/components?nextToken=" + *web.NewPages(secret).Token(web.List(orgA+"\x00/app/components\x00"), page.Next)
}
