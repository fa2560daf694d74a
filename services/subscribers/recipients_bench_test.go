package subscribers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// BenchmarkRecipients measures what delivery asks about 5,000 recipients with two components each: who is concerned, in one
// page, how many these are, and where the 256 of a shard are reached.
func BenchmarkRecipients(b *testing.B) {
	const people, shard = 5000, 256
	p := start(b)
	o := p.organization()
	rows := make([]object, 1000)
	for n := range people / len(rows) {
		for i := range rows {
			rows[i] = object{"email": fmt.Sprintf("p%d@example.com", n*len(rows)+i), "componentIds": []string{o.services[0].ID, o.services[1].ID}, "confirmed": true}
		}
		p.app(o, http.StatusOK, http.MethodPost, "email/import", object{"dashboardId": o.dashboard, "rows": rows})
	}
	query := topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: topic.Email, Components: []string{o.services[0].ID, o.services[1].ID}, Limit: people}
	page, err := p.recipients().Concerned(b.Context(), o.id, query)
	if err != nil || len(page.Recipients) != people {
		b.Fatalf("%d recipients, %v", len(page.Recipients), err)
	}
	ids := make([]string, shard)
	for i := range ids {
		ids[i] = page.Recipients[i*people/shard].ID
	}
	b.Run("concerned", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.recipients().Concerned(b.Context(), o.id, query); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*people), "us/recipient")
	})
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			if got, err := p.recipients().Count(b.Context(), o.id, query); err != nil || got.Recipients != people {
				b.Fatal(got, err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*people), "us/recipient")
	})
	b.Run("resolve", func(b *testing.B) {
		for b.Loop() {
			found, err := p.recipients().Resolve(b.Context(), o.id, topic.ResolveQuery{Kind: topic.IncidentCreated, Channel: topic.Email, IDs: ids})
			if err != nil || found[0].State != topic.RecipientActive {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*shard), "us/recipient")
	})
}
