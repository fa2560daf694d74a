package integrations_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

const problemsPath = "/app/integrations/webhooks/inbound/problems"

type problem struct {
	KeyID, ExternalID, State string
	Sources                  []string
	Since                    time.Time
	DueAt                    *time.Time
	EventID                  *string
}

func (p *platform) problems(o organization) []problem {
	p.t.Helper()
	var page struct{ Problems []problem }
	p.decode(p.call(o, http.StatusOK, http.MethodGet, problemsPath+"?limit=100", nil).text, &page)
	return page.Problems
}

// tell posts a message of the action about p-1, and expects the result.
func (p *platform) tell(key inboundKey, action, want string) {
	p.t.Helper()
	body := `{"action": "` + action + `", "externalId": "p-1"}`
	if action == "trigger" {
		body = trigger
	}
	if status, text, out := p.post(p.signed(key, body)); status != http.StatusOK || out.Result != want {
		p.t.Errorf("%s: %d %s, want %s", action, status, text, want)
	}
}

// actions returns the actions of the messages that reached the events service.
func (p *platform) actions() string {
	var actions []string
	for _, message := range p.upstream.received() {
		actions = append(actions, message.Action)
	}
	return strings.Join(actions, " ")
}

func (p *platform) awaitState(o organization, want string) problem {
	p.t.Helper()
	var last problem
	apitest.Eventually(p.t, "the problem is "+want, func() bool {
		last = p.problems(o)[0]
		return last.State == want
	})
	return last
}

func TestAProblemOpensAndResolvesItsEventAfterTheTimesOfTheKey(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"openAfter": "2m", "resolveAfter": "5m"})
	p.tell(key, "trigger", "waiting")
	if got := p.problems(o)[0]; got.State != "waiting" || got.EventID != nil || got.DueAt == nil || got.DueAt.Sub(got.Since) != 2*time.Minute || fmt.Sprint(got.Sources) != "[default]" {
		t.Errorf("waiting: %+v", got)
	}
	p.tell(key, "resolve", "ignored")
	if got := p.problems(o)[0]; got.State != "quiet" || got.DueAt != nil || len(got.Sources) != 0 {
		t.Errorf("over: %+v", got)
	}
	p.ahead.Add(int64(90 * time.Second))
	p.tell(key, "trigger", "waiting")
	p.ahead.Add(int64(90 * time.Second)) // 3 min after the first trigger, 90 s after the last one
	p.tell(key, "trigger", "waiting")
	if got := p.actions(); got != "" {
		t.Errorf("the events service got %s", got)
	}
	p.ahead.Add(int64(31 * time.Second))
	opened := p.awaitState(o, "open")
	if opened.EventID == nil || opened.DueAt != nil {
		t.Errorf("open: %+v", opened)
	}
	apitest.Eventually(t, "the log of the step", func() bool { row := p.logRows(o)[0]; return row.Result != nil && *row.Result == "created" })
	if row := p.logRows(o)[0]; row.Action == nil || *row.Action != "trigger" || *row.Result != "created" || *row.EventID != *opened.EventID || row.RemoteIP != "192.0.2.9" {
		t.Errorf("the step is logged as %+v", row)
	}
	p.tell(key, "trigger", "created") // the test's events service calls each trigger that
	p.tell(key, "resolve", "waiting")
	p.awaitState(o, "closing")
	p.ahead.Add(int64(4 * time.Minute))
	p.tell(key, "trigger", "created") // goes on
	if got := p.problems(o)[0]; got.State != "open" {
		t.Errorf("triggered while closing: %+v", got)
	}
	p.tell(key, "resolve", "waiting")
	p.ahead.Add(int64(5*time.Minute + time.Second))
	p.awaitState(o, "quiet")
	if got := p.actions(); got != "trigger trigger trigger resolve" {
		t.Errorf("the events service got %s", got)
	}
	p.tell(key, "resolve", "resolved") // nothing waits, so the event decides
	p.ahead.Add(int64(25 * time.Hour))
	p.stop()
	p.run(nil)
	apitest.Eventually(t, "the quiet problem is deleted", func() bool { return len(p.problems(o)) == 0 })
}

// The event of a problem remembers the ids of its messages for longer than the problem is kept.
func TestAProblemThatReturnsAfterItsRecordWasDeletedOpensAnotherEvent(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"bearer": true})
	down := captured(t, "gatus")
	status, text, first := p.push("gatus", down, token(key))
	if status != http.StatusOK || first.Result != "created" {
		t.Fatalf("the first time: %d %s", status, text)
	}
	if status, text, out := p.push("gatus", strings.Replace(down, "TRIGGERED", "RESOLVED", 1), token(key)); status != http.StatusOK || out.Result != "resolved" {
		t.Fatalf("over: %d %s", status, text)
	}
	p.ahead.Add(int64(25 * time.Hour))
	p.stop()
	p.run(nil)
	apitest.Eventually(t, "the quiet problem is deleted", func() bool { return len(p.problems(o)) == 0 })
	if status, text, again := p.push("gatus", down, token(key)); status != http.StatusOK || again.Result != "created" || *again.EventID == *first.EventID {
		t.Errorf("a day later: %d %s, and the first event was %s", status, text, *first.EventID)
	}
}

// The events service compares the timestamp of a message with the time at which the problem, or its end, was first reported.
func TestAMessageThatWaitedSaysWhenItWasReceived(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"openAfter": "1h", "resolveAfter": "1h", "minSources": 1})
	for step, of := range []struct{ action, waiting, after string }{{"trigger", "waiting", "open"}, {"resolve", "closing", "quiet"}} {
		for _, title := range []string{"first", "last"} { // the last message of a step is applied
			body := fmt.Sprintf(`{"action": %q, "externalId": "p-1", "title": %q, "components": ["checkout"], "timestamp": %q}`, of.action, title, p.now().Add(-time.Minute).Format(time.RFC3339Nano))
			if status, text, out := p.post(p.signed(key, body)); status != http.StatusOK || out.Result != "waiting" {
				t.Fatalf("%s: %d %s", of.action, status, text)
			}
			p.ahead.Add(int64(50 * time.Minute))
		}
		since := p.problems(o)[0].Since
		p.ahead.Add(int64(11 * time.Minute))
		p.awaitState(o, of.after)
		if got := p.upstream.received()[step]; got.Action != of.action || got.Title != "last" || got.ReceivedAt == nil || got.ReceivedAt.Sub(*got.Timestamp) > time.Hour {
			t.Errorf("the events service gets %+v of a problem that is so since %v", got, since)
		}
	}
}

// During an update, an events service of the former version does not know receivedAt.
func TestAMessageThatWaitedReachesAFormerEventsService(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	p.upstream.mu.Lock()
	p.upstream.former = true
	p.upstream.mu.Unlock()
	key := p.key(o, object{"openAfter": "1h"})
	body := fmt.Sprintf(`{"action": "trigger", "externalId": "p-1", "title": "Slow", "components": ["checkout"], "timestamp": %q}`, p.now().Format(time.RFC3339Nano))
	if status, text, _ := p.post(p.signed(key, body)); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	p.ahead.Add(int64(61 * time.Minute))
	p.awaitState(o, "open")
	if got := p.upstream.received(); len(got) != 1 || got[0].Title != "Slow" {
		t.Errorf("the events service got %+v", got)
	}
}

// A process that dies after the record is stored and before the event exists leaves a step, which another process completes once.
func TestAStepWhoseProcessDiedIsCompletedOnce(t *testing.T) {
	p := start(t, nil)
	p.beside()
	o := p.organization(25)
	key := p.key(o, nil)
	in := p.signed(key, trigger)
	lose := func() { p.upstream.down.Store(true) }
	second := func() { p.upstream.meanwhile.Store(&lose) }
	p.upstream.meanwhile.Store(&second) // the message is applied, and the response is lost
	if status, text, _ := p.post(in); status != http.StatusServiceUnavailable {
		t.Errorf("with a lost response: %d %s", status, text)
	}
	p.upstream.down.Store(false)
	p.ahead.Add(int64(11 * time.Second))
	opened := p.awaitState(o, "open")
	if status, text, out := p.post(in); status != http.StatusOK || out.EventID != *opened.EventID || out.Result != "created" {
		t.Errorf("the next attempt: %d %s", status, text)
	}
	ids := map[string]bool{}
	for _, message := range p.upstream.received() {
		ids[message.ID] = true
	}
	if len(ids) != 1 {
		t.Errorf("the messages have the ids %v", ids)
	}
}

func TestATriggerThatNoEventCanTakeDoesNotWait(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	damped, plain := p.key(o, object{"openAfter": "1m"}), p.key(o, nil)
	for name, key := range map[string]inboundKey{"damped": damped, "plain": plain} {
		if status, text, _ := p.post(p.signed(key, strings.Replace(trigger, "checkout", "unknown", 1))); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if left := p.problems(o); len(left) != 0 {
		t.Errorf("left is %+v", left)
	}
	if rows := p.logRows(o); len(rows) != 2 {
		t.Errorf("%d rows are logged", len(rows))
	}
	// The test's events service refuses this externalId only when it applies the message.
	if status, text, _ := p.post(p.signed(plain, strings.Replace(trigger, "p-1", "unknown", 1))); status != http.StatusNotFound {
		t.Errorf("%d %s", status, text)
	}
	if left := p.problems(o); len(left) != 1 || left[0].State != "quiet" || len(left[0].Sources) != 0 {
		t.Errorf("left is %+v", left)
	}
}

// A message that no event accepts is refused in each state of its problem.
func TestAMessageThatNoEventCanTakeChangesNoProblem(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"bearer": true})
	p.tell(key, "trigger", "created")
	before := p.call(o, http.StatusOK, http.MethodGet, problemsPath, nil).text
	if status, text, _ := p.push("generic?source=b", strings.Replace(trigger, "checkout", "unknown", 1), token(key)); status != http.StatusNotFound {
		t.Errorf("a trigger of another source: %d %s", status, text)
	}
	for _, send := range []func(string) (int, string){
		func(body string) (int, string) { status, text, _ := p.post(p.signed(key, body)); return status, text },
		func(body string) (int, string) {
			status, text, _ := p.push("generic", body, token(key))
			return status, text
		},
	} {
		for _, dated := range []string{"", fmt.Sprintf(`, "timestamp": %q`, p.now().Format(time.RFC3339Nano))} {
			if status, text := send(`{"action": "resolve", "externalId": "p-1", "components": ["unknown"]` + dated + `}`); status != http.StatusNotFound {
				t.Errorf("a resolve: %d %s", status, text)
			}
		}
	}
	if after := p.call(o, http.StatusOK, http.MethodGet, problemsPath, nil).text; after != before {
		t.Errorf("the problems become\n%s\nfrom\n%s", after, before)
	}
}

// A monitoring tool would repeat a resolve that is refused. A tool that signs its messages gets to know that the event is missing.
func TestTheResolveOfADeletedEventIsIgnored(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key, later := p.key(o, object{"bearer": true}), p.key(o, object{"bearer": true, "resolveAfter": "1m"})
	push := func(key inboundKey, action, want string) {
		t.Helper()
		body := `{"action": "resolve", "externalId": "p-1"}`
		if action == "trigger" {
			body = trigger
		}
		if status, text, out := p.push("generic", body, token(key)); status != http.StatusOK || out.Result != want {
			t.Errorf("%s: %d %s, want %s", action, status, text, want)
		}
	}
	remove := func(externalID string) {
		p.upstream.mu.Lock()
		defer p.upstream.mu.Unlock()
		p.upstream.deleted = externalID
	}
	push(key, "trigger", "created")
	push(later, "trigger", "created")
	remove("p-1")
	push(key, "resolve", "ignored")
	push(later, "resolve", "waiting")
	p.ahead.Add(int64(61 * time.Second))
	apitest.Eventually(t, "the step is logged as ignored", func() bool {
		row := p.logRows(o)[0]
		return row.Result != nil && *row.Result == "ignored" && row.RemoteIP == "192.0.2.9" && *row.Action == "resolve" && row.HTTPStatus == http.StatusOK
	})
	for _, left := range p.problems(o) {
		if left.State != "quiet" {
			t.Errorf("left is %+v", left)
		}
	}
	remove("")
	p.tell(key, "trigger", "created")
	remove("p-1")
	if status, text, _ := p.post(p.signed(key, `{"action": "resolve", "externalId": "p-1"}`)); status != http.StatusNotFound {
		t.Errorf("a signed resolve: %d %s", status, text)
	}
}

func TestARevokedKeyOpensNoEventLater(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"openAfter": "1m"})
	p.tell(key, "trigger", "waiting")
	p.call(o, http.StatusNoContent, http.MethodDelete, keysPath+"/"+key.KeyID, nil)
	p.ahead.Add(int64(61 * time.Second))
	p.awaitState(o, "quiet")
	if got := p.actions(); got != "" {
		t.Errorf("the events service got %s", got)
	}
}

func TestAnOldTriggerDoesNotReopenWhatItsSourceHasResolved(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, nil)
	dated := func(action string, ago time.Duration, want string) {
		t.Helper()
		body := fmt.Sprintf(`{"action": %q, "externalId": "p-1", "title": "t", "components": ["checkout"], "timestamp": %q}`, action, p.now().Add(-ago).Format(time.RFC3339Nano))
		if status, text, out := p.post(p.signed(key, body)); status != http.StatusOK || out.Result != want {
			t.Errorf("%s: %d %s, want %s", action, status, text, want)
		}
	}
	dated("resolve", 5*time.Minute, "resolved") // arrives before its trigger
	dated("trigger", 6*time.Minute, "ignored")
	dated("trigger", 4*time.Minute, "created")
	dated("trigger", 6*time.Minute, "ignored")
	dated("resolve", 3*time.Minute, "resolved")
	dated("trigger", 4*time.Minute, "ignored")
	if got := p.actions(); got != "resolve trigger resolve" {
		t.Errorf("the events service got %s", got)
	}
}

// The check of a resolve is a request to the events service, and most resolves have only an externalId.
func TestAResolveWithOnlyAnExternalIDIsNotChecked(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"bearer": true, "openAfter": "2m"})
	send := func(body string, status, checks int) {
		t.Helper()
		got, text, _ := p.push("generic", body, token(key))
		p.upstream.mu.Lock()
		defer p.upstream.mu.Unlock()
		if got != status || p.upstream.checks != checks {
			t.Errorf("%s: %d %s after %d checks, want %d after %d", body, got, text, p.upstream.checks, status, checks)
		}
	}
	send(trigger, http.StatusOK, 1)
	send(`{"action": "resolve", "externalId": "p-1"}`, http.StatusOK, 1)
	send(`{"action": "resolve", "externalId": "p-1", "message": "It works."}`, http.StatusOK, 2)
	send(`{"action": "resolve", "externalId": "p-1", "status": "resolved"}`, http.StatusOK, 3)
	send(`{"action": "resolve", "externalId": "p-1", "components": ["checkout"]}`, http.StatusOK, 4)
	send(`{"action": "resolve", "externalId": " "}`, http.StatusOK, 5) // the double finds nothing wrong; the events service does
}

// A date in the future would keep later triggers from the event until then.
func TestAMessageOfTheFutureIsRefusedAndChangesNoProblem(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	for name, key := range map[string]inboundKey{"plain": p.key(o, object{"bearer": true}), "two sources": p.key(o, object{"bearer": true, "minSources": 2})} {
		send := func(action string, ahead time.Duration, signed bool) (int, string) {
			body := fmt.Sprintf(`{"action": %q, "externalId": "p-1", "title": "t", "components": ["checkout"], "timestamp": %q}`, action, p.now().Add(ahead).Format(time.RFC3339Nano))
			if signed {
				status, _, out := p.post(p.signed(key, body))
				return status, out.Result + out.Error
			}
			status, _, out := p.push("generic", body, token(key))
			return status, out.Result + out.Error
		}
		refuse := func() {
			t.Helper()
			before := p.call(o, http.StatusOK, http.MethodGet, problemsPath, nil).text
			for _, action := range []string{"trigger", "resolve", "update"} {
				for _, ahead := range []time.Duration{200 * time.Second, 73 * 365 * 24 * time.Hour} {
					for _, signed := range []bool{true, false} {
						if status, text := send(action, ahead, signed); status != http.StatusBadRequest || text != "timestamp: must not be in the future" {
							t.Errorf("%s: %s in %v: %d %s", name, action, ahead, status, text)
						}
					}
				}
			}
			if after := p.call(o, http.StatusOK, http.MethodGet, problemsPath, nil).text; after != before {
				t.Errorf("%s: the problems become\n%s\nfrom\n%s", name, after, before)
			}
		}
		refuse() // before there is a problem
		began := map[string]string{"plain": "created", "two sources": "waiting"}[name]
		if status, text := send("trigger", -5*time.Second, false); status != http.StatusOK || text != began {
			t.Errorf("%s: the trigger: %d %s", name, status, text)
		}
		refuse()
		over := map[string]string{"plain": "resolved", "two sources": "ignored"}[name]
		if status, text := send("resolve", -time.Second, false); status != http.StatusOK || text != over {
			t.Errorf("%s: the resolve: %d %s", name, status, text)
		}
		refuse()
		if status, text := send("trigger", 0, false); status != http.StatusOK || text != began {
			t.Errorf("%s: the next trigger: %d %s", name, status, text)
		}
	}
}

// Uptime Kuma does not repeat a message, so a date of a clock that is ahead is left out.
func TestADateOfUptimeKumaInTheFutureIsLeftOut(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	key := p.key(o, object{"bearer": true})
	send := func(status int, ahead time.Duration, want string) {
		t.Helper()
		body := fmt.Sprintf(`{"heartbeat": {"status": %d, "time": %q}, "monitor": {"id": 1}}`, status, p.now().Add(ahead).Format("2006-01-02 15:04:05.000"))
		if status, text, out := p.push("uptime-kuma", body, token(key)); status != http.StatusOK || out.Result != want {
			t.Errorf("%d %s, want %s", status, text, want)
		}
	}
	send(0, time.Hour, "created")
	if sent := p.upstream.received()[0]; sent.Timestamp != nil {
		t.Errorf("the events service gets %v", sent.Timestamp)
	}
	send(1, time.Hour, "resolved")
	send(0, -time.Second, "created")
}

// However many alerts flap in a minute, none opens an event if each is shorter than openAfter.
func TestFlappingAlertsOpenNoEvent(t *testing.T) {
	p := start(t, nil)
	processes := []*platform{p, p.beside()}
	o := p.organization(25)
	key := p.key(o, object{"openAfter": "2m"})
	const alerts = 500
	began := time.Now()
	var group sync.WaitGroup
	for worker := range 16 {
		group.Go(func() {
			for i := worker; i < alerts; i += 16 {
				for _, body := range []string{`{"action": "trigger", "externalId": "p-%d", "title": "Flaps", "components": ["checkout"]}`, `{"action": "resolve", "externalId": "p-%d"}`} {
					if status, text, _ := processes[i%2].post(p.signed(key, fmt.Sprintf(body, i))); status != http.StatusOK {
						t.Errorf("%d %s", status, text)
						return
					}
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d alerts in %v", alerts, time.Since(began))
	p.ahead.Add(int64(3 * time.Minute))
	p.tell(key, "trigger", "waiting")
	p.ahead.Add(int64(121 * time.Second))
	apitest.Eventually(t, "the loop has run", func() bool { return p.actions() != "" })
	if got := p.actions(); got != "trigger" {
		t.Errorf("the events service got %s", got)
	}
}
