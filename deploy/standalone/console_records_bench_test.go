package main_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// BenchmarkConsoleRecords (goal C6) reads /find and each list of the console for an organization with BENCH_RECORDS (100,000)
// subscribers, and for one with 1,000 on the same platform. Requests to the two alternate. It reports the 95th percentiles and their
// ratio. The large organization has 4,000 components and events, and an entry in the audit log of each: a page compares
// at most 1,000 events with a text, and P2 measures their lists at 100,000.
//
//	BENCH_RECORDS=10000 go test -run '^$' -bench '^BenchmarkConsoleRecords$' -benchtime 1x ./deploy/standalone
func BenchmarkConsoleRecords(b *testing.B) {
	const few, rounds = 1000, 40
	many, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_RECORDS"), "100000"))
	if err != nil {
		b.Fatal(err)
	}
	_, base := started(b, "APP_RATE_PER_MINUTE=10000000", "BELLBUOY_LOG_LEVEL=warn", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	small, large := recordsOf(b, base, "Small", few), recordsOf(b, base, "Large", many)
	for _, row := range []struct{ name, path string }{
		{"find", "/find?q=record"}, {"find nothing", "/find?q=nothing+like+that"}, {"find an address", "/find?q=record500@example.com"},
		{"past events", "/events?view=past"}, {"drafts", "/events?view=drafts"}, {"events with a text", "/events?view=all&q=record+5"}, {"events without the text", "/events?view=all&q=nothing"},
		{"components", "/components"}, {"components with a text", "/components?q=record+5"}, {"components without the text", "/components?q=nothing"},
		{"subscribers", "/subscribers/email"}, {"subscribers with a text", "/subscribers/email?q=record500"}, {"subscribers without the text", "/subscribers/email?q=nothing"}, {"unconfirmed subscribers", "/subscribers/email?state=unconfirmed"},
		{"audit", "/audit"},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				var fast, slow []time.Duration
				for range rounds + 3 { // the first warm up
					fast, slow = append(fast, took(b, small, row.path)), append(slow, took(b, large, row.path))
				}
				ofFew, ofMany := percentile(fast[3:], 95), percentile(slow[3:], 95)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ms(ofFew), "ms-of-few")
				b.ReportMetric(ms(ofMany), "ms-of-many")
				b.ReportMetric(float64(ofMany)/float64(ofFew), "ratio-p95")
			}
		})
	}
}

// took returns the time of a page of the console. A session may send 600 requests in a minute, so it waits when it must.
func took(b *testing.B, who *consoleUser, path string) time.Duration {
	b.Helper()
	for {
		began := time.Now()
		response, err := who.client.Get(who.origin + "/console" + path)
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode == http.StatusTooManyRequests {
			<-time.After(5 * time.Second)
			continue
		}
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatalf("%s: %d, %v", path, response.StatusCode, err)
		}
		return time.Since(began)
	}
}

// recordsOf creates an organization with n events, components and subscribers, and returns its admin with a session.
func recordsOf(b *testing.B, base, name string, n int) *consoleUser {
	b.Helper()
	of := provision(b, base, name, "admin-"+name, "admin", "api")
	began := time.Now()
	others := min(n, 4000)
	create := func(path string, body func(i int) map[string]any) {
		var work errgroup.Group
		work.SetLimit(32)
		for i := range others {
			work.Go(func() error {
				got, err := try(b.Context(), http.MethodPost, base+"/app"+path, of.app(), body(i))
				if err == nil && got.status != http.StatusCreated {
					err = fmt.Errorf("%d %s", got.status, got.body)
				}
				return err
			})
		}
		if err := work.Wait(); err != nil {
			b.Fatal(err)
		}
		b.Logf("%s: %d of %s after %s", name, others, path, time.Since(began).Round(time.Second))
	}
	create("/components", func(i int) map[string]any { return map[string]any{"name": fmt.Sprintf("Record %d", i)} })
	// New components are on the dashboard. Both organizations keep 20 there.
	var first struct{ Components []struct{ ID string } }
	send(b, http.MethodGet, base+"/app/components?limit=20", of.app(), nil).expect(b, http.StatusOK).into(b, &first)
	var placed []any
	for _, c := range first.Components {
		placed = append(placed, map[string]any{"componentId": c.ID})
	}
	send(b, http.MethodPut, base+"/app/dashboards/"+of.DashboardID+"/components", of.app(), map[string]any{"components": placed}).expect(b, http.StatusOK)
	create("/events", func(i int) map[string]any {
		return map[string]any{"type": "incident", "title": fmt.Sprintf("Record %d", i), "status": "resolved", "publish": i%2 == 0, "notify": false, "affectedComponents": []any{map[string]any{"componentId": first.Components[0].ID}}, "startAt": time.Now().Add(-time.Duration(i+1) * time.Minute).UTC(), "endAt": time.Now().Add(-time.Duration(i) * time.Minute).UTC()}
	})
	for first := 0; first < n; first += 1000 {
		rows := make([]any, min(1000, n-first))
		for i := range rows {
			rows[i] = map[string]any{"email": fmt.Sprintf("record%d@example.com", first+i), "confirmed": i%10 != 0}
		}
		send(b, http.MethodPost, base+"/app/subscribers/email/import", of.app(), map[string]any{"dashboardId": of.DashboardID, "rows": rows}).expect(b, http.StatusOK)
	}
	var stored struct{ Counts struct{ Total int } }
	send(b, http.MethodGet, base+"/app/subscribers/email/counts", of.app(), nil).expect(b, http.StatusOK).into(b, &stored)
	if stored.Counts.Total != n {
		b.Fatalf("%d of %d subscribers are stored", stored.Counts.Total, n)
	}
	b.Logf("%s: all after %s", name, time.Since(began).Round(time.Second))
	var link struct{ URL string }
	send(b, http.MethodPost, base+"/operator/v1/users/"+of.UserID+"/invitation", of.operator(), nil).expect(b, http.StatusCreated).into(b, &link)
	who := newConsoleUser(b, base)
	who.open(link.URL, http.StatusOK).fill("/welcome", typed("password", memberPassword), http.StatusOK)
	return who
}
