package events_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
	"github.com/google/uuid"
)

// BenchmarkComponents walks the App's list of components of a small and of a large organization, and compares the times
// of the pages. A dashboard is one record with the places of its components. The list must not read it for each page:
//
//	go test -run NONE -bench Components -benchtime 1x .
func BenchmarkComponents(b *testing.B) {
	for _, row := range []struct {
		name      string
		few, many int
		placed    bool
	}{{"on no dashboard", 1000, 100_000, false}, {"on one dashboard", 1000, 10_000, true}} {
		b.Run(row.name, func(b *testing.B) {
			broker := startBroker(b)
			small, large := manyComponents(b, broker, row.few, row.placed), manyComponents(b, broker, row.many, row.placed)
			for b.Loop() {
				var few, many []time.Duration
				for len(few) < row.many/100 {
					few = append(few, small.walk()...)
				}
				many = large.walk()
				one, hundred := percentile(few, 99), percentile(many, 99)
				b.ReportMetric(one.Seconds()*1e3, "p99-ms-of-few")
				b.ReportMetric(hundred.Seconds()*1e3, "p99-ms-of-many")
				b.ReportMetric(hundred.Seconds()/one.Seconds(), "ratio")
			}
		})
	}
}

func percentile(times []time.Duration, percent int) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)*percent/100]
}

// walk requests all pages of the list and returns the time of each.
func (p *platform) walk() (took []time.Duration) {
	for next := ""; ; {
		begun := time.Now()
		page := p.must(200, "app admin a", "GET", "/app/components?limit=100"+next, "")
		took = append(took, time.Since(begun))
		token, more := page["nextToken"].(string)
		if !more {
			return took
		}
		next = "&nextToken=" + token
	}
}

// manyComponents starts a service with n components, which are written directly to the database.
func manyComponents(b *testing.B, broker string, n int, onDashboard bool) *platform {
	p := start(b, broker)
	db, err := document.Open(p.documents, "events", document.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	records := store.Declare(db)
	var placed []string
	for from := 0; from < n; from += 1000 {
		var items []catalog.Component
		for i := from; i < from+1000; i++ {
			items = append(items, catalog.Component{
				ID: uuid.Must(uuid.NewV7()).String(), LegacyID: int64(i + 1), OrganizationID: orgA, Name: fmt.Sprintf("Component %d", i), Group: "Core",
				ExternalRefs: []string{fmt.Sprintf("ref-%d", i)}, CreatedAt: p.now(), UpdatedAt: p.now(), Version: 1,
			})
			placed = append(placed, `{"componentId": "`+items[len(items)-1].ID+`"}`)
		}
		if err := records.Components.(interface {
			UpsertMany(context.Context, []catalog.Component) error
		}).UpsertMany(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	if onDashboard {
		p.must(200, "app admin a", "PUT", "/app/dashboards/"+dashA+"/components", `{"components": [`+strings.Join(placed, ", ")+"]}")
	}
	return p
}
