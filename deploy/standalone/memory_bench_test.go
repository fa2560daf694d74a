package main_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// ownDashboards is the number of dashboards per organization. The default plan allows 50. The number is smaller because
// the first dashboard of an organization shows the components of all.
const ownDashboards = 10

// BenchmarkMemory (goal M1) measures the memory of the platform as one process with its default settings: after the
// start, after BENCH_DASHBOARDS (1,000) dashboards were created and each page was read once, and after a minute of
// rest, as the maximum of the 30 s that follow: the pages of open incidents are rendered each minute, so the garbage collector
// still runs then. Each dashboard has a component and an incident. The first dashboard of an organization also shows the
// components of the organization's other dashboards.
//
//	BENCH_DASHBOARDS=10000 go test -run '^$' -bench '^BenchmarkMemory$' -benchtime 1x ./deploy/standalone
func BenchmarkMemory(b *testing.B) {
	dashboards := 1000
	if text := os.Getenv("BENCH_DASHBOARDS"); text != "" {
		var err error
		if dashboards, err = strconv.Atoi(text); err != nil || dashboards%ownDashboards != 0 {
			b.Fatalf("BENCH_DASHBOARDS must be a multiple of %d, not %q", ownDashboards, text)
		}
	}
	for b.Loop() {
		p, base := started(b, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "APP_RATE_PER_MINUTE=1000000", "BELLBUOY_LOG_LEVEL=warn")
		b.ReportMetric(p.resident(), "MiB-start")
		var group errgroup.Group
		group.SetLimit(4)
		for n := range dashboards / ownDashboards {
			a := actor{b, provision(b, base, fmt.Sprintf("Organization %d", n), fmt.Sprintf("admin-%d", n), "admin", "api")}
			group.Go(func() error { return a.createAndRead(n) })
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(p.resident(), "MiB-read")
		time.Sleep(time.Minute)
		most := 0.0
		for range 30 {
			time.Sleep(time.Second)
			most = max(most, p.resident())
		}
		b.ReportMetric(most, "MiB-rest")
		if p.stop() != 0 {
			b.Fatalf("the platform did not stop cleanly:\n%s", p.output())
		}
	}
	b.ReportMetric(0, "ns/op")
}

// request sends a request with the JSON of in. A response with another status is an error.
func (a actor) request(method, url, authorization string, in any, status int) (answer, error) {
	got, err := try(a.t.Context(), method, url, authorization, in)
	if err == nil && got.status != status {
		err = fmt.Errorf("%s %s: %d %s", method, url, got.status, got.body)
	}
	return got, err
}

// createAndRead creates the dashboards of organization number n and reads the page of each.
func (a actor) createAndRead(n int) error {
	for i := range ownDashboards {
		got, err := a.request(http.MethodPost, a.BaseURL+"/app/components", a.app(), map[string]any{"name": fmt.Sprintf("Component %d", i)}, http.StatusCreated)
		if err != nil {
			return err
		}
		var component struct{ Component struct{ ID string } }
		got.into(a.t, &component)
		slug := a.DashboardSlug
		if i > 0 {
			slug = fmt.Sprintf("dashboard-%d-%d", n, i)
			_, err = a.request(http.MethodPost, a.BaseURL+"/app/dashboards", a.app(), map[string]any{
				"name": slug, "slug": slug, "components": []any{map[string]any{"componentId": component.Component.ID}},
			}, http.StatusCreated)
			if err != nil {
				return err
			}
		}
		_, err = a.request(http.MethodPost, a.BaseURL+"/app/events", a.app(), map[string]any{
			"type": "incident", "title": "Requests fail", "initialTimelineMessage": "We are looking into it.",
			"affectedComponents": []any{map[string]any{"componentId": component.Component.ID, "impact": "partial_outage"}},
		}, http.StatusCreated)
		if err == nil {
			_, err = a.request(http.MethodGet, a.BaseURL+"/d/"+slug+"/", "", nil, http.StatusOK)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resident returns the memory of the process in MiB.
func (p *process) resident() float64 {
	p.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "\nRss:")
	kib, err := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	if !found || err != nil {
		p.t.Fatalf("no Rss: %v\n%s", err, raw)
	}
	return kib / 1024
}
