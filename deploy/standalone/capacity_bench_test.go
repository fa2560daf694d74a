package main_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// BenchmarkCapacity (row K1) measures what one more record of each kind costs the platform as one process: bytes in the
// databases (SQLite, all services together) and milliseconds of processor, until the platform is at rest again.
// deploy/capacity.md computes machines from these. The kinds are BENCH_RECORDS (1,000) organizations, events with four entries
// each, subscribers, deliveries of one event to all subscribers, whose mails become files, and posts of a monitoring tool that
// open no event. The platform is stopped after each kind, because a stop moves the write-ahead logs into the databases. The
// benchmark also reports the memory after a restart for each organization, and the processor time of a view: of each
// organization's page for the first time, after a restart, and again, when the gateway has the pages in its memory; and of one
// page by the same 8 visitors.
//
//	BENCH_RECORDS=1000 go test -run '^$' -bench '^BenchmarkCapacity$' -benchtime 1x ./deploy/standalone
func BenchmarkCapacity(b *testing.B) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_RECORDS"), "1000"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		data := filepath.Join(b.TempDir(), "data")
		p, base := started(b, "BELLBUOY_DATA="+data, "BELLBUOY_SEED=", "APP_RATE_PER_MINUTE=1000000", "BELLBUOY_LOG_LEVEL=warn", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
		of := actor{b, provision(b, base, "Acme", "acme", "admin", "api")}
		var component struct{ Component struct{ ID string } }
		send(b, http.MethodPost, base+"/app/components", of.app(), map[string]any{"name": "Checkout"}).expect(b, http.StatusCreated).into(b, &component)
		affected := []any{map[string]any{"componentId": component.Component.ID, "impact": "partial_outage"}}
		each := func(work func(i int) error) {
			var group errgroup.Group
			group.SetLimit(8)
			for i := range n {
				group.Go(func() error { return work(i) })
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		request := func(method, path, authorization string, in any) (answer, error) {
			got, err := try(b.Context(), method, base+path, authorization, in)
			if err == nil && got.status >= http.StatusMultipleChoices {
				err = fmt.Errorf("%s %s: %d %s", method, path, got.status, got.body)
			}
			return got, err
		}
		// measure reports the growth that work causes, for each of n records.
		measure := func(kind string, work func()) {
			before, processor := p.atRest(base, data)
			work()
			used := p.quiet() - processor
			after, _ := p.atRest(base, data)
			b.ReportMetric(float64(after-before)/float64(n), "B/"+kind)
			b.ReportMetric(ms(used)/float64(n), "ms-cpu/"+kind)
			b.Logf("%s: %d bytes, %v of processor", kind, after-before, used)
		}
		_, _ = p.atRest(base, data)
		memory := p.resident()
		pages := make([]string, n)
		measure("organization", func() {
			each(func(i int) error {
				got, err := request(http.MethodPost, "/operator/v1/organizations", of.operator(), map[string]any{"name": fmt.Sprintf("Organization %d", i)})
				if err != nil {
					return err
				}
				var made struct{ Dashboard struct{ Slug string } }
				got.into(b, &made)
				pages[i] = "/d/" + made.Dashboard.Slug + "/"
				return nil
			})
		})
		b.ReportMetric((p.resident()-memory)*1024/float64(n), "KiB/organization")
		b.ReportMetric(p.resident(), "MiB")
		view := func(page func(i int) string) func() {
			return func() {
				each(func(i int) error {
					_, err := request(http.MethodGet, page(i), "", nil)
					return err
				})
			}
		}
		all := view(func(i int) string { return pages[i] })
		measure("first-view", all)
		measure("view-after-restart", all)
		for kind, views := range map[string]func(){"view-of-all-pages": all, "view-of-one-page": view(func(int) string { return pages[0] })} {
			all() // the gateway has the pages in its memory afterwards
			processor := p.quiet()
			views()
			b.ReportMetric(ms(p.quiet()-processor)/float64(n), "ms-cpu/"+kind)
		}
		measure("event", func() {
			each(func(i int) error {
				var made struct{ Event struct{ ID string } }
				got, err := request(http.MethodPost, "/app/events", of.app(), map[string]any{
					"type": "incident", "title": fmt.Sprintf("Requests of kind %d fail", i), "initialTimelineMessage": "We are looking into it.", "notify": false, "affectedComponents": affected,
				})
				if err != nil {
					return err
				}
				got.into(b, &made)
				for _, status := range []string{"identified", "monitoring", "resolved"} {
					if _, err = request(http.MethodPost, "/app/events/"+made.Event.ID+"/timeline", of.app(), map[string]any{
						"status": status, "message": "Some requests fail with an error. We have found the cause, and are working on a fix.", "notify": false,
					}); err != nil {
						return err
					}
				}
				return nil
			})
		})
		measure("subscriber", func() {
			for first := 0; first < n; first += 1000 {
				rows := make([]any, min(1000, n-first))
				for i := range rows {
					rows[i] = map[string]any{"email": fmt.Sprintf("person%d@example.com", first+i), "confirmed": true}
				}
				send(b, http.MethodPost, base+"/app/subscribers/email/import", of.app(), map[string]any{"dashboardId": of.DashboardID, "rows": rows}).expect(b, http.StatusOK)
			}
		})
		measure("delivery", func() {
			send(b, http.MethodPost, base+"/app/events", of.app(), map[string]any{
				"type": "incident", "title": "All requests fail", "initialTimelineMessage": "We are looking into it.", "affectedComponents": affected,
			}).expect(b, http.StatusCreated)
			eventually(b, 5*time.Minute, "all mails are written", func() error {
				mails, err := filepath.Glob(filepath.Join(data, "mail", "*.eml"))
				if err == nil && len(mails) < n {
					err = fmt.Errorf("%d of %d", len(mails), n)
				}
				return err
			})
		})
		tool := of.tool(map[string]any{"name": "Flapping", "openAfter": "2m"})
		measure("post", func() {
			each(func(i int) error {
				if i%2 == 1 {
					return nil // each second one sends two
				}
				for _, action := range []string{"trigger", "resolve"} {
					if _, err := request(http.MethodPost, "/public/webhooks/inbound/generic", tool.token, map[string]any{
						"action": action, "externalId": fmt.Sprintf("p-%d", i/20), "title": "Checkout does not answer", "components": []string{component.Component.ID},
					}); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if p.stop() != 0 {
			b.Fatalf("the platform did not stop cleanly:\n%s", p.output())
		}
	}
	b.ReportMetric(0, "ns/op")
}

// atRest restarts the platform, and returns the bytes of its databases and the processor time of the new process when it rests.
func (p *process) atRest(base, data string) (bytes int64, processor time.Duration) {
	p.t.Helper()
	if p.stop() != 0 {
		p.t.Fatalf("the platform did not stop cleanly:\n%s", p.output())
	}
	files, err := filepath.Glob(filepath.Join(data, "documents", "*"))
	if err != nil || len(files) == 0 {
		p.t.Fatalf("no databases: %v", err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			p.t.Fatal(err)
		}
		bytes += info.Size()
	}
	p.start()
	eventually(p.t, 30*time.Second, "ready", ready(base))
	return bytes, p.quiet()
}
