package events_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
	"github.com/google/uuid"
)

// listTime is the time limit of a request. It also bounds the time that BenchmarkLists spends on one list, because a scan of
// 1,000,000 events takes seconds.
const listTime = 20 * time.Second

// BenchmarkLists (goal P2) measures the legacy lists over HTTP for an organization with BENCH_RECORDS (100,000) events
// and for one with 1,000. Each event has two links and two updates. Requests to the two alternate. The benchmark reports
// the 99th percentiles of 400 requests (fewer of slow lists) and their ratio. A search for a part of a text reads all
// records, so of these it reports only the time. It runs on SQLite, or on the MongoDB server that apitest.Documents names:
//
//	go test -run NONE -bench Lists -benchtime 1x .
func BenchmarkLists(b *testing.B) {
	const few = fewRecords
	many := manyRecords(b)
	broker := startBroker(b)
	small, large := crowd(b, broker, few), crowd(b, broker, many)
	for _, list := range []struct {
		name, path string
		offset     func(total int) int
	}{
		{"first page", "event/list/?limit=20", nil},
		{"halfway", "event/list/?limit=20", func(total int) int { return total / 2 }},
		{"last page", "event/list/?limit=20", func(total int) int { return total - 20 }},
		{"newest first", "event/list/?limit=20&order_by=-id", nil},
		{"1000 rows", "event/list/?limit=1000", nil},
		{"by status", "event/list/?status__status=resolved", nil},
		{"by type and status", "event/list/?type__type=incident&status__status=resolved", nil},
		{"by service", "event/list/?event_service__service=3", nil},
		{"links by service", "event/service/?service=3", nil},
		{"updates over two hops", "event/update/?event__type__type=incident", nil},
		{"links over two hops", "event/service/?event__type__type=incident", nil},
		{"updates of an event", "event/update/?event=77", nil},
		{"latest start first", "event/list/?order_by=-start", nil},
		{"scan by text", "event/list/?description__icontains=nothing", nil},
	} {
		at := func(total int) string {
			if list.offset == nil {
				return "/api/v1/" + list.path
			}
			return fmt.Sprintf("/api/v1/%s&offset=%d", list.path, list.offset(total))
		}
		b.Run(list.name, func(b *testing.B) {
			for b.Loop() {
				var fast, slow []time.Duration
				began := time.Now()
				for len(fast) < 4 || len(fast) < benchRounds+3 && time.Since(began) < listTime { // the first three warm up
					fast = append(fast, small.took(at(few)))
					slow = append(slow, large.took(at(many)))
				}
				report(b, fast[3:], slow[3:], strings.Contains(list.path, "icontains="))
			}
		})
	}
}

// report reports the 99th percentiles of the times with few and with many records, their ratio and that of the medians. Of a
// search for a part of a text it reports only the time.
func report(b *testing.B, few, many []time.Duration, search bool) {
	ofFew, ofMany := percentile(few, 99), percentile(many, 99)
	if search {
		b.ReportMetric(ofMany.Seconds()*1e3, "ms-p99-of-search")
		return
	}
	b.ReportMetric(ofFew.Seconds()*1e3, "ms-p99-of-few")
	b.ReportMetric(ofMany.Seconds()*1e3, "ms-p99-of-many")
	b.ReportMetric(ofMany.Seconds()/ofFew.Seconds(), "ratio-p99")
	b.ReportMetric(median(many).Seconds()/median(few).Seconds(), "ratio-median")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// took returns the time of a request. Only a 503 that the time limit of 20 s has caused counts like a response.
func (p *platform) took(path string) time.Duration {
	p.t.Helper()
	began := time.Now()
	got, took := p.send("", "GET", path, ""), time.Since(began)
	if got.status != 200 && (got.status != 503 || took < listTime) {
		p.t.Fatalf("%s returned %d %s after %v", path, got.status, got.body, took)
	}
	return took
}

// crowd starts a service with an organization of n events. A few are posted. The others are copies of
// these, which are written directly to the database with their rows.
func crowd(b *testing.B, broker string, n int) *platform {
	p := start(b, broker)
	for i := range 8 {
		p.must(201, "", "POST", "/api/v1/service/", fmt.Sprintf(`{"service_name": "Service %d"}`, i+1))
	}
	posted := []string{"incident resolved", "maintenance completed", "incident resolved", "maintenance planning", "incident investigating"}
	for _, kind := range posted {
		kind, status, _ := strings.Cut(kind, " ")
		p.must(201, "", "POST", "/api/v1/event/list/", fmt.Sprintf(`{"type": {"type": %q}, "status": {"status": %q}, "description": "Requests of some regions are answered late.",
			"start": "2026-01-02T03:04:05", "end": "2026-01-02T05:00:00", "event_service": ["/api/v1/service/1/", "/api/v1/service/2/"],
			"event_update": [{"update": "We have seen it and are looking for the cause."}, {"update": "It is over.", "markdown": true}]}`, kind, status))
	}
	db, err := document.Open(p.documents, "events", document.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	c := &copier{p: p, records: store.Declare(db)}
	c.read(b.Context())
	for left := n - len(posted); left > 0; left -= 1000 {
		c.write(b.Context(), min(left, 1000))
	}
	if total := p.must(200, "", "GET", "/api/v1/event/update/?limit=1", "")["meta"].(map[string]any)["total_count"]; total != float64(2*n) {
		b.Fatalf("there are %v updates of %d events", total, n)
	}
	return p
}

// copier writes copies of the posted events.
type copier struct {
	p          *platform
	records    *store.Store
	events     []catalog.Event
	links      map[string][]catalog.LinkRow // by event, in the order of its links
	updates    map[string][]catalog.UpdateRow
	components []string
	copied     int
}

func (c *copier) must(err error) {
	c.p.t.Helper()
	if err != nil {
		c.p.t.Fatal(err)
	}
}

func (c *copier) read(ctx context.Context) {
	c.links, c.updates = map[string][]catalog.LinkRow{}, map[string][]catalog.UpdateRow{}
	ours := func() find.Query {
		return find.Query{Where: []find.Condition{find.Eq("organization", orgA)}, Order: []find.Order{{Field: "legacyId"}}}
	}
	events, err := c.records.Events.Find(ctx, ours())
	c.must(err)
	c.events = events.Items
	links, err := c.records.Links.Find(ctx, ours())
	c.must(err)
	for _, row := range links.Items {
		c.links[row.EventID] = append(c.links[row.EventID], row)
	}
	updates, err := c.records.Updates.Find(ctx, ours())
	c.must(err)
	for _, row := range updates.Items {
		c.updates[row.EventID] = append(c.updates[row.EventID], row)
	}
	query := ours()
	query.Order = nil
	c.must(c.records.Components.Each(ctx, query, func(component catalog.Component) error {
		c.components = append(c.components, component.ID)
		return nil
	}))
}

func (c *copier) write(ctx context.Context, n int) {
	next := func(counter string, n int) int64 {
		first, err := c.records.Next(ctx, counter, int64(n))
		c.must(err)
		return first
	}
	event, link, update := next("event", n), next("event_service", 2*n), next("event_update", 2*n)
	var events []catalog.Event
	var links []catalog.LinkRow
	var updates []catalog.UpdateRow
	for range n {
		original := c.events[c.copied%len(c.events)]
		made := original
		made.ID, made.LegacyID = uuid.Must(uuid.NewV7()).String(), event
		made.Links, made.Timeline = slices.Clone(original.Links), slices.Clone(original.Timeline)
		made.StartAt = original.StartAt.Add(-time.Duration(c.copied) * time.Second)
		event++
		for i := range made.Links {
			row := c.links[original.ID][i]
			row.EventID, row.LegacyID, row.ComponentID = made.ID, link, c.components[(c.copied+i)%len(c.components)]
			row.Event.LegacyID = made.LegacyID
			made.Links[i].LegacyID, made.Links[i].ComponentID = row.LegacyID, row.ComponentID
			links = append(links, row)
			link++
		}
		for i := range made.Timeline {
			row := c.updates[original.ID][i]
			row.EventID, row.LegacyID, row.StatusID = made.ID, update, uuid.Must(uuid.NewV7()).String()
			row.Event.LegacyID = made.LegacyID
			made.Timeline[i].LegacyID, made.Timeline[i].StatusID = row.LegacyID, row.StatusID
			updates = append(updates, row)
			update++
		}
		events = append(events, made)
		c.copied++
	}
	c.must(c.records.Events.(interface {
		UpsertMany(ctx context.Context, items []catalog.Event) error
	}).UpsertMany(ctx, events))
	c.must(c.records.Links.UpsertMany(ctx, links))
	c.must(c.records.Updates.UpsertMany(ctx, updates))
}
