package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/store"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/telemetry"
)

// opened returns the domain on an empty database.
func opened(t *testing.T) *account.Accounts {
	t.Helper()
	db, err := document.Open(apitest.Documents(t), "identity", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	accounts := account.New(account.Options{Store: store.New(db), Observer: telemetry.New(prometheus.NewRegistry())})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return accounts
}

// Kafka may deliver an entry several times, also within one batch. Every combination of filters is served.
func TestARepeatedAuditEntryIsOneRecord(t *testing.T) {
	accounts := opened(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	entry := topic.AuditEntry{
		ID: "1", Organization: "ours", OccurredAt: at, Actor: topic.Actor{Type: topic.ActorUser, ID: "ada"}, Action: "event.update",
		EntityType: "event", EntityID: "e", ChangedFields: []string{"title"}, Before: json.RawMessage(`{"title": "a"}`), After: json.RawMessage(`null`),
	}
	foreign, later := entry, entry
	foreign.ID, foreign.Organization = "2", "theirs"
	later.ID, later.OccurredAt = "3", at.Add(time.Millisecond)
	for range 2 {
		if err := accounts.Record(t.Context(), []topic.AuditEntry{entry, foreign, later, entry}); err != nil {
			t.Fatal(err)
		}
	}
	from, to := at, at.Add(time.Millisecond)
	for n := range 64 {
		filter := account.AuditFilter{}
		for i, set := range []func(){
			func() { filter.ActorID = "ada" }, func() { filter.Action = "event.update" }, func() { filter.EntityType = "event" },
			func() { filter.EntityID = "e" }, func() { filter.From = &from }, func() { filter.To = &to },
		} {
			if n&(1<<i) != 0 {
				set()
			}
		}
		first, err := accounts.AuditEntries(t.Context(), "ours", filter, 1, "")
		if err != nil {
			t.Fatalf("%+v: %v", filter, err)
		}
		found := first.Items
		if first.Next != "" {
			second, err := accounts.AuditEntries(t.Context(), "ours", filter, 1, first.Next)
			if err != nil || second.Next != "" {
				t.Fatalf("%+v: %v", filter, err)
			}
			found = append(found, second.Items...)
		}
		ids := ""
		for _, e := range found {
			ids += e.ID
		}
		want := "31" // newest first
		if filter.To != nil {
			want = "1"
		}
		if ids != want || string(found[len(found)-1].Before) != `{"title": "a"}` || string(found[0].After) != "null" {
			t.Errorf("%+v finds %q", filter, ids)
		}
	}
}

func TestAPageOfLargeAuditEntriesEndsEarly(t *testing.T) {
	accounts := opened(t)
	large := json.RawMessage(`{"text": "` + strings.Repeat("x", 60<<10) + `"}`)
	var entries []topic.AuditEntry
	for i := range 12 {
		entries = append(entries, topic.AuditEntry{
			ID: fmt.Sprintf("%02d", i), Organization: "ours", OccurredAt: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), Action: "event.update", EntityType: "event", EntityID: "e", Before: large, After: large,
		})
	}
	if err := accounts.Record(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for after := ""; ; {
		page, err := accounts.AuditEntries(t.Context(), "ours", account.AuditFilter{}, 50, after)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) < 1 || len(page.Items) > 3 {
			t.Fatalf("a page has %d entries", len(page.Items))
		}
		for _, e := range page.Items {
			ids = append(ids, e.ID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if got := strings.Join(ids, " "); got != "11 10 09 08 07 06 05 04 03 02 01 00" {
		t.Errorf("the pages have %s", got)
	}
}
