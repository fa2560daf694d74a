package delivery_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// arrivalLog is a receiver that keeps, for each delivery, how many times it arrived, and checks that the deliveries of an
// event reach an endpoint in order.
type arrivalLog struct {
	t         testing.TB
	endpoints []string // recipients; the path of a request ends with the index

	mu       sync.Mutex
	changes  map[string]*entry // by the id of the change
	order    map[string][]int64
	repeats  []int                  // by the kill that caused them: the first after the last arrival of the delivery
	arriving func(status func(int)) // called for each request before the response, without the lock
	failing  func(endpoint, times int) bool
	open     int // number of open connections
}

// entry counts the arrivals of one change, by endpoint.
type entry struct {
	sent      topic.EventChange
	ids       []string
	times     []uint8
	succeeded []int // how many kills there were when the last request succeeded, counted from 1
	distinct  int   // endpoints with a successful request
}

// newArrivalLog starts the receiver and registers n endpoints of the organization.
func newArrivalLog(w *world, n int) *arrivalLog {
	l := &arrivalLog{t: w.t, changes: map[string]*entry{}, order: map[string][]int64{}, repeats: []int{0}}
	for i := range n {
		id := fmt.Sprintf("r%06d", i)
		l.endpoints = append(l.endpoints, id)
		w.peer.add(id, fmt.Sprintf("https://hooks.test/t/%d", i))
	}
	w.serve("hooks.test", l, func(server *http.Server) { server.ConnState = l.connection })
	return l
}

// connection counts the open connections.
func (l *arrivalLog) connection(_ net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew:
		l.open++
	case http.StateClosed:
		l.open--
	}
}

// expect prepares the arrivalLog for a change. It returns the entry of the change.
func (l *arrivalLog) expect(sent topic.EventChange) *entry {
	n := len(l.endpoints)
	e := &entry{sent: sent, ids: deliveries(sent.ID, l.endpoints), times: make([]uint8, n), succeeded: make([]int, n)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes[sent.ID] = e
	if l.order[sent.Event.ID] == nil {
		l.order[sent.Event.ID] = make([]int64, n)
	}
	return e
}

// forget frees the memory of an ended change.
func (l *arrivalLog) forget(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.changes, e.sent.ID)
}

func (l *arrivalLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // a killed process did not send the whole request
	}
	status := l.record(r, body)
	l.mu.Lock()
	arriving := l.arriving
	l.mu.Unlock()
	if arriving == nil {
		w.WriteHeader(status)
		return
	}
	arriving(func(override int) {
		w.WriteHeader(max(status, override))
		_ = http.NewResponseController(w).Flush()
	})
}

func (l *arrivalLog) record(r *http.Request, body []byte) (status int) {
	var got struct {
		Sequence int64
		Event    struct{ ID string }
	}
	endpoint, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/t/"))
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	id := r.Header.Get("Webhook-Id")
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || endpoint >= len(l.endpoints) {
		l.t.Errorf("a request to %s: %v", r.URL.Path, err)
		return http.StatusBadRequest
	}
	e := l.find(endpoint, id)
	if e == nil {
		l.t.Errorf("%s got the delivery %s again, long after it had ended", l.endpoints[endpoint], id)
		return http.StatusNoContent
	}
	if last := &l.order[e.sent.Event.ID][endpoint]; got.Sequence < *last {
		l.t.Errorf("%s got update %d after update %d", l.endpoints[endpoint], got.Sequence, *last)
	} else {
		*last = got.Sequence
	}
	e.times[endpoint]++
	if last := e.succeeded[endpoint]; last > 0 {
		l.repeats[last-1]++
	}
	if l.failing != nil && l.failing(endpoint, int(e.times[endpoint])) {
		return http.StatusInternalServerError
	}
	if e.succeeded[endpoint] == 0 {
		e.distinct++
	}
	e.succeeded[endpoint] = len(l.repeats)
	return http.StatusNoContent
}

func (l *arrivalLog) find(endpoint int, id string) *entry {
	for _, e := range l.changes {
		if e.ids[endpoint] == id {
			return e
		}
	}
	return nil
}

// hears sets the function that each request calls before it gets its response.
func (l *arrivalLog) hears(arriving func(answer func(int))) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arriving = arriving
}

// killed says that the service was killed. It waits until the requests that the dead process had sent are read. Without
// this, they and their repetitions would count for the next kill.
func (l *arrivalLog) killed() {
	l.t.Helper()
	apitest.Eventually(l.t, "the connections of the dead process to end", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open == 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.repeats = append(l.repeats, 0)
}

// repeated returns the number of repeats of each kill so far.
func (l *arrivalLog) repeated() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.repeats[:len(l.repeats)-1]) // the last entry is of a kill to come
}

func (l *arrivalLog) arrived(e *entry) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.distinct
}

// complete waits until each endpoint has the change. It fails if nothing arrives for a minute.
func (l *arrivalLog) complete(e *entry) {
	l.t.Helper()
	l.reach(e, len(l.endpoints))
}

// reach waits until so many endpoints have the change.
func (l *arrivalLog) reach(e *entry, endpoints int) {
	l.t.Helper()
	last, progress := -1, time.Now()
	for {
		now := l.arrived(e)
		switch {
		case now >= endpoints:
			return
		case now > last:
			last, progress = now, time.Now()
		case time.Since(progress) > patience:
			l.t.Fatalf("lost: %d of %d endpoints have got update %d of %s", now, len(l.endpoints), e.sent.Sequence, e.sent.Event.ID)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// most returns the largest number of requests with the same delivery id.
func (l *arrivalLog) most(e *entry) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := uint8(0)
	for _, n := range e.times {
		most = max(most, n)
	}
	return int(most)
}

// lists sets the function that decides whether the next page of recipients is handed out.
func (i *integrations) lists(listed func(after string) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.listed = listed
}

// resolves sets the function that hears which recipients are resolved.
func (i *integrations) resolves(resolved func(ids []string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.resolved = resolved
}

// all waits until each of the deliveries has an outcome, and forgets them.
func (o *outcomes) all(t testing.TB, ids []string) {
	t.Helper()
	apitest.Eventually(t, "the outcomes", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, id := range ids {
			if _, found := o.byID[id]; !found {
				return false
			}
		}
		return true
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		delete(o.byID, id)
		delete(o.times, id)
	}
}

// count returns the number of deliveries with an outcome.
func (o *outcomes) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.byID)
}

// distribution describes numbers by their quantiles.
func distribution(numbers []int) string {
	sorted := slices.Sorted(slices.Values(numbers))
	at := func(q float64) int { return sorted[int(q*float64(len(sorted)-1))] }
	sum := 0
	for _, n := range sorted {
		sum += n
	}
	return fmt.Sprintf("min %d, median %d, p90 %d, p99 %d, max %d, mean %.1f", at(0), at(0.5), at(0.9), at(0.99), at(1), float64(sum)/float64(len(sorted)))
}
