package delivery_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// A process stands still for longer than its session while attempts are under way. Another process gets its partitions and
// makes the deliveries. When the first one continues, it stores none of its results: each delivery has one log and counts
// once. Both processes then share the work. Two processes need MongoDB; .ci/run starts a server for it.
func TestAProcessThatStoodStillStoresNoResult(t *testing.T) {
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		t.Skip("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	t.Setenv("BELLBUOY_TEST_DOCUMENTS", server)
	const n, underWay = 200, 50
	w := newWorld(t)
	l := newArrivalLog(w, n)
	e := l.expect(change(newEvent(), 1))
	var arrived atomic.Int64
	full, proceed := make(chan struct{}), make(chan struct{})
	l.hears(func(answer func(int)) {
		if arrived.Add(1) == underWay {
			close(full)
		}
		<-proceed
		answer(0)
	})
	frozen := w.child("DELIVERY_TIMEOUT=14s")
	w.publish(e.sent, nil)
	<-full
	if err := frozen.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	close(proceed)
	address := apitest.FreeAddress(t)
	w.child("BELLBUOY_ADDR=" + address)
	apitest.Ready(t, "http://"+address)
	s := &service{url: "http://" + address}
	apitest.Eventually(t, "the other process to make all deliveries", func() bool {
		now, _ := s.progress(t, e.sent.Event.ID)
		return now == counts{Planned: n, Delivered: n}
	})
	w.settled()
	if err := frozen.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	apitest.Eventually(t, "both processes to share the work", func() bool { return w.members(t.Context(), "delivery-send") == 2 })
	next := l.expect(change(e.sent.Event.ID, 2))
	w.publish(next.sent, nil)
	l.complete(next)
	w.outcomes.all(t, next.ids)
	if err := frozen.command.Process.Signal(syscall.SIGTERM); err != nil { // it stores what it has
		t.Fatal(err)
	}
	if err := frozen.command.Wait(); err != nil {
		t.Error(err)
	}
	if now, _ := s.progress(t, e.sent.Event.ID); now != (counts{Planned: 2 * n, Delivered: 2 * n}) {
		t.Errorf("progress %+v", now)
	}
	logs := s.logsOf(t, e.sent.Event.ID)
	if len(logs) != 2*n {
		t.Errorf("%d logs", len(logs))
	}
	for log, times := range logs {
		if times != 1 || !strings.HasSuffix(log, "delivered") {
			t.Errorf("%s has %d logs", log, times)
		}
	}
}

// logsOf returns how many logs of an event there are, by delivery and status.
func (s *service) logsOf(t *testing.T, event string) map[string]int {
	t.Helper()
	logs := make(map[string]int)
	query := url.Values{"eventId": {event}, "limit": {"100"}}
	for {
		page, token := s.list(t, topic.Webhook, query)
		for _, log := range page {
			logs[fmt.Sprint(log.DeliveryID, " ", log.Status)]++
		}
		if token == "" {
			return logs
		}
		query.Set("nextToken", token)
	}
}
