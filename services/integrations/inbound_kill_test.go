package integrations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// history is what a tool reports about a problem, and how the problem and its event must end.
type history struct {
	key           inboundKey
	actions       []string // "open" repeats the trigger until there is an event
	state         string
	opens, closes int // times that the event opens and closes
}

// restarting is the service as a process of its own that is killed and started again.
type restarting struct {
	*platform
	address atomic.Pointer[string]
}

// report sends the message until the response is 200, and returns the id of the event.
func (r *restarting) report(key inboundKey, action, problem string) (eventID string) {
	body := fmt.Sprintf(`{"action": %q, "externalId": %q}`, action, problem)
	if action == "trigger" {
		body = fmt.Sprintf(`{"action": "trigger", "externalId": %q, "title": "t", "components": ["checkout"]}`, problem)
	}
	for r.t.Context().Err() == nil {
		request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, *r.address.Load()+inboundPath+"/generic", strings.NewReader(body))
		if err != nil {
			r.t.Error(err)
			return ""
		}
		request.Header.Set(passport.Header, r.signer.Sign(passport.Passport{Audience: "integrations", Surface: passport.Public, IP: "192.0.2.9"}))
		request.Header.Set("Authorization", "Bearer "+key.KeyID+":"+key.Secret)
		if response, err := http.DefaultClient.Do(request); err == nil {
			var out struct{ EventID string }
			err := json.NewDecoder(response.Body).Decode(&out)
			response.Body.Close()
			switch {
			case err == nil && response.StatusCode == http.StatusOK:
				return out.EventID
			case err == nil && response.StatusCode < http.StatusInternalServerError:
				r.t.Errorf("%s of %s: %d", action, problem, response.StatusCode)
				return ""
			}
		}
		<-time.After(20 * time.Millisecond) // the process is down
	}
	return ""
}

// play reports the history.
func (r *restarting) play(of history, problem string) {
	for _, action := range of.actions {
		if action != "open" {
			r.report(of.key, action, problem)
			continue
		}
		for r.report(of.key, "trigger", problem) == "" && r.t.Context().Err() == nil {
			<-time.After(100 * time.Millisecond)
		}
	}
}

// killAt kills the process at the nth message that reaches the moment of the events service.
func (r *restarting) killAt(moment string, nth int64, kill func()) (dead <-chan struct{}) {
	ended := make(chan struct{})
	var count atomic.Int64
	at := func(now string) bool {
		if now != moment {
			return true
		}
		n := count.Add(1)
		if n == nth {
			kill()
			close(ended)
		}
		return n < nth || moment == "sent"
	}
	r.upstream.at.Store(&at)
	return ended
}

// The service is killed at each moment around the messages of damped problems. Each problem ends in the state that its
// history demands, with exactly one event or none, and no step reaches the event twice.
func TestKillsAtEveryMomentOfAProblemOpenOneEventOrNone(t *testing.T) {
	p := start(t, nil)
	o := p.organization(25)
	plain, short := p.key(o, object{"bearer": true}), p.key(o, object{"bearer": true, "openAfter": "1s", "resolveAfter": "1s"})
	slow, sticky := p.key(o, object{"bearer": true, "openAfter": "1h"}), p.key(o, object{"bearer": true, "resolveAfter": "1h"})
	histories := []history{
		{plain, []string{"trigger", "trigger", "resolve"}, "quiet", 1, 1},
		{short, []string{"trigger"}, "open", 1, 0},
		{short, []string{"open", "resolve"}, "quiet", 1, 1},
		{slow, []string{"trigger", "trigger"}, "waiting", 0, 0},
		{slow, []string{"trigger", "resolve"}, "quiet", 0, 0},
		{sticky, []string{"trigger", "resolve"}, "closing", 1, 0},
	}
	p.stop()
	r := &restarting{platform: p}
	address, kill := p.spawn()
	r.address.Store(&address)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var tools sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		tools.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				r.play(histories[n%int64(len(histories))], fmt.Sprint("p-", n))
			}
		})
	}
	for _, moment := range []string{"before", "after", "sent"} {
		for _, nth := range []int64{1, 30} {
			<-r.killAt(moment, nth, kill)
			var again string
			again, kill = p.spawn()
			r.address.Store(&again)
		}
	}
	p.upstream.at.Store(nil)
	stop()
	tools.Wait()
	p.url = *r.address.Load()

	apitest.Eventually(t, "each problem is in its last state", func() bool {
		for n, state := range p.states(o) {
			if state != histories[n%len(histories)].state {
				return false
			}
		}
		return true
	})
	if states := p.states(o); len(states) != int(next.Load()) {
		t.Errorf("%d problems are stored, %d were reported", len(states), next.Load())
	}
	opens, closes, steps := p.transitions()
	for n := range int(next.Load()) {
		of := histories[n%len(histories)]
		if name := fmt.Sprint("p-", n); opens[name] != of.opens || closes[name] != of.closes || steps[name] != of.opens+of.closes {
			t.Errorf("%s (%v) opens %d and closes %d times, by %d steps", name, of.actions, opens[name], closes[name], steps[name])
		}
	}
	t.Logf("%d problems", next.Load())
}

// states returns the states of the problems by the number in their externalId.
func (p *platform) states(o organization) map[int]string {
	p.t.Helper()
	states := map[int]string{}
	for query := "?limit=100"; ; {
		var page struct {
			Problems  []problem
			NextToken *string
		}
		p.decode(p.call(o, http.StatusOK, http.MethodGet, problemsPath+query, nil).text, &page)
		for _, problem := range page.Problems {
			var n int
			if _, err := fmt.Sscanf(problem.ExternalID, "p-%d", &n); err != nil {
				p.t.Fatal(err)
			}
			states[n] = problem.State
		}
		if page.NextToken == nil {
			return states
		}
		query = "?limit=100&nextToken=" + url.QueryEscape(*page.NextToken)
	}
}

// transitions returns how often the event of each externalId opens and closes by the messages, each of which counts once,
// and the number of messages that were sent by a step. Their ids begin with the id of the key. The tool repeats a message
// whose response is lost, and a repeated trigger passes with an id of its own.
func (p *platform) transitions() (opens, closes, steps map[string]int) {
	opens, closes, steps = map[string]int{}, map[string]int{}, map[string]int{}
	seen, open := map[string]bool{}, map[string]bool{}
	for _, message := range p.upstream.received() {
		if seen[message.ID] {
			continue
		}
		seen[message.ID] = true
		name, trigger := message.ExternalID, message.Action == "trigger"
		if strings.HasPrefix(message.ID, message.KeyID) {
			steps[name]++
		}
		switch {
		case trigger && !open[name]:
			opens[name]++
		case !trigger && open[name]:
			closes[name]++
		}
		open[name] = trigger
	}
	return opens, closes, steps
}
