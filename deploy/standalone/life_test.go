package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

const alertAfter, suppressAfter = 1, 2

// TestAnEndpointPassesThroughEveryState takes an endpoint of each kind through every state.
func TestAnEndpointPassesThroughEveryState(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	servers, env := startReceivers(t, outboundHosts()...)
	// broken contains paths for which receivers respond with an error status.
	var broken sync.Map
	for _, server := range servers {
		server.Answer = func(request receiver.Request) int {
			if status, is := broken.Load(request.Path); is {
				return status.(int)
			}
			return http.StatusOK
		}
	}
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data, "APP_RATE_PER_MINUTE=100000",
		"DELIVERY_RETRY_SCHEDULE=20ms", fmt.Sprintf("ALERT_AFTER=%d", alertAfter), fmt.Sprintf("SUPPRESS_AFTER=%d", suppressAfter))...)
	c := provision(t, base, "Acme", "acme-admin", "admin", "api")
	t.Run("kinds", func(t *testing.T) { // returns when all parallel subtests have ended
		for _, kind := range outbounds() {
			t.Run(kind.kind, func(t *testing.T) {
				t.Parallel()
				l := life{t: t, data: data, broken: &broken}
				a := actor{t, c}
				_, component := a.service("Component of " + kind.kind)
				l.hook = a.hook(kind, servers, component, "life-"+kind.kind)
				l.other = a.hook(kind, servers, component, "other-"+kind.kind)
				l.delivers()
				l.pauses()
				l.suppressed()
				l.clears()
				l.moves()
				l.replays()
				l.ends()
			})
		}
	})
}

// life tests the endpoint hook. other is a second endpoint for the same component.
type life struct {
	t      *testing.T
	data   string
	broken *sync.Map
	*hook
	other *hook
}

// breaks makes the receiver respond with the status to requests for the endpoint's URL. Status 0 means success.
func (l *life) breaks(status int) {
	u, err := url.Parse(l.url)
	if err != nil {
		l.hook.t.Fatal(err)
	}
	if status == 0 {
		l.broken.Delete(u.Path)
		return
	}
	l.broken.Store(u.Path, status)
}

func (l *life) delivers() {
	if row, used, err := l.listed(); err != nil || used != 2 || row.URL != "" || row.Secret != "" || strings.Contains(row.URLDisplay, "life") {
		l.t.Errorf("listed as %+v, %d unique URLs, %v", row, used, err)
	}
	event := l.tell("first steps")
	first := l.got("first steps", 1)[0]
	if l.kind == "webhook" {
		if err := first.Verify(l.key); err != nil {
			l.t.Errorf("the signature does not verify: %v", err)
		}
	}
	l.until("success", func(row hookView) bool { return row.LastSuccessAt != nil && row.ConsecutiveFailures == 0 })
	log := l.logged(event, "delivered")[0]
	if log.Attempt != 1 || log.HTTPStatus == nil || *log.HTTPStatus != http.StatusOK || log.EventKind != "incident.created" ||
		log.DashboardID != l.DashboardID || log.Kind != l.kind || log.ReplayOf != nil {
		l.t.Errorf("logged as %+v", log)
	}
}

// pauses pauses the endpoint in the middle of a fan-out. No attempt starts later than 100 ms after the response. On a
// machine that is so busy that a call takes more than 100 ms, an attempt may be later by the time of the slowest call.
// Deliveries to the other endpoint continue, which proves that the fan-out still runs.
func (l *life) pauses() {
	strictly := 100 * time.Millisecond
	// The receiver notes the time after it has read a request, which may be late on a busy machine.
	const slack = 150 * time.Millisecond
	ctx, stop := context.WithCancel(l.t.Context())
	defer stop()
	measured := make(chan time.Duration, 1)
	go func() { measured <- slowestCall(ctx, l.other) }()
	// The rate limits of providers allow fewer messages in the same time.
	before, after := map[string]int{"webhook": 60, "teams": 4, "gchat": 1, "slack": 1, "discord": 2}[l.kind], map[string]int{"webhook": 40, "teams": 2, "gchat": 1, "slack": 1, "discord": 1}[l.kind]
	var events []string
	var paused time.Time
	for n := range before + after {
		if n == before {
			l.got("fan-out", 1)
			if row := l.patch(map[string]any{"paused": true}); !row.Paused {
				l.t.Errorf("paused as %+v", row)
			}
			paused = time.Now()
		}
		events = append(events, l.tell(fmt.Sprintf("fan-out %d.", n)))
	}
	for n := range before + after {
		l.other.got(fmt.Sprintf("fan-out %d.", n), 1)
	}
	stop()
	if slowest := <-measured; slowest > strictly {
		strictly += slowest
	}
	for _, request := range l.among(l.server.Requests(), "fan-out") {
		if late := request.At.Sub(paused); late > strictly+slack {
			l.t.Errorf("a request arrived %v after the response to the pause", late)
		}
	}
	for _, log := range l.logs(url.Values{"urlHash": {l.hash}, "from": {paused.Add(strictly).UTC().Format(time.RFC3339Nano)}}) {
		if log.Status != "skipped" {
			l.t.Errorf("logged after the pause: %+v", log)
		}
	}
	if logs := l.logs(url.Values{"eventId": {events[len(events)-1]}, "urlHash": {l.hash}}); len(logs) > 0 {
		l.t.Errorf("an event during the pause has the logs %+v", logs)
	}

	l.patch(map[string]any{"paused": false})
	l.tell("awake again")
	l.got("awake again", 1)
}

// inbox waits for n mails to the management address and returns all of them, oldest first.
func (l *life) inbox(n int) (ours []letter) {
	l.hook.t.Helper()
	eventually(l.hook.t, 30*time.Second, "mail about "+l.kind, func() error {
		ours = nil
		for _, letter := range letters(l.hook.t, l.data) {
			if letter.to == "life-"+l.kind+"@example.com" {
				ours = append(ours, letter)
			}
		}
		if len(ours) < n {
			return fmt.Errorf("%d of %d are there", len(ours), n)
		}
		return nil
	})
	slices.SortFunc(ours, func(a, b letter) int { return strings.Compare(a.file, b.file) }) // ids sort by time
	return ours
}

// fails makes one delivery after the other fail. The count of consecutive failures is from after the first of them and
// to after the last. fails returns the last event.
func (l *life) fails(from, to int) (event string) {
	l.hook.t.Helper()
	for n := from; n <= to; n++ {
		event = l.tell(fmt.Sprintf("failure %d", n))
		l.until(fmt.Sprintf("failure %d", n), func(row hookView) bool { return row.ConsecutiveFailures == n })
	}
	return event
}

func (l *life) suppressed() {
	l.breaks(http.StatusInternalServerError)
	event := l.fails(1, alertAfter)
	logs := l.logged(event, "failed", "retrying")
	if logs[0].Attempt != 2 || logs[0].MaxAttempts != 2 || logs[0].DeliveryID != logs[1].DeliveryID || logs[0].ErrorCode == nil || *logs[0].ErrorCode != "http_5xx" {
		l.t.Errorf("logged as %+v", logs)
	}
	l.inbox(1)
	if row, _, err := l.listed(); err != nil || row.Suppressed || len(l.suppressionsOf()) > 0 {
		l.t.Errorf("after %d failures: %+v %v", alertAfter, row, err)
	}
	l.fails(alertAfter+1, suppressAfter)
	row := l.until("suppression", func(row hookView) bool { return row.Suppressed })
	entries := l.suppressionsOf()
	if len(entries) != 1 || entries[0]["reason"] != "failures" || entries[0]["consecutiveFailures"] != float64(suppressAfter) || entries[0]["lastHttpStatus"] != 500.0 ||
		entries[0]["kind"] != l.kind || entries[0]["urlDisplay"] != row.URLDisplay {
		l.t.Errorf("the suppression list has %v", entries)
	}
	mails := l.inbox(2)
	for i, count := range []int{alertAfter, suppressAfter} {
		for _, text := range []string{mails[i].text, mails[i].html} {
			if !strings.Contains(text, fmt.Sprint(count)) || !strings.Contains(text, row.URLDisplay) || strings.Contains(text, "token-of") {
				l.t.Errorf("mail %d to %s is %q: %s", i, mails[i].to, mails[i].subject, text)
			}
		}
	}
	if mails[0].subject == mails[1].subject {
		l.t.Errorf("both mails have the subject %q", mails[0].subject)
	}

	silent := l.tell("nobody listens")
	if log := l.logged(silent, "suppressed")[0]; log.Attempt != 0 || log.HTTPStatus != nil {
		l.t.Errorf("logged as %+v", log)
	}
	l.other.got("nobody listens", 1)
	if all := l.among(l.server.Requests(), "nobody listens"); len(all) > 0 {
		l.t.Errorf("%d requests to a suppressed URL", len(all))
	}
}

// suppressionsOf returns the entries about the endpoint.
func (l *life) suppressionsOf() (ours []map[string]any) {
	for _, entry := range l.suppressions() {
		if entry["urlHash"] == l.hash {
			ours = append(ours, entry)
		}
	}
	return ours
}

func (l *life) clears() {
	l.breaks(0)
	l.send("DELETE", "/suppression", map[string]any{"urlHash": l.hash}).expect(l.t, http.StatusNoContent)
	l.send("DELETE", "/suppression", map[string]any{"urlHash": l.hash}).expect(l.t, http.StatusNotFound)
	if row, _, err := l.listed(); err != nil || row.Suppressed || row.ConsecutiveFailures != 0 || len(l.suppressionsOf()) > 0 {
		l.t.Errorf("after it was cleared: %+v %v", row, err)
	}
	l.tell("heard again")
	l.got("heard again", 1)
}

// moves changes the URL of the endpoint after a failure. The count of failures stays.
func (l *life) moves() {
	l.breaks(http.StatusBadGateway)
	event := l.fails(1, 1)
	l.logged(event, "failed", "retrying")
	was, moved := l.hash, l.outbound.at("moved-"+l.kind)
	row := l.patch(map[string]any{"url": moved})
	if row.URLHash == was || row.URL != "" || row.ConsecutiveFailures != 1 || row.LastSuccessAt == nil {
		l.t.Errorf("moved as %+v", row)
	}
	if _, used, err := l.listed(); err != nil || used != 2 {
		l.t.Errorf("%d unique URLs after the move, %v", used, err)
	}
	old := *l.hook
	l.hook.url = moved
	l.tell("at the new address")
	l.got("at the new address", 1)
	l.until("success", func(row hookView) bool { return row.ConsecutiveFailures == 0 })
	if all := old.among(l.server.Requests(), "at the new address"); len(all) > 0 {
		l.t.Errorf("%d requests to the former URL", len(all))
	}
}

// replays replays the delivery that failed at the former URL. The replay arrives at the present URL.
func (l *life) replays() {
	failed := l.logs(url.Values{"status": {"failed"}, "dashboardId": {l.DashboardID}})
	if len(failed) != suppressAfter+1 {
		l.t.Fatalf("%d failed deliveries are logged, want %d", len(failed), suppressAfter+1)
	}
	if other := l.logs(url.Values{"status": {"failed"}, "urlHash": {l.other.hash}}); len(other) > 0 {
		l.t.Errorf("failures of the other endpoint: %+v", other)
	}
	if !slices.IsSortedFunc(failed, func(a, b deliveryLog) int { return strings.Compare(b.SentAt, a.SentAt) }) {
		l.t.Error("the logs are not sorted by time, the newest first")
	}
	log := failed[0]
	path := l.BaseURL + "/app/notifications/" + l.kind + "/logs/" + log.LogID + "/replay"
	var made struct{ DeliveryID string }
	send(l.t, http.MethodPost, path, l.app(), map[string]any{"sentAt": log.SentAt}).expect(l.t, http.StatusAccepted).into(l.t, &made)
	again := l.got("failure 1", 1)
	if len(again) != 1 || made.DeliveryID == "" || made.DeliveryID == log.DeliveryID {
		l.t.Errorf("%d requests of the replay %s of %s", len(again), made.DeliveryID, log.DeliveryID)
	}
	eventually(l.t, 30*time.Second, "the log of the replay", func() error {
		for _, row := range l.logs(url.Values{"eventId": {log.EventID}, "status": {"delivered"}, "urlHash": {l.hash}}) {
			if row.DeliveryID == made.DeliveryID && row.ReplayOf != nil && *row.ReplayOf == log.LogID {
				return nil
			}
		}
		return fmt.Errorf("none among %+v", l.logs(url.Values{"eventId": {log.EventID}}))
	})
}

// ends deletes the endpoint. The limit then allows another endpoint, and the delivery logs stay.
func (l *life) ends() {
	l.send("DELETE", "/endpoints", map[string]any{"dashboardId": l.DashboardID, "urlHash": l.hash}).expect(l.t, http.StatusNoContent)
	if _, used, err := l.listed(); err == nil || used != 1 {
		l.t.Errorf("%d unique URLs after the end, %v", used, err)
	}
	l.tell("after the end")
	l.other.got("after the end", 1)
	if all := l.among(l.server.Requests(), "after the end"); len(all) > 0 {
		l.t.Errorf("%d requests to a deleted endpoint", len(all))
	}
	logs := l.logs(url.Values{"urlHash": {l.hash}})
	if len(logs) == 0 {
		l.t.Fatal("the logs are gone with the endpoint")
	}
	send(l.t, http.MethodPost, l.BaseURL+"/app/notifications/"+l.kind+"/logs/"+logs[0].LogID+"/replay", l.app(), map[string]any{"sentAt": logs[0].SentAt}).
		expect(l.t, http.StatusNotFound)
	// The third mail is the alert about the failure after the suppression was cleared.
	if mails := l.inbox(3); len(mails) != 3 {
		l.t.Errorf("%d mails to the management address instead of 3", len(mails))
	}
}

// TestGoneSuppressesAtOnceAndATestChangesNothing responds with 410. After an event, the endpoint is suppressed and one
// mail is sent. After endpoint.test, nothing changes.
func TestGoneSuppressesAtOnceAndATestChangesNothing(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	servers, env := startReceivers(t, outboundHosts()...)
	var status atomic.Int64
	status.Store(http.StatusGone)
	for _, server := range servers {
		server.Answer = func(receiver.Request) int { return int(status.Load()) }
	}
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data, "APP_RATE_PER_MINUTE=100000",
		"DELIVERY_RETRY_SCHEDULE=20ms", "ALERT_AFTER=2", "SUPPRESS_AFTER=3")...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	_, component := a.service("Checkout")
	mails := 0
	for _, kind := range outbounds() {
		status.Store(http.StatusGone)
		h := a.hook(kind, servers, component, "gone-"+kind.kind)
		body := map[string]any{"dashboardId": a.DashboardID, "urlHash": h.hash}
		for n, answer := range []int{http.StatusGone, http.StatusInternalServerError, http.StatusInternalServerError, http.StatusOK} {
			status.Store(int64(answer))
			var made struct{ DeliveryID string }
			h.send("POST", "/endpoints/test", body).expect(t, http.StatusAccepted).into(t, &made)
			eventually(t, 30*time.Second, "the test "+fmt.Sprint(n)+" of "+kind.kind, func() error {
				logs := h.logs(url.Values{"urlHash": {h.hash}})
				for _, log := range logs {
					if log.DeliveryID == made.DeliveryID && log.EventKind == "endpoint.test" && (log.Status == "failed" || log.Status == "delivered") {
						if (log.Status == "delivered") != (answer == http.StatusOK) {
							t.Errorf("%d is logged as %+v", answer, log)
						}
						return nil
					}
				}
				return fmt.Errorf("it is not among %+v", logs)
			})
		}
		if kind.kind == "webhook" {
			requests := h.got("endpoint.test", 1)
			if err := requests[0].Verify(h.key); err != nil {
				t.Errorf("the signature of the test does not verify: %v", err)
			}
		}

		// Another event follows the tests. When its failure has been counted, failures of the tests would have been
		// counted too.
		status.Store(http.StatusGone)
		event := h.tell("the receiver of " + kind.kind + " is gone")
		row := h.until("suppression", func(row hookView) bool { return row.Suppressed && row.ConsecutiveFailures > 0 })
		if log := h.logged(event, "failed")[0]; log.Attempt != 1 || log.ErrorCode == nil || *log.ErrorCode != "gone" {
			t.Errorf("a 410 is logged as %+v", log)
		}
		if row.LastSuccessAt != nil || row.ConsecutiveFailures != 1 {
			t.Errorf("the tests of %s were counted: %+v", kind.kind, row)
		}
		entries := h.suppressions()
		if len(entries) != 1 || entries[0]["reason"] != "gone" || entries[0]["lastHttpStatus"] != 410.0 {
			t.Errorf("the suppression list of %s has %v", kind.kind, entries)
		}
		h.send("POST", "/endpoints/test", body).expect(t, http.StatusConflict)
		mails++
		eventually(t, 30*time.Second, "mail", func() error {
			all := slices.DeleteFunc(letters(t, data), func(l letter) bool { return !strings.HasPrefix(l.to, "gone-") }) // members get mails, too
			if len(all) < mails {
				return fmt.Errorf("%d of %d mails", len(all), mails)
			}
			if len(all) > mails || !slices.ContainsFunc(all, func(l letter) bool { return l.to == "gone-"+kind.kind+"@example.com" }) {
				t.Fatalf("%d mails instead of %d", len(all), mails)
			}
			return nil
		})
	}
}
