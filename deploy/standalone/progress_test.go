package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// counts contains the numbers of deliveries of an event.
type counts struct{ Planned, Delivered, Retrying, Failed, Skipped, Suppressed int }

func (c counts) sum() int { return c.Delivered + c.Retrying + c.Failed + c.Skipped + c.Suppressed }

// deliveries returns the counts for the event: of all channels together, and of webhooks.
func (a actor) deliveries(event string) (all, webhooks counts) {
	a.t.Helper()
	var got struct {
		Deliveries struct {
			counts
			Channels map[string]counts
		}
	}
	send(a.t, http.MethodGet, a.BaseURL+"/app/events/"+event+"/deliveries", a.app(), nil).expect(a.t, http.StatusOK).into(a.t, &got)
	return got.Deliveries.counts, got.Deliveries.Channels["webhook"]
}

// While 100,000 deliveries of an event (fewer in the short form) are running, its counts are consistent. No count of
// ended deliveries ever decreases, planned is at least the sum of the other counts, and no count is higher than what
// the receivers got. At the end the counts are exact.
func TestTheProgressOfAnEventIsAlwaysRight(t *testing.T) {
	t.Parallel()
	const updates = 10
	n := setting(t, "PROGRESS_DELIVERIES", 2000, 100_000) / updates
	l := newTally(t)
	failing := func(endpoint int) bool { return endpoint%100 == 5 }
	l.answer = func(endpoint int) int {
		if failing(endpoint) {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	}
	_, base := started(t, append(l.env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken,
		"DELIVERY_RETRY_SCHEDULE=300ms,300ms", "SUPPRESS_AFTER=1000000")...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	a.endpoints(n, component)
	broken := 0
	for i := range n {
		if failing(i) {
			broken++
		}
	}
	event := a.opens(component)
	added := 1
	var last counts
	polls, under := 0, 0
	began := time.Now()
	eventually(t, 20*time.Minute, "the end", func() error {
		now, webhooks := a.deliveries(event)
		arrived := l.total()
		polls++
		if now.Delivered > 0 && now.Delivered < (n-broken)*updates {
			under++
		}
		if now != webhooks {
			t.Errorf("all are %+v, the webhooks %+v", now, webhooks)
		}
		if now.sum() > now.Planned || now.Planned > n*updates {
			t.Errorf("%+v: %d planned, the sum of the others is %d", now, now.Planned, now.sum())
		}
		if now.Delivered > arrived {
			t.Errorf("%d are delivered, %d have arrived", now.Delivered, arrived)
		}
		if now.Planned < last.Planned || now.Delivered < last.Delivered || now.Failed < last.Failed || now.Skipped < last.Skipped || now.Suppressed < last.Suppressed {
			t.Errorf("%+v after %+v", now, last)
		}
		last = now
		if t.Failed() {
			t.FailNow()
		}
		// An update follows each look, and the last one the looks at deliveries that are under way.
		if added < updates-1 || added < updates && under >= 3 {
			a.adds(event)
			added++
			return fmt.Errorf("%d updates", added)
		}
		if want := n * updates; now.Planned < want || now.sum() < want || now.Retrying > 0 {
			return fmt.Errorf("%+v", now)
		}
		return nil
	})
	t.Logf("%+v after %v; %d answers, %d of them under way", last, time.Since(began).Round(time.Millisecond), polls, under)
	if last.Delivered != (n-broken)*updates || last.Failed+last.Skipped != broken*updates || last.Suppressed != 0 {
		t.Errorf("%+v of %d deliveries, %d endpoints of %d are broken", last, n*updates, broken, n)
		var skipped json.RawMessage
		send(t, http.MethodGet, base+"/app/notifications/webhook/logs?status=skipped&limit=100&eventId="+event, a.app(), nil).expect(t, http.StatusOK).into(t, &skipped)
		t.Logf("skipped: %s", skipped)
	}
	if under < 3 {
		t.Errorf("only %d answers while deliveries were under way: nothing is proven", under)
	}
}
