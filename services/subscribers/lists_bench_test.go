package subscribers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// BenchmarkLists (goal P2) measures the App's lists of subscribers over HTTP, for a dashboard with 100,000 of them and for one
// with 1,000, of which each twentieth is not confirmed. Requests to the two alternate. For each filter the benchmark reports the
// 99th percentiles of 200 requests and their ratio; of a search for a part of an address only the time. It runs on SQLite, or on
// the MongoDB server that apitest.Documents names:
//
//	go test -run NONE -bench Lists -benchtime 1x .
func BenchmarkLists(b *testing.B) {
	const rounds = 200
	few, many := subscribed(b, 1000), subscribed(b, 100_000)
	for name, query := range map[string]func(of *readers) url.Values{
		"first":     func(*readers) url.Values { return url.Values{} },
		"middle":    func(of *readers) url.Values { return url.Values{"nextToken": {of.tokens[len(of.tokens)/2]}} },
		"last":      func(of *readers) url.Values { return url.Values{"nextToken": {of.tokens[len(of.tokens)-1]}} },
		"dashboard": func(of *readers) url.Values { return url.Values{"dashboardId": {of.o.dashboard}} },
		"state":     func(*readers) url.Values { return url.Values{"state": {"unconfirmed"}} },
		"dashboard, state": func(of *readers) url.Values {
			return url.Values{"dashboardId": {of.o.dashboard}, "state": {"unconfirmed"}}
		},
		"component":           func(of *readers) url.Values { return url.Values{"componentId": {of.o.services[1].ID}} },
		"a part of one":       func(*readers) url.Values { return url.Values{"q": {"p000777@"}} },
		"a part of all":       func(*readers) url.Values { return url.Values{"q": {"example.com"}} },
		"a part of none":      func(*readers) url.Values { return url.Values{"q": {"nobody"}} },
		"state, a part":       func(*readers) url.Values { return url.Values{"state": {"confirmed"}, "q": {"p0007"}} },
		"component, a part":   func(of *readers) url.Values { return url.Values{"componentId": {of.o.services[1].ID}, "q": {"p0007"}} },
		"component of nobody": func(of *readers) url.Values { return url.Values{"componentId": {of.o.services[2].ID}} },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var fast, slow []time.Duration
				for range rounds + 5 { // the first warm up
					fast, slow = append(fast, few.took(query(few))), append(slow, many.took(query(many)))
				}
				ofFew, ofMany := percentile(fast[5:], 99), percentile(slow[5:], 99)
				b.ReportMetric(0, "ns/op")
				if query(many).Has("q") {
					b.ReportMetric(ofMany.Seconds()*1e3, "ms-p99-of-search")
					continue
				}
				b.ReportMetric(ofFew.Seconds()*1e3, "ms-p99-of-few")
				b.ReportMetric(ofMany.Seconds()*1e3, "ms-p99-of-many")
				b.ReportMetric(ofMany.Seconds()/ofFew.Seconds(), "ratio-p99")
			}
		})
	}
}

// percentile returns the p-th percentile.
func percentile(times []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)*p/100]
}

// readers read the list of an organization's subscribers.
type readers struct {
	*platform
	o      organization
	tokens []string // tokens of the pages after the first one
}

// subscribed starts a service with n subscribers, each of the first two components.
func subscribed(b *testing.B, n int) *readers {
	p := start(b)
	of := &readers{platform: p, o: p.organization()}
	for from := 0; from < n; from += 1000 {
		rows := make([]object, 1000)
		for i := range rows {
			rows[i] = object{"email": fmt.Sprintf("p%06d@example.com", from+i), "componentIds": []string{of.o.services[i%2].ID}, "confirmed": i%20 > 0}
		}
		p.app(of.o, http.StatusOK, http.MethodPost, "email/import", object{"dashboardId": of.o.dashboard, "rows": rows})
	}
	for path := "email?limit=100"; ; {
		got := p.app(of.o, http.StatusOK, http.MethodGet, path, nil)
		if got.NextToken == nil {
			break
		}
		of.tokens = append(of.tokens, *got.NextToken)
		path = "email?limit=100&nextToken=" + url.QueryEscape(*got.NextToken)
	}
	if len(of.tokens) != n/100-1 {
		b.Fatalf("%d pages of %d subscribers", len(of.tokens)+1, n)
	}
	return of
}

// took returns the time of a page.
func (r *readers) took(query url.Values) time.Duration {
	r.t.Helper()
	token := r.signer.Sign(r.o.app(passport.RoleSubscriber))
	began := time.Now()
	got := r.send(token, http.MethodGet, "/app/subscribers/email?limit=20&"+query.Encode(), nil)
	if got.status != http.StatusOK {
		r.t.Fatalf("%v: %d %s", query, got.status, got.text)
	}
	return time.Since(began)
}
