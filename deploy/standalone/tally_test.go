package main_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tallyHost is a host in the certificate of package httptest.
const tallyHost = "example.com"

// tally is a receiver for many endpoints. It counts the requests of each delivery and checks their order.
type tally struct {
	t      testing.TB
	server *httptest.Server
	env    []string // settings with which the platform reaches the tally

	mu         sync.Mutex
	seen       map[string]map[string]int // number of requests, by update of an event and by delivery
	ids        map[string]string         // ids of events by title
	last       map[string]int64          // the newest update of an event that an endpoint got
	requests   int
	inversions int
	repeats    int
	latest     time.Time
	answer     func(endpoint int) int           // returns the status of a response; nil: always 204; 503 asks for a pause
	takes      func(endpoint int) time.Duration // returns the time until the response; nil: no time
}

func newTally(t testing.TB) *tally {
	t.Helper()
	l := &tally{t: t, seen: map[string]map[string]int{}, ids: map[string]string{}, last: map[string]int64{}}
	l.server = httptest.NewUnstartedServer(l)
	l.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // killed senders break connections, which the server would log
	l.server.StartTLS()
	t.Cleanup(func() {
		l.server.CloseClientConnections()
		l.server.Close()
	})
	file := filepath.Join(t.TempDir(), "ca.pem")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.server.Certificate().Raw})
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	l.env = []string{"DELIVERY_RESOLVE=" + tallyHost + ":443=" + l.server.Listener.Addr().String(), "DELIVERY_CA_FILE=" + file}
	return l
}

// update returns a name for an update of an event.
func update(event string, sequence int64) string {
	return event + "/" + strconv.FormatInt(sequence, 10)
}

func (l *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // a killed process did not send the whole request
	}
	var got payload
	if err := json.Unmarshal(body, &got); err != nil {
		l.t.Errorf("%s: %v", body, err)
	}
	status, takes := l.count(r, &got)
	if takes > 0 {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "600")
	}
	w.WriteHeader(status)
}

// count counts a request. It returns the status of the response and the time until the response.
func (l *tally) count(r *http.Request, got *payload) (status int, takes time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := update(got.Event.ID, got.Sequence)
	l.ids[got.Event.Title] = got.Event.ID
	if l.seen[name] == nil {
		l.seen[name] = map[string]int{}
	}
	status = http.StatusNoContent
	endpoint, err := strconv.Atoi(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	if err != nil {
		l.t.Errorf("a request to %s", r.URL.Path)
	}
	if l.answer != nil {
		status = l.answer(endpoint)
	}
	if status < http.StatusMultipleChoices {
		if l.seen[name][got.ID]++; l.seen[name][got.ID] > 1 {
			l.repeats++
		}
	}
	key := r.URL.Path + " " + got.Event.ID
	if got.Sequence < l.last[key] {
		l.inversions++
	}
	l.last[key] = max(l.last[key], got.Sequence)
	l.requests++
	l.latest = time.Now()
	if l.takes != nil {
		takes = l.takes(endpoint)
	}
	return status, takes
}

// arrived returns the number of endpoints that have received the update of the event.
func (l *tally) arrived(event string, sequence int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen[update(event, sequence)])
}

// total returns the number of deliveries that have arrived.
func (l *tally) total() (deliveries int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, update := range l.seen {
		deliveries += len(update)
	}
	return deliveries
}

// await waits until count returns at least n, and returns the time of the last request. It fails the test if nothing
// arrives for a minute.
func (l *tally) await(n int, count func() int) time.Time {
	l.t.Helper()
	for now := count(); now < n; {
		before := now
		eventually(l.t, time.Minute, fmt.Sprintf("%d deliveries", n), func() error {
			if now = count(); now == before {
				return fmt.Errorf("%d have arrived", now)
			}
			return nil
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest
}

// endpoints creates n webhook endpoints of the component. Their URLs lead to the tally, and their paths end in 0 to
// n-1.
func (a actor) endpoints(n int, component string) {
	a.t.Helper()
	send(a.t, http.MethodPatch, a.BaseURL+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
		map[string]any{"limits": map[string]any{"uniqueEndpoints": 1_000_000, "appPerMinute": 1_000_000}}).expect(a.t, http.StatusOK)
	var next atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				got, err := try(a.t.Context(), http.MethodPost, a.BaseURL+"/app/integrations/webhooks/outbound/endpoints", a.app(), map[string]any{
					"dashboardId": a.DashboardID, "url": fmt.Sprintf("https://%s/hooks/%d", tallyHost, i),
					"managementEmail": "ops@example.com", "componentIds": []string{component},
				})
				if err != nil || got.status != http.StatusCreated {
					a.t.Errorf("endpoint %d: %d %s %v", i, got.status, got.body, err)
					return
				}
			}
		})
	}
	clients.Wait()
	if a.t.Failed() {
		a.t.FailNow()
	}
}

// opens creates an incident on the component that notifies, and returns its id.
func (a actor) opens(component string) string {
	a.t.Helper()
	var made struct{ Event struct{ ID string } }
	send(a.t, http.MethodPost, a.BaseURL+"/app/events", a.app(), map[string]any{
		"type": "incident", "title": "Checkout is slow", "affectedComponents": []any{map[string]any{"componentId": component}},
		"initialTimelineMessage": "We look into it.", "notify": map[string]any{"webhook": true},
	}).expect(a.t, http.StatusCreated).into(a.t, &made)
	return made.Event.ID
}

// adds adds an update to the event's timeline that notifies.
func (a actor) adds(event string) {
	a.t.Helper()
	send(a.t, http.MethodPost, a.BaseURL+"/app/events/"+event+"/timeline", a.app(),
		map[string]any{"message": "We still look into it.", "notify": map[string]any{"webhook": true}}).expect(a.t, http.StatusCreated)
}
