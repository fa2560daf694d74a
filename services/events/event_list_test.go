package events_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/client"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
	"github.com/google/uuid"
)

// library is a catalog on records that tests write directly.
type library struct {
	records *store.Store
	*catalog.Catalog
}

func startLibrary(t testing.TB, now func() time.Time) *library {
	t.Helper()
	db, err := document.Open(apitest.Documents(t), "events", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &library{}
	l.records = store.Declare(db)
	editions := edition.New(l.records.Store, l.records.Records, edition.Options{Now: now, Log: slog.New(slog.DiscardHandler)})
	l.Catalog = catalog.New(l.records.Store, client.NewServices(slog.New(slog.DiscardHandler)), editions, now)
	l.records.Follow(l.Catalog)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// put stores records without what follows from them.
func put[T any](t testing.TB, to any, items ...T) {
	t.Helper()
	many := to.(interface {
		UpsertMany(ctx context.Context, items []T) error
	})
	if err := many.UpsertMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// randomEvents returns events around noon. Many have the same start.
func randomEvents(r *rand.Rand, n int, components []string) []catalog.Event {
	lengths := []time.Duration{0, time.Millisecond, time.Hour, 24 * time.Hour, 25 * time.Hour, 32 * 24 * time.Hour, 33 * 24 * time.Hour, 1024 * 24 * time.Hour, 1200 * 24 * time.Hour}
	kinds := []struct {
		kind     catalog.EventType
		statuses []catalog.Status
	}{
		{catalog.Incident, []catalog.Status{catalog.Investigating, catalog.Identified, catalog.Monitoring, catalog.Resolved, catalog.Resolved}},
		{catalog.Maintenance, []catalog.Status{catalog.Planning, catalog.Started, catalog.InProgress, catalog.Verifying, catalog.Completed, catalog.Completed}},
	}
	events := make([]catalog.Event, n)
	for i := range events {
		kind := kinds[r.IntN(2)]
		e := catalog.Event{
			ID: uuid.Must(uuid.NewV7()).String(), LegacyID: int64(i + 1), OrganizationID: []string{orgA, orgA, orgB}[r.IntN(3)],
			Type: kind.kind, Status: kind.statuses[r.IntN(len(kind.statuses))], Published: r.IntN(4) > 0,
			Title:       []string{"Checkout is slow", "Payments FAIL", "Über-Last"}[r.IntN(3)],
			Description: catalog.Rich{Format: richtext.Rich, Text: []string{"", "<p>The <b>strong</b>hold</p>", "slow again"}[r.IntN(3)]},
			StartAt:     noon.Add([]time.Duration{time.Hour, 24 * time.Hour, 200 * 24 * time.Hour}[r.IntN(3)] * time.Duration(-r.IntN(8))).Add(time.Duration(r.IntN(3)) * time.Hour),
		}
		if end := e.StartAt.Add(lengths[r.IntN(len(lengths))]); !e.Open() && r.IntN(8) > 0 {
			e.EndAt = &end
		} else if e.Type == catalog.Maintenance {
			e.ScheduledEndAt = &end
		}
		for _, id := range components {
			if r.IntN(3) == 0 {
				e.Links = append(e.Links, catalog.Link{LegacyID: int64(len(e.Links) + 1), ComponentID: id})
			}
		}
		events[i] = e
	}
	return events
}

func randomFilter(r *rand.Rand, dashboards map[string][]string, components []string) catalog.EventFilter {
	var f catalog.EventFilter
	some := func() bool { return r.IntN(3) == 0 }
	if some() {
		f.Type = []catalog.EventType{catalog.Incident, catalog.Maintenance}[r.IntN(2)]
	}
	if some() {
		f.Status = []catalog.Status{catalog.Investigating, catalog.Resolved, catalog.Planning, catalog.InProgress, catalog.Completed}[r.IntN(5)]
	}
	if some() {
		active := r.IntN(2) == 0
		f.Active = &active
	}
	if some() {
		f.DashboardID = []string{dashA, dashB, uuid.NewString()}[r.IntN(3)]
	}
	if some() {
		f.ComponentID = append(slices.Clone(components), uuid.NewString())[r.IntN(len(components)+1)]
	}
	if some() {
		from := noon.Add(-time.Duration(r.IntN(2400)) * time.Hour)
		f.From = &from
	}
	if to := noon.Add(-time.Duration(r.IntN(100)) * time.Hour); some() && (f.From == nil || f.From.Before(to)) {
		f.To = &to
	}
	if some() {
		f.Text = []string{"sLOW", "ü", "stronghold", "fail\n<", "<b>", "nothing has this"}[r.IntN(6)]
	}
	return f
}

// selects reports whether the list of a filter has the event.
func selects(f catalog.EventFilter, e *catalog.Event, dashboards map[string][]string) bool {
	var until *time.Time
	if !e.Open() {
		if until = e.End(); until == nil {
			until = &e.StartAt
		}
	}
	on := func(ids []string) bool {
		return slices.ContainsFunc(e.ComponentIDs(), func(id string) bool { return slices.Contains(ids, id) })
	}
	contains := func(text string) bool {
		return strings.Contains(strings.ToLower(e.Title+"\n"+e.Description.Plain()), strings.ToLower(text))
	}
	return e.OrganizationID == orgA && cmp.Or(f.Type, e.Type) == e.Type && cmp.Or(f.Status, e.Status) == e.Status &&
		(f.Active == nil || *f.Active == e.Active(noon)) && (f.DashboardID == "" || on(dashboards[f.DashboardID])) &&
		(f.ComponentID == "" || on([]string{f.ComponentID})) && (f.To == nil || e.StartAt.Before(*f.To)) &&
		(f.From == nil || until == nil || until.After(*f.From)) && (f.Text == "" || contains(f.Text))
}

// TestListOfEventsAgreesWithPlainGo compares lists by random filters with a filter and a sort in Go.
func TestListOfEventsAgreesWithPlainGo(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	l := startLibrary(t, func() time.Time { return noon })
	var components []string
	for range 70 { // more than a query merges
		components = append(components, uuid.Must(uuid.NewV7()).String())
	}
	dashboards := map[string][]string{dashA: components[:66], dashB: components[66:]}
	for id, on := range dashboards {
		d := catalog.Dashboard{ID: id, LegacyID: int64(len(on)), Place: int64(1 + len(on)), OrganizationID: orgA, Slug: id}
		for _, component := range on {
			d.Components = append(d.Components, catalog.Placement{ComponentID: component})
		}
		put(t, l.records.Dashboards, d)
	}
	events := randomEvents(r, 160, components[62:])
	put(t, l.records.Events, events...)
	slices.SortFunc(events, func(a, b catalog.Event) int {
		return cmp.Or(b.StartAt.Compare(a.StartAt), strings.Compare(b.ID, a.ID))
	})
	found := 0
	for range 150 {
		f := randomFilter(r, dashboards, components[62:])
		var want, got []string
		for i := range events {
			if selects(f, &events[i], dashboards) {
				want = append(want, events[i].ID)
			}
		}
		limit, after := 1+r.IntN(40), ""
		for {
			page, err := l.PageOfEvents(t.Context(), orgA, f, limit, after)
			if err != nil {
				t.Fatal(err)
			}
			if page.Next != "" && len(page.Items) != limit {
				t.Fatalf("seed %d: %+v: a page of %d with a next one, limit %d", seed, f, len(page.Items), limit)
			}
			for i := range page.Items {
				got = append(got, page.Items[i].ID)
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s: %d events, want %d\n%v\n%v", seed, describe(f), len(got), len(want), got, want)
		}
		found += len(got)
	}
	if found == 0 {
		t.Error("no filter found an event")
	}
}

func describe(f catalog.EventFilter) string {
	text := fmt.Sprintf("%+v", f)
	if f.Active != nil {
		text += fmt.Sprint(" active ", *f.Active)
	}
	return text
}
