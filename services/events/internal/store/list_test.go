package store_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

// scans counts the queries that examine events one by one.
type scans struct {
	catalog.Collection[catalog.Event]
	n atomic.Int64
}

func (s *scans) note(query find.Query) {
	if query.Scan != "" {
		s.n.Add(1)
	}
}

func (s *scans) Find(ctx context.Context, query find.Query) (find.Page[catalog.Event], error) {
	s.note(query)
	return s.Collection.Find(ctx, query)
}

func (s *scans) Keys(ctx context.Context, query find.Query, fields ...string) ([]find.Row, error) {
	s.note(query)
	return s.Collection.Keys(ctx, query, fields...)
}

// A list in an order that no index has examines the events once, although they fill many pages.
func TestSortedListExaminesEventsOnce(t *testing.T) {
	events := &scans{}
	c, _ := open(t, t.TempDir(), true, func(s *store.Store) { events.Collection, s.Events = s.Events, events })
	component := add(t, c, "Checkout")
	start := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour * 24)
	var wanted []int64
	for i := range 150 {
		made, err := c.CreateEvent(t.Context(), ours, func(d *catalog.EventEdit) error {
			d.Type, d.Title, d.StartAt = catalog.Incident, "Slow", start.Add(-time.Duration(i*7%150)*time.Minute)
			d.SetStatus(catalog.Identified)
			d.Description.Text = strings.Repeat("€", 1000*(1+i%20))
			return d.AddComponent(component.ID)
		})
		if err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, made.LegacyID)
	}
	at := map[int64]int{}
	for i, id := range wanted {
		at[id] = i * 7 % 150
	}
	slices.SortFunc(wanted, func(a, b int64) int { return at[a] - at[b] })
	for _, test := range []struct{ limit, offset, to int }{{0, 0, 150}, {100, 30, 130}, {1000, 149, 150}, {10, 150, 150}} {
		events.n.Store(0)
		pages, total, err := c.ListEvents(t.Context(), org, find.Query{
			Order: []find.Order{{Field: "start", Descending: true}}, Limit: test.limit, Offset: test.offset, Scan: catalog.IndexLegacyID,
		})
		if err != nil || total != 150 {
			t.Fatalf("%d events, %v", total, err)
		}
		var found []int64
		for page, err := range pages {
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range page {
				found = append(found, event.LegacyID)
			}
		}
		if !slices.Equal(found, wanted[test.offset:test.to]) {
			t.Errorf("limit %d, offset %d: found %v, want %v", test.limit, test.offset, found, wanted[test.offset:test.to])
		}
		if n := events.n.Load(); n > 1 {
			t.Errorf("limit %d, offset %d: the events were examined %d times", test.limit, test.offset, n)
		}
	}
}
