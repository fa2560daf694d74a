package integrations_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

// fill stores n endpoints of an organization, each with a URL of its own.
func (p *platform) fill(o organization, n int) {
	p.t.Helper()
	db, err := document.Open(p.documents, "integrations", document.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	records := store.New(db)
	verified := p.now()
	var group sync.WaitGroup
	for worker := range 16 {
		group.Go(func() {
			for i := worker; i < n; i += 16 {
				e := endpoint.Endpoint{
					ID: id(), LegacyID: int64(i), OrganizationID: o.id, Version: 1, Channel: topic.Webhook, DashboardID: o.dashboard, DashboardName: "Main",
					URL: "sealed", URLHash: fmt.Sprintf("%064x", i), URLDisplay: "hooks.example.com", ManagementEmail: "ops@example.com",
					VerifiedAt: &verified, ComponentIDs: []string{o.one}, CreatedAt: verified, UpdatedAt: verified,
				}
				if err := records.Endpoints.Insert(p.t.Context(), e); err != nil {
					p.t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkEndpoints measures the operations of an organization with 100 endpoints, and with 20,000. The requests
// alternate, so that both have the same conditions.
func BenchmarkEndpoints(b *testing.B) {
	const few, many, rounds = 100, 20_000, 300
	p := start(b, nil)
	organizations := []organization{p.organization(1_000_000), p.organization(1_000_000)}
	p.fill(organizations[0], few)
	p.fill(organizations[1], many)
	for _, o := range organizations {
		p.create(o, "https://hooks.example.com/first", nil) // counts the URLs
	}
	operations := map[string]func(o organization, i int){
		"create": func(o organization, i int) { p.create(o, fmt.Sprint("https://hooks.example.com/", i), nil) },
		"list":   func(o organization, _ int) { p.call(o, http.StatusOK, http.MethodGet, path+"?limit=10", nil) },
	}
	for b.Loop() {
		for name, operation := range operations {
			took := make([][]time.Duration, len(organizations))
			for i := range rounds {
				for j, o := range organizations {
					begun := time.Now()
					operation(o, i)
					took[j] = append(took[j], time.Since(begun))
				}
			}
			for j := range took {
				slices.Sort(took[j])
			}
			b.Logf("%s: median %v at %d endpoints, %v at %d", name, took[0][rounds/2], few, took[1][rounds/2], many)
			b.ReportMetric(float64(took[1][rounds/2])/float64(took[0][rounds/2]), name+"-ratio")
		}
	}
}
