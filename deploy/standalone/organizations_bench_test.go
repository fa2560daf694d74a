package main_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// BenchmarkOrganizations (goal S2) creates BENCH_ORGANIZATIONS (10,000) organizations with 5 dashboards each, of which 200
// have an open incident. Each service is a process of its own. The benchmark reports the processor time of each service
// while nothing happens, also before the incidents are opened, its memory, the 99th percentile of the time of a write, divided
// by that with 10 organizations, and the time of the first read of a page of each organization.
//
//	go test -run '^$' -bench '^BenchmarkOrganizations$' -benchtime 1x -timeout 120m ./deploy/standalone
func BenchmarkOrganizations(b *testing.B) {
	// rest contains one sweep of former editions.
	const few, open, rest = 10, 200, 5 * time.Minute
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_ORGANIZATIONS"), "10000"))
	if err != nil || n < open {
		b.Fatalf("BENCH_ORGANIZATIONS must be at least %d, not %q", open, os.Getenv("BENCH_ORGANIZATIONS"))
	}
	for b.Loop() {
		c := startCluster(b, "APP_RATE_PER_MINUTE=1000000", "BELLBUOY_LOG_LEVEL=warn")
		platform := actor{b, credentials{OperatorToken: operatorToken, BaseURL: c.base}}
		organizations := make([]tenant, n)
		create := func(from, to int) {
			var group errgroup.Group
			group.SetLimit(8)
			for i := from; i < to; i++ {
				group.Go(func() (err error) {
					organizations[i], err = platform.tenant(i)
					return err
				})
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		create(0, few)
		organizations[1].writes() // the first writes of a process take longer
		before := percentile(organizations[0].writes(), 99)
		began := time.Now()
		create(few, n)
		b.ReportMetric(time.Since(began).Seconds(), "s-create")
		// atRest returns how many percent of a core each service takes.
		atRest := func() map[string]float64 {
			<-time.After(rest + time.Minute) // the time until queued work has ended and former editions are deleted
			spent, shares := c.spent(), map[string]float64{}
			<-time.After(rest) // the time that is measured
			for name, after := range c.spent() {
				shares[name] = 100 * (after - spent[name]).Seconds() / rest.Seconds()
			}
			return shares
		}
		b.ReportMetric(atRest()["events"], "events-%-without-incidents")
		for _, of := range organizations[:open] {
			of.incident(of.component, nil)
		}
		busy, largest := 0.0, 0.0
		for name, share := range atRest() {
			busy += share
			b.ReportMetric(share, name+"-%-at-rest")
		}
		after := percentile(organizations[n-1].writes(), 99) // its pages have no event yet, as those of the first one had none
		var first []time.Duration
		for i := range organizations {
			began := time.Now()
			send(b, http.MethodGet, organizations[(i*7919)%n].DashboardURL+"/", "", nil).expect(b, http.StatusOK)
			first = append(first, time.Since(began))
		}
		for name, p := range c.processes {
			size := p.resident()
			largest = max(largest, size)
			b.ReportMetric(size, name+"-MiB")
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(busy, "%-at-rest")
		b.ReportMetric(largest, "MiB-most")
		b.ReportMetric(ms(after), "ms-write-p99")
		b.ReportMetric(float64(after)/float64(before), "write-of-few")
		b.ReportMetric(ms(percentile(first, 50)), "ms-first-page")
		b.ReportMetric(ms(percentile(first, 99)), "ms-first-page-p99")
	}
}

// tenant is an organization with the first of its components.
type tenant struct {
	actor
	component string
}

// tenant creates organization number n with a member, a component and 5 dashboards.
func (a actor) tenant(n int) (made tenant, err error) {
	create := func(path, authorization string, in, out any) {
		if err != nil {
			return
		}
		var got answer
		if got, err = a.request(http.MethodPost, a.BaseURL+path, authorization, in, http.StatusCreated); err == nil {
			got.into(a.t, out)
		}
	}
	var organization struct {
		Organization struct{ ID string }
		Dashboard    struct{ ID, Slug string }
	}
	create("/operator/v1/organizations", a.operator(), map[string]any{"name": fmt.Sprintf("Organization %d", n)}, &organization)
	var user struct{ User struct{ ID string } }
	create("/operator/v1/organizations/"+organization.Organization.ID+"/users", a.operator(),
		map[string]any{"username": fmt.Sprintf("admin-%d", n), "email": fmt.Sprintf("admin-%d@example.com", n), "roles": []string{"admin", "api"}}, &user)
	var key struct{ APIKey string }
	create("/operator/v1/users/"+user.User.ID+"/api-keys", a.operator(), map[string]any{}, &key)
	made.actor = a
	made.OrganizationID, made.DashboardID, made.AppKey = organization.Organization.ID, organization.Dashboard.ID, key.APIKey
	made.DashboardURL = a.BaseURL + "/d/" + organization.Dashboard.Slug
	var component struct{ Component struct{ ID string } }
	create("/app/components", made.app(), map[string]any{"name": "Checkout"}, &component)
	made.component = component.Component.ID
	for i := range 4 {
		slug := fmt.Sprintf("dashboard-%d-%d", n, i)
		create("/app/dashboards", made.app(), map[string]any{"name": slug, "slug": slug, "components": []any{map[string]any{"componentId": made.component}}}, new(struct{}))
	}
	return made, err
}

// writes creates and resolves 100 incidents, and returns the time of each request.
func (t tenant) writes() (times []time.Duration) {
	for range 100 {
		began := time.Now()
		event := t.incident(t.component, nil)
		times = append(times, time.Since(began))
		began = time.Now()
		send(t.t, http.MethodPost, t.BaseURL+"/app/events/"+event+"/timeline", t.app(), map[string]any{"message": "Over.", "status": "resolved"}).expect(t.t, http.StatusCreated)
		times = append(times, time.Since(began))
	}
	return times
}
