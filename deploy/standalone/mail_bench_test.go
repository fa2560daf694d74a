package main_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// mailPause is the time that a mailSink takes for a mail.
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
		sink := startMailSink(b, n)
		c := startCluster(b, "SMTP_URL=smtp://"+sink.address, "MAIL_FROM=status@status.test", "BELLBUOY_LOG_LEVEL=warn", "APP_RATE_PER_MINUTE=1000000")
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
			arrived := int(sink.total.Load())
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
		lost, repeated, disordered := sink.faults()
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

// mailSink is an SMTP server that accepts each mail after mailPause. It counts the mails to each recipient.
type mailSink struct {
	address string
	total   atomic.Int64

	mu            sync.Mutex
	first, second []uint8 // numbers of mails with and without firstMail, by recipient
	disordered    int     // first mails after a second one
}

func startMailSink(t testing.TB, recipients int) *mailSink {
	t.Helper()
	s := &mailSink{first: make([]uint8, recipients), second: make([]uint8, recipients)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	server := smtp.NewServer(s)
	server.Domain = "mail.test"
	go server.Serve(listener) // returns an error when it is closed
	t.Cleanup(func() { server.Close() })
	return s
}

// NewSession implements smtp.Backend.
func (s *mailSink) NewSession(*smtp.Conn) (smtp.Session, error) { return &sinkSession{sink: s}, nil }

// faults returns how many of the two mails to each recipient are missing, are repeated, and came in the wrong order.
func (s *mailSink) faults() (lost, repeated, disordered int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.first {
		for _, mails := range []uint8{s.first[i], s.second[i]} {
			if mails == 0 {
				lost++
			}
			repeated += max(0, int(mails)-1)
		}
	}
	return lost, repeated, s.disordered
}

type sinkSession struct {
	sink      *mailSink
	recipient int
}

func (s *sinkSession) Reset()                               {}
func (s *sinkSession) Logout() error                        { return nil }
func (s *sinkSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s *sinkSession) Rcpt(to string, _ *smtp.RcptOptions) (err error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(to, "person-"), "@")
	s.recipient, err = strconv.Atoi(name)
	return err
}

func (s *sinkSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	<-time.After(mailPause) // the time of a mail server
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	s.sink.total.Add(1)
	if !bytes.Contains(text, []byte(firstMail)) {
		s.sink.second[s.recipient]++
		return nil
	}
	if s.sink.second[s.recipient] > 0 {
		s.sink.disordered++
	}
	s.sink.first[s.recipient]++
	return nil
}
