package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// TestWritesHoldForAttemptsDuringFanOuts (goal D8) pauses, deletes, moves and suppresses endpoints while all endpoints
// are sent one event after the other. No attempt starts more than 100 ms after the response, although delivery caches
// the destinations of a fan-out. Before an attempt, delivery asks for the destination. On a machine that is so busy that a
// call like this takes more than 100 ms, an attempt may be later by the time of the slowest call.
func TestWritesHoldForAttemptsDuringFanOuts(t *testing.T) {
	t.Parallel()
	const (
		endpoints = 60
		each      = 5                      // number of endpoints for each kind of write
		slack     = 400 * time.Millisecond // more for arrivals, whose time the receiver notes; the logs have that of the attempt
	)
	strictly := 100 * time.Millisecond
	servers, env := startReceivers(t, receiverHost)
	r := servers[receiverHost]
	var mu sync.Mutex
	gone := map[string]bool{} // paths of endpoints that must get no more requests
	r.Answer = func(request receiver.Request) int {
		mu.Lock()
		defer mu.Unlock()
		if gone[request.Path] {
			return http.StatusGone
		}
		return http.StatusNoContent
	}
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "APP_RATE_PER_MINUTE=1000000", "LEGACY_RATE_PER_HOUR=1000000")...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	send(t, http.MethodPatch, base+"/operator/v1/organizations/"+a.OrganizationID, a.operator(),
		map[string]any{"plan": "enterprise", "limits": map[string]any{"uniqueEndpoints": 10 * endpoints}}).expect(t, http.StatusOK)
	uri, component := a.service("Checkout")
	var hooks []*hook
	for i := range endpoints {
		hooks = append(hooks, a.hook(outbounds()[0], servers, component, fmt.Sprintf("%03d", i)))
	}
	path := func(h *hook) string {
		return strings.SplitN(strings.TrimPrefix(h.url, "https://"+receiverHost), "?", 2)[0]
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	posts := &publisher{credentials: a.credentials, service: uri}
	var posting sync.WaitGroup
	defer posting.Wait()
	defer stop()
	posting.Go(func() { posts.until(ctx) })
	var slowest time.Duration
	posting.Go(func() { slowest = slowestCall(ctx, hooks[endpoints-1]) })
	arrived(t, r, 3*endpoints) // three fan-outs have been sent

	responded := map[*hook]time.Time{}
	write := func(from int, do func(h *hook)) {
		for _, h := range hooks[from*each : (from+1)*each] {
			do(h)
			responded[h] = time.Now()
		}
	}
	write(0, func(h *hook) { h.patch(map[string]any{"paused": true}) })
	write(1, func(h *hook) {
		h.send("DELETE", "/endpoints", map[string]any{"dashboardId": h.DashboardID, "urlHash": h.hash}).expect(t, http.StatusNoContent)
	})
	former := map[*hook]string{}
	write(2, func(h *hook) {
		former[h] = h.hash
		h.patch(map[string]any{"url": h.url + "&moved=1"})
	})
	write(3, func(h *hook) {
		mu.Lock()
		gone[path(h)] = true
		mu.Unlock()
		h.until("suppression", func(row hookView) bool { return row.Suppressed })
	})
	posts.progress(t, 5)
	arrived(t, r, len(r.Requests())+3*endpoints)
	stop()
	posting.Wait()
	if slowest > strictly {
		strictly += slowest
	}

	for h, at := range responded {
		hash := h.hash
		if former[h] != "" {
			hash = former[h]
		}
		for _, log := range h.logs(url.Values{"urlHash": {hash}, "from": {at.Add(strictly + time.Millisecond).UTC().Format(time.RFC3339Nano)}}) {
			if log.Status != "skipped" && log.Status != "suppressed" {
				t.Errorf("an attempt later than %v after the response: %+v", strictly, log)
			}
		}
		for _, request := range r.Requests() {
			moved := strings.Contains(request.Query, "moved")
			if request.Path == path(h) && !moved && request.At.Sub(at) > strictly+slack {
				t.Errorf("a request to %s arrived %v after the response", path(h), request.At.Sub(at))
			}
		}
	}
}

// slowestCall reads the endpoint again and again until ctx ends. It returns the longest time of a call.
func slowestCall(ctx context.Context, h *hook) (slowest time.Duration) {
	for ctx.Err() == nil {
		start := time.Now()
		_, err := try(ctx, http.MethodGet, h.BaseURL+h.path+"/endpoints?limit=1", h.app(), nil)
		if err == nil {
			slowest = max(slowest, time.Since(start))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return slowest
}
