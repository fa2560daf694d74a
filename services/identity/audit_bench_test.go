package identity_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/store"
)

// BenchmarkAuditLog measures GET /app/audit for an organization with 100,000 entries and for one with 1,000. Requests
// to the two alternate. For each filter it reports the 99th percentiles of 200 requests and their ratio. It also
// reports the time to store an entry. It runs on SQLite, or on the MongoDB server that apitest.Documents names.
// BENCH_RECORDS replaces the large number:
//
//	go test -run NONE -bench AuditLog -benchtime 1x .
func BenchmarkAuditLog(b *testing.B) {
	const few, rounds = 1000, 200
	many := few * 100
	if text := os.Getenv("BENCH_RECORDS"); text != "" {
		var err error
		if many, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	small, large := auditors(b, few), auditors(b, many)
	b.Run("store", func(b *testing.B) {
		for b.Loop() { // measured above
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(large.stored.Microseconds())/float64(many), "us-per-entry")
		}
	})
	for name, filter := range map[string]url.Values{
		"none":                     {},
		"actor":                    {"actorId": {large.actors[1]}},
		"action":                   {"action": {"event.update"}},
		"type":                     {"entityType": {"event"}},
		"record":                   {"entityId": {large.entities[0]}},
		"actor and action":         {"actorId": {large.actors[1]}, "action": {"event.update"}},
		"actor and type":           {"actorId": {large.actors[1]}, "entityType": {"event"}},
		"actor, type and record":   {"actorId": {large.actors[1]}, "entityType": {"event"}, "entityId": {large.entities[0]}},
		"actor, action and record": {"actorId": {large.actors[1]}, "action": {"event.update"}, "entityId": {large.entities[0]}},
		"minutes":                  {"from": {"2026-01-01T00:05:00Z"}, "to": {"2026-01-01T00:30:00Z"}},
		"actor, action and from":   {"actorId": {large.actors[1]}, "action": {"event.update"}, "from": {"2026-01-01T00:05:00Z"}},
		"action of nobody":         {"action": {"event.nothing"}},
		"the oldest, by type":      {"entityType": {"event"}, "to": {"2026-01-01T00:10:00Z"}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var fast, slow []time.Duration
				for range rounds + 10 { // the first warm up
					fast, slow = append(fast, small.took(filter)), append(slow, large.took(filter))
				}
				ofFew, ofMany := p99(fast[10:]), p99(slow[10:])
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ofFew.Seconds()*1e3, "ms-of-few")
				b.ReportMetric(ofMany.Seconds()*1e3, "ms-of-many")
				b.ReportMetric(ofMany.Seconds()/ofFew.Seconds(), "ratio-p99")
			}
		})
	}
}

func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)*99/100]
}

// auditor is a service with an organization of many entries.
type auditor struct {
	*platform
	member   member
	actors   []string
	entities []string
	stored   time.Duration
}

func (a *auditor) took(filter url.Values) time.Duration {
	a.t.Helper()
	began := time.Now()
	if got := a.send(a.member.app(), "GET", "/app/audit?"+filter.Encode(), ""); got.status != 200 {
		a.t.Fatalf("%v returned %d %s", filter, got.status, got.text)
	}
	return time.Since(began)
}

// auditors starts a service whose organization has n entries of five actors, ten actions and n/20 records.
func auditors(b *testing.B, n int) *auditor {
	a := &auditor{platform: start(b, nil)}
	a.member = a.platform.member("ada", `"admin"`)
	id := func(kind string, n int) string { return uuid.NewSHA1(uuid.Nil, []byte(fmt.Sprint(kind, n))).String() }
	for i := range 5 {
		a.actors = append(a.actors, id("actor", i))
	}
	for i := range max(1, n/20) {
		a.entities = append(a.entities, id("entity", i))
	}
	db, err := document.Open(a.records, "identity", document.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log := store.New(db).Audit
	side := json.RawMessage(`{"title": "` + strings.Repeat("x", 1000) + `"}`)
	for first := 0; first < n; first += 500 {
		batch := make([]topic.AuditEntry, min(500, n-first))
		for i := range batch {
			at := first + i
			kind := []string{"event", "component", "dashboard", "endpoint", "subscriber"}[at%5]
			batch[i] = topic.AuditEntry{
				ID: uuid.Must(uuid.NewV7()).String(), Organization: a.member.organization, EntityType: kind, EntityID: a.entities[at%len(a.entities)], EntityName: "Checkout",
				OccurredAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(at) * 2 * time.Second),
				Actor:      topic.Actor{Type: topic.ActorUser, ID: a.actors[at/7%len(a.actors)], Email: "ada@example.com", KeyID: a.actors[0]},
				Action:     kind + "." + []string{"update", "create"}[at/3%2], ChangedFields: []string{"title"}, Before: side, After: side,
				IP: "192.0.2.1", RequestID: uuid.NewString(), Surface: "app",
			}
		}
		began := time.Now()
		if _, err := log.InsertMany(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		a.stored += time.Since(began)
	}
	return a
}
