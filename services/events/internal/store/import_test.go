package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

// overtakenEvents calls meanwhile once with the keys of a WriteMany, between its reads and its writes.
type overtakenEvents struct {
	find.Collection[catalog.Event]
	meanwhile *func(keys []string)
}

func (o overtakenEvents) WriteMany(ctx context.Context, keys []string, decide func(map[string]*catalog.Event) ([]find.Write[catalog.Event], error)) error {
	return o.Collection.WriteMany(ctx, keys, func(stored map[string]*catalog.Event) ([]find.Write[catalog.Event], error) {
		writes, err := decide(stored)
		if overtake := *o.meanwhile; overtake != nil && len(writes) > 0 {
			*o.meanwhile = nil
			overtake(find.Values(writes, func(w find.Write[catalog.Event]) string { return w.Key }))
		}
		return writes, err
	})
}

// audited publishes all messages of db and returns the audit entries, without repetitions.
func audited(t *testing.T, db *document.Database) (found []topic.AuditEntry) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var relay sync.WaitGroup
	relay.Go(func() {
		err := db.Relay(ctx, func(_ context.Context, records []stream.Record) error {
			for _, r := range records {
				var entry topic.AuditEntry
				if r.Topic != topic.Audit {
					continue
				}
				if err := json.Unmarshal(r.Value, &entry); err != nil {
					return err
				}
				if !slices.ContainsFunc(found, func(known topic.AuditEntry) bool { return known.ID == entry.ID }) {
					found = append(found, entry)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	apitest.Eventually(t, "all messages are published", func() bool {
		waiting, err := db.Waiting(t.Context())
		return err == nil && waiting.Messages == 0
	})
	cancel()
	relay.Wait()
	return found
}

// TestAnImportThatIsOvertakenLeavesItsAuditEntry changes an event between the reads and the writes of an import, and of its
// undo. MongoDB may then have written the other events already.
func TestAnImportThatIsOvertakenLeavesItsAuditEntry(t *testing.T) {
	addresses := map[string]string{"sqlite": "sqlite:" + t.TempDir()}
	if server := os.Getenv("BELLBUOY_TEST_MONGODB"); server != "" {
		t.Setenv("BELLBUOY_TEST_DOCUMENTS", server)
		addresses["mongodb"] = apitest.Documents(t)
	}
	for engine, address := range addresses {
		t.Run(engine, func(t *testing.T) { testOvertakenImports(t, address) })
	}
}

func testOvertakenImports(t *testing.T, address string) {
	var meanwhile func(keys []string)
	c, records, db := openAt(t, address, false, func(s *store.Store) { s.Events = overtakenEvents{s.Events, &meanwhile} })
	page := addDashboard(t, c, "page").ID
	ctx := audit.With(t.Context(), audit.OfRequest("192.0.2.1", "request", "app"))
	command := catalog.Command{Organization: org, Source: catalog.SourceApp}
	send := func(run, title string) (statuses string) {
		t.Helper()
		in := catalog.EventImport{DashboardID: page, RunID: run}
		for n := range 5 {
			at := time.Date(2025, 3, n+1, 10, 0, 0, 0, time.UTC)
			in.Events = append(in.Events, catalog.ImportedEvent{Key: run + fmt.Sprint(n), Type: catalog.Incident, Title: title, Status: catalog.Resolved, StartAt: &at, EndAt: &at})
		}
		results, err := c.ImportEvents(ctx, command.AsImport(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			statuses += string(result.Status[0])
		}
		return statuses
	}
	undo := func(run, _ string) string {
		t.Helper()
		undone, err := c.UndoImport(ctx, command, run)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(undone)
	}
	member := func(id string) error {
		_, err := c.ChangeEvent(t.Context(), command, id, func(d *catalog.EventEdit) error { d.Title = "Ours"; return nil })
		return err
	}
	scheduler := func(id string) error {
		_, err := records.Events.Change(t.Context(), id, func(e *catalog.Event) error { e.Version++; return nil })
		return err
	}
	names, wanted := map[string]string{}, map[string][]string{} // by run: name of the test, ids of the events that are updated or deleted
	for _, test := range []struct {
		name     string
		send     func(run, title string) string
		by       func(id string) error
		position int // position of the changed event among the writes
		want     string
		done     int // number of events
	}{
		{"undo, the first by a member", undo, member, 0, "{4 1 0}", 4},
		{"undo, the first by the scheduler", undo, scheduler, 0, "{5 0 0}", 5},
		{"undo, the last by a member", undo, member, 4, "{4 1 0}", 4},
		{"undo, the last by the scheduler", undo, scheduler, 4, "{5 0 0}", 5},
		{"import, the first by a member", send, member, 0, "kuuuu", 4},
		{"import, the first by the scheduler", send, scheduler, 0, "uuuuu", 5},
	} {
		run := topic.NewID()
		if got := send(run, "First"); got != "ccccc" {
			t.Fatalf("%s: the import is %s", test.name, got)
		}
		meanwhile = func(keys []string) {
			if err := test.by(keys[test.position]); err != nil {
				t.Error(err)
			}
			if wanted[run] = slices.Clone(keys); test.done < len(keys) {
				wanted[run] = slices.Delete(wanted[run], test.position, test.position+1)
			}
		}
		if got := test.send(run, "Second"); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		names[run] = test.name
	}
	named := map[string][][]string{}
	for _, entry := range audited(t, db) {
		var sides struct{ Updated, Deleted []string }
		if err := errors.Join(json.Unmarshal(entry.Before, &sides), json.Unmarshal(entry.After, &sides)); err != nil {
			t.Fatal(err)
		}
		if ids := append(sides.Updated, sides.Deleted...); len(ids) > 0 {
			named[entry.EntityID] = append(named[entry.EntityID], ids)
		}
	}
	for run, name := range names {
		if got := named[run]; len(got) != 1 || slices.ContainsFunc(wanted[run], func(id string) bool { return !slices.Contains(got[0], id) }) {
			t.Errorf("%s: the audit entries name %v, want %v", name, got, wanted[run])
		}
	}
}
