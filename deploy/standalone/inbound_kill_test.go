package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// inboundTool sends each message with the same webhook-id until the response is 200, as Standard Webhooks require.
type inboundTool struct {
	t *testing.T
	signer
}

type inboundResponse struct {
	Result, EventID string
	Duplicate       bool
}

func (s inboundTool) send(ctx context.Context, id, body string) (inboundResponse, bool) {
	for ctx.Err() == nil {
		got, err := s.try(ctx, id, time.Now(), json.RawMessage(body))
		if err != nil {
			continue // the connection broke
		}
		var out inboundResponse
		switch {
		case got.status == http.StatusOK && json.Unmarshal(got.body, &out) == nil:
			return out, true
		case got.status < http.StatusInternalServerError:
			s.t.Errorf("%s got %d %s", body, got.status, got.body)
			return out, false
		}
		select {
		case <-time.After(20 * time.Millisecond): // a part of the platform is down
		case <-ctx.Done():
		}
	}
	return inboundResponse{}, false
}

// probesKey creates a key that waits for both probes and for a second, and returns its token.
func (a actor) probesKey() string {
	a.t.Helper()
	var made struct {
		Key struct{ KeyID, Secret string }
	}
	send(a.t, http.MethodPost, a.BaseURL+"/app/integrations/webhooks/inbound/keys", a.app(), map[string]any{"name": "Gatus", "bearer": true, "openAfter": "1s", "minSources": 2}).
		expect(a.t, http.StatusCreated).into(a.t, &made)
	return made.Key.KeyID + ":" + made.Key.Secret
}

// twoProbes reports problems with a key of probesKey, and returns the ids of their events by externalId. Each report
// reaches all gateways at once. A problem that has begun is completed; only the start of the next one checks ctx.
func (a actor) twoProbes(ctx context.Context, token string, gateways []string) map[string]string {
	at := func(base, probe, action, problem string) (out inboundResponse) {
		body := fmt.Sprintf(`{"action": %q, "externalId": %q, "title": %q, "components": ["checkout"]}`, action, problem, problem)
		got, err := try(a.t.Context(), http.MethodPost, base+"/public/webhooks/inbound/generic?source="+probe, "Bearer "+token, body)
		if err == nil && got.status == http.StatusOK {
			err = json.Unmarshal(got.body, &out)
		}
		if err == nil && got.status != http.StatusOK && got.status < http.StatusInternalServerError {
			a.t.Errorf("%s got %d %s", body, got.status, got.body)
		}
		return out // zero if a part of the platform is down
	}
	report := func(probe, action, problem string) (out inboundResponse) {
		var copies sync.WaitGroup
		for _, base := range gateways[1:] {
			copies.Go(func() { at(base, probe, action, problem) })
		}
		out = at(gateways[0], probe, action, problem)
		copies.Wait()
		return out
	}
	events := map[string]string{}
	for n := 0; ctx.Err() == nil && a.t.Context().Err() == nil; n++ {
		problem := fmt.Sprintf("probes-%d", n)
		for events[problem] == "" && a.t.Context().Err() == nil {
			report("b", "trigger", problem)
			events[problem] = report("a", "trigger", problem).EventID
			<-time.After(20 * time.Millisecond)
		}
		for result := ""; result != "resolved" && result != "ignored" && a.t.Context().Err() == nil; {
			result = report("a", "resolve", problem).Result
			<-time.After(20 * time.Millisecond)
		}
	}
	return events
}

// However often the integrations and events services are killed, each message causes exactly one timeline entry and one
// notification.
func TestKillsBetweenTheWritesOfAnInboundMessageRepeatNothing(t *testing.T) {
	t.Parallel()
	eachDocuments(t, func(t *testing.T, documents string) {
		r, env := startReceiver(t)
		cluster := startCluster(t, append(env, documents)...)
		a := actor{t, provision(t, cluster.base, "Acme", "acme-admin", "admin", "api")}
		component := a.component("Checkout", "checkout")
		a.endpoint("https://"+receiverHost+"/hooks/1", component)
		tool, probes, gateways := inboundTool{t, a.signer("Alertmanager")}, a.probesKey(), cluster.threeGateways(t)

		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var mu sync.Mutex
		problems := map[string]string{} // ids of events by externalId
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					problem := fmt.Sprintf("problem-%d-%d", worker, n)
					// A problem that has begun is completed. Only the start of the next one checks ctx.
					first, ok := tool.send(t.Context(), problem, fmt.Sprintf(
						`{"action": "trigger", "externalId": %q, "title": %q, "components": ["checkout"], "message": "It begins."}`, problem, problem))
					if !ok || first.Result != "created" {
						t.Errorf("%s: %+v", problem, first)
						return
					}
					mu.Lock()
					problems[problem] = first.EventID
					mu.Unlock()
					for _, next := range []struct{ action, message, result string }{{"update", "It goes on.", "updated"}, {"resolve", "It is over.", "resolved"}} {
						got, ok := tool.send(t.Context(), problem+next.action, fmt.Sprintf(`{"action": %q, "externalId": %q, "message": %q}`, next.action, problem, next.message))
						if !ok || got.Result != next.result || got.EventID != first.EventID {
							t.Errorf("%s: %+v", problem, got)
							return
						}
					}
				}
			})
		}
		var probed map[string]string
		group.Go(func() { probed = a.twoProbes(ctx, probes, gateways) })
		done := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(problems)
		}
		for _, name := range []string{"integrations", "events", "integrations", "events", "integrations", "events"} {
			before := done()
			eventually(t, 60*time.Second, "progress", func() error {
				if done() <= before {
					return fmt.Errorf("%d problems", before)
				}
				return nil
			})
			<-time.After(time.Duration(rand.IntN(100)) * time.Millisecond) // a random moment for the kill
			cluster.processes[name].kill()
			cluster.processes[name].start()
			eventually(t, 60*time.Second, name+" ready again", ready("http://"+cluster.addresses[name]))
		}
		stop()
		group.Wait()

		for problem, id := range problems {
			var got struct {
				Event struct {
					Status   string
					Timeline []struct{ Message string }
				}
			}
			send(t, http.MethodGet, cluster.base+"/app/events/"+id, a.app(), nil).expect(t, http.StatusOK).into(t, &got)
			if text := fmt.Sprint(got.Event.Timeline); text != "[{It is over.} {It goes on.} {It begins.}]" || got.Event.Status != "resolved" {
				t.Errorf("%s is %s with the timeline %s", problem, got.Event.Status, text)
			}
		}
		var list struct {
			Meta struct {
				TotalCount int `json:"total_count"`
			}
		}
		send(t, http.MethodGet, cluster.base+"/api/v1/event/list/?limit=1", a.legacy(), nil).expect(t, http.StatusOK).into(t, &list)
		if list.Meta.TotalCount != len(problems)+len(probed) || len(probed) == 0 {
			t.Errorf("%d events of %d problems and %d of two probes", list.Meta.TotalCount, len(problems), len(probed))
		}
		t.Logf("%d problems, and %d of two probes", len(problems), len(probed))
		ids, decoded := map[string]map[string]bool{}, 0 // ids of notifications by event
		notified := func() map[string]map[string]bool {
			requests := r.Requests()
			for _, request := range requests[decoded:] {
				event := read(t, request).Event.ID
				if ids[event] == nil {
					ids[event] = map[string]bool{}
				}
				ids[event][request.ID()] = true
			}
			decoded = len(requests)
			return ids
		}
		eventually(t, 60*time.Second, "a notification of each problem", func() error {
			if n := len(notified()); n < len(problems)+len(probed) {
				return fmt.Errorf("%d of %d", n, len(problems)+len(probed))
			}
			return nil
		})
		quiet(t, r)
		for id, ids := range notified() {
			if len(ids) > 3 {
				t.Errorf("the event %s was notified %d times", id, len(ids))
			}
		}
	})
}
