package main_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mailPause is the time that the mail server of a benchmark takes for a mail.
const mailPause = 5 * time.Millisecond

// BenchmarkMails opens an incident on a dashboard with BENCH_RECIPIENTS (1,000,000) mail subscribers, and adds an update
// after a tenth of the mails. Each service is a process of its own. It reports the mails that are lost, repeated, or out of
// order, responses with wrong counts of deliveries, and the most memory of each service.
//
//	go test -run '^$' -bench '^BenchmarkMails$' -benchtime 1x -timeout 120m ./deploy/standalone
func BenchmarkMails(b *testing.B) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_RECIPIENTS"), "1000000"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		mails := &mailCount{first: make([]uint8, n), second: make([]uint8, n)}
		c := startCluster(b, append(startMailSink(b, mails.take), "BELLBUOY_LOG_LEVEL=warn", "APP_RATE_PER_MINUTE=1000000")...)
		a := actor{b, provision(b, c.base, "Acme", "acme-admin", "admin", "api")}
		_, component := a.service("Checkout")
		began := time.Now()
		a.imports(n)
		imported := time.Since(began)

		most, wrong, polls := map[string]float64{}, 0, 0
		var last counts
		notify := map[string]any{"email": true}
		began = time.Now()
		event := a.incident(component, map[string]any{"initialTimelineMessage": firstMail, "notify": notify})
		updated, sample := false, time.NewTicker(time.Second)
		eventually(b, time.Hour, "all mails", func() error {
			<-sample.C
			now, _ := a.deliveries(event)
			arrived := int(mails.total.Load())
			polls++
			if now.Delivered > arrived || now.Delivered < last.Delivered || now.Planned < last.Planned || now.sum() > now.Planned || now.Planned > 2*n {
				wrong++
				b.Logf("%+v after %+v, %d have arrived", now, last, arrived)
			}
			last = now
			for name, p := range c.processes {
				most[name] = max(most[name], p.resident())
			}
			if !updated && arrived >= n/10 {
				updated = true
				a.entry(event, notify)
			}
			if now.Delivered < 2*n || now.Retrying > 0 {
				return fmt.Errorf("%+v, %d have arrived", now, arrived)
			}
			return nil
		})
		took := time.Since(began)
		sample.Stop()
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(imported.Seconds(), "s-import")
		b.ReportMetric(took.Seconds(), "s-all")
		b.ReportMetric(float64(2*n)/took.Seconds(), "mails/s")
		b.ReportMetric(float64(polls), "responses")
		b.ReportMetric(float64(wrong), "wrong")
		lost, repeated, disordered := mails.faults()
		b.ReportMetric(float64(lost), "lost")
		b.ReportMetric(float64(repeated), "repeated")
		b.ReportMetric(float64(disordered), "out-of-order")
		largest := 0.0
		for name, size := range most {
			b.ReportMetric(size, name+"-MiB")
			largest = max(largest, size)
		}
		b.ReportMetric(largest, "MiB-most")
	}
}

// imports creates n confirmed mail subscribers of the dashboard.
func (a actor) imports(n int) {
	a.t.Helper()
	const rows = 1000
	for from := 0; from < n; from += rows {
		list := make([]map[string]any, min(rows, n-from))
		for i := range list {
			list[i] = map[string]any{"email": fmt.Sprintf("person-%d@example.com", from+i), "confirmed": true}
		}
		send(a.t, http.MethodPost, a.BaseURL+"/app/subscribers/email/import", a.app(), map[string]any{"dashboardId": a.DashboardID, "rows": list}).expect(a.t, http.StatusOK)
	}
}

// firstMail is a text that only the first mail to a recipient contains.
const firstMail = "The first text."

// mailCount counts the mails to each recipient of a benchmark.
type mailCount struct {
	total atomic.Int64

	mu            sync.Mutex
	first, second []uint8 // numbers of mails with and without firstMail, by recipient
	disordered    int     // first mails after a second one
}

// take counts a mail after mailPause.
func (c *mailCount) take(to string, text []byte) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(to, "person-"), "@")
	recipient, err := strconv.Atoi(name)
	if err != nil {
		return err
	}
	<-time.After(mailPause) // the time of a mail server
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total.Add(1)
	if !bytes.Contains(text, []byte(firstMail)) {
		c.second[recipient]++
		return nil
	}
	if c.second[recipient] > 0 {
		c.disordered++
	}
	c.first[recipient]++
	return nil
}

// faults returns how many of the two mails to each recipient are missing, are repeated, and came in the wrong order.
func (c *mailCount) faults() (lost, repeated, disordered int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.first {
		for _, mails := range []uint8{c.first[i], c.second[i]} {
			if mails == 0 {
				lost++
			}
			repeated += max(0, int(mails)-1)
		}
	}
	return lost, repeated, c.disordered
}
