package integrations_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// watch resolves one recipient again and again, as delivery does during a fan-out, and notes each destination with the
// start of the call.
type watch struct {
	mu    sync.Mutex
	seen  []seen
	reads int // number of reads of destinations at the service
}

type seen struct {
	began time.Time
	to    topic.Destination
}

// counted counts the reads of destinations.
type counted struct {
	peer.Recipients
	w *watch
}

func (c counted) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	c.w.mu.Lock()
	c.w.reads++
	c.w.mu.Unlock()
	return c.Recipients.Resolve(ctx, organization, query)
}

func (w *watch) run(ctx context.Context, t *testing.T, kept *peer.Destinations, organization, recipient string) {
	for ctx.Err() == nil {
		began := time.Now()
		found, err := kept.Resolve(ctx, organization, topic.ResolveQuery{Kind: topic.IncidentCreated, Channel: topic.Webhook, IDs: []string{recipient}})
		if ctx.Err() != nil {
			return
		}
		if err != nil || len(found) != 1 {
			t.Error(err, found)
			return
		}
		w.mu.Lock()
		w.seen = append(w.seen, seen{began, found[0]})
		w.mu.Unlock()
	}
}

// since returns the destinations of the calls that began after the time.
func (w *watch) since(at time.Time) (found []topic.Destination) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if s.began.After(at) {
			found = append(found, s.to)
		}
	}
	return found
}

// Delivery keeps the destinations that one process of integrations has returned. What another process writes holds for
// each destination that delivery asks for 40 ms after the response. Delivery uses such a destination for 60 ms.
func TestWritesHoldForKeptDestinations(t *testing.T) {
	p := start(t, nil)
	first := p.url
	p.run(nil) // the second process, which delivery asks
	w := &watch{}
	kept := peer.KeepDestinations(counted{p.recipients(), w})
	p.url = first
	o := p.organization(25)
	made := p.create(o, "https://hooks.example.com/hook", object{"componentIds": []string{o.one, o.two}})
	recipient := p.only(o, o.one)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { w.run(ctx, t, kept, o.id, recipient) })

	secret, hash := made.Secret, made.URLHash
	change := func(members object) func() {
		return func() {
			members["dashboardId"], members["urlHash"] = o.dashboard, hash
			got := p.call(o, http.StatusOK, http.MethodPatch, path, members)
			hash = got.Endpoint.URLHash
			if got.Endpoint.Secret != "" {
				secret = got.Endpoint.Secret
			}
		}
	}
	state := func(want topic.RecipientState) func(topic.Destination) bool {
		return func(d topic.Destination) bool {
			return d.State == want && (d.URL != "") == (want == topic.RecipientActive)
		}
	}
	gone := p.outcome(o, recipient, topic.Failed)
	gone.Gone = true
	for _, step := range []struct {
		name  string
		write func()
		holds func(topic.Destination) bool
	}{
		{"pause", change(object{"paused": true}), state(topic.RecipientPaused)},
		{"resume", change(object{"paused": false}), state(topic.RecipientActive)},
		{"a new secret", change(object{"rotateSecret": true}), func(d topic.Destination) bool { return slices.Index(d.Secrets, secret) == 0 }},
		{"a new URL", change(object{"url": "https://hooks.example.com/other"}), func(d topic.Destination) bool { return d.URL == "https://hooks.example.com/other" }},
		{"components", change(object{"componentIds": []string{o.one}}), func(d topic.Destination) bool { return slices.Equal(d.Components, []string{o.one}) }},
		{"a renamed dashboard", func() {
			p.upstream.put(o.id, -1, topic.DashboardRecord{ID: o.dashboard, Name: "Renamed", Slug: o.dashboard, URL: "http://d.test/d/main", Components: []topic.ComponentRecord{{ID: o.one}, {ID: o.two}}})
		}, func(d topic.Destination) bool { return d.Dashboard.Name == "Renamed" }},
		{"a suppression", func() {
			gone.URLHash = hash
			p.publish(gone)
			apitest.Eventually(t, "a suppression", func() bool { return p.shown(o, hash).Suppressed })
		}, state(topic.RecipientSuppressed)},
		{"clearing", func() {
			p.call(o, http.StatusNoContent, http.MethodDelete, suppressionPath, object{"urlHash": hash})
		}, state(topic.RecipientActive)},
		{"the deletion of the component", func() {
			if err := p.recipients().ForgetComponent(t.Context(), o.id, o.one); err != nil {
				t.Fatal(err)
			}
		}, func(d topic.Destination) bool { return len(d.Components) == 0 }},
		{"deletion", func() {
			p.call(o, http.StatusNoContent, http.MethodDelete, path, object{"dashboardId": o.dashboard, "urlHash": hash})
		}, state(topic.RecipientGone)},
	} {
		t.Run(step.name, func(t *testing.T) {
			enough := func(since time.Time, n int) func() bool {
				return func() bool { return len(w.since(since)) >= n }
			}
			apitest.Eventually(t, "kept destinations", enough(time.Now(), 20))
			step.write()
			holds := time.Now().Add(40 * time.Millisecond)
			apitest.Eventually(t, "later destinations", enough(holds, 20))
			for _, d := range w.since(holds) {
				if !step.holds(d) {
					t.Fatalf("a destination that was asked for 40 ms after the response is %+v", d)
				}
			}
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads > len(w.seen)/2 {
		t.Errorf("of %d destinations %d were read", len(w.seen), w.reads)
	}
}
