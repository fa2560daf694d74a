package peer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// source is a service with recipients. Its counts are of questions.
type source struct {
	peer.Versions
	ahead    atomic.Int64 // how far the clock is ahead, in nanoseconds
	mu       sync.Mutex
	version  int64
	url      string
	names    map[string]string // names of dashboards, by id
	failure  error             // error of the version queries
	resolved int               // recipients
	versions int
}

func (s *source) Resolve(_ context.Context, _ string, query topic.ResolveQuery) ([]topic.Destination, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resolved += len(query.IDs)
	out := make([]topic.Destination, len(query.IDs))
	for i, id := range query.IDs {
		out[i] = topic.Destination{ID: id, Channel: query.Channel, State: topic.RecipientActive, URL: s.url, Dashboard: topic.Dashboard{ID: "d", Name: s.names["d"]}}
		if id == "gone" {
			out[i] = topic.Destination{ID: id, State: topic.RecipientGone}
		}
	}
	return out, nil
}

func (s *source) Version(_ context.Context, _ string, query topic.VersionQuery) (topic.RecipientsVersion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions++
	out := topic.RecipientsVersion{Version: s.version}
	for _, id := range query.Dashboards {
		if name, exists := s.names[id]; exists {
			out.Dashboards = append(out.Dashboards, topic.Dashboard{ID: id, Name: name})
		}
	}
	return out, s.failure
}

func newSource() (*source, *peer.Destinations) {
	s := &source{version: 1, url: "one", names: map[string]string{"d": "Main"}}
	kept := peer.KeepDestinations(s)
	kept.Now = func() time.Time { return time.Unix(1_800_000_000, s.ahead.Load()) }
	return s, kept
}

func (s *source) later(by time.Duration) { s.ahead.Add(int64(by)) }

// expect resolves recipients a while later. Each must have the URL and the name of the dashboard, and the number of them is
// read from the source.
func (s *source) expect(t *testing.T, kept *peer.Destinations, what string, read int, url, name string, ids ...string) {
	t.Helper()
	s.later(20 * time.Millisecond)
	before := s.resolved
	found, err := kept.Resolve(t.Context(), "o", topic.ResolveQuery{Kind: topic.IncidentCreated, Channel: topic.Webhook, IDs: ids})
	if err != nil || len(found) != len(ids) {
		t.Fatalf("%s: %d destinations, %v", what, len(found), err)
	}
	for i, d := range found {
		if d.ID != ids[i] || d.State == topic.RecipientActive && (d.URL != url || d.Dashboard.Name != name) {
			t.Errorf("%s: %+v", what, d)
		}
	}
	if s.resolved-before != read {
		t.Errorf("%s: %d were read instead of %d", what, s.resolved-before, read)
	}
}

func TestDestinationsAreKeptWhileNothingChanges(t *testing.T) {
	s, kept := newSource()
	s.expect(t, kept, "the first time", 2, "one", "Main", "a", "b")
	s.expect(t, kept, "others beside them", 1, "one", "Main", "b", "c", "a")
	s.names["d"] = "Renamed"
	s.expect(t, kept, "a renamed dashboard", 0, "one", "Renamed", "a", "b", "c")
	s.url, s.version = "two", 2
	s.expect(t, kept, "a change", 1, "two", "Renamed", "a")
	s.expect(t, kept, "after it", 1, "two", "Renamed", "a", "b")
	s.expect(t, kept, "one that is gone", 1, "two", "Renamed", "gone", "a")
	s.expect(t, kept, "one that is gone is not kept", 1, "two", "Renamed", "gone")
	s.url = "three" // by a process that was killed before it changed the version
	s.expect(t, kept, "shortly after a killed write", 0, "two", "Renamed", "a")
	s.later(2 * time.Second)
	s.expect(t, kept, "two seconds after a killed write", 1, "three", "Renamed", "a")
	delete(s.names, "d")
	s.expect(t, kept, "without the dashboard", 1, "three", "", "a")
}

// Many questions within 15 ms ask for one version, and a change is seen by each question that starts later.
func TestOneVersionServesManyQuestions(t *testing.T) {
	s, kept := newSource()
	s.expect(t, kept, "first", 1, "one", "Main", "a")
	s.expect(t, kept, "with the dashboard", 0, "one", "Main", "a")
	asked := s.versions
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			if _, err := kept.Resolve(t.Context(), "o", topic.ResolveQuery{Channel: topic.Webhook, IDs: []string{"a"}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if s.versions != asked || s.resolved != 1 {
		t.Errorf("%d versions were asked for, %d recipients were read", s.versions-asked, s.resolved)
	}
}

func TestDestinationsWithoutAVersionAreNotKept(t *testing.T) {
	s, kept := newSource()
	s.failure = fault.New(fault.Unavailable, "down")
	for range 3 {
		s.expect(t, kept, "an outage", 1, "one", "Main", "a")
	}
	if s.versions != 3 {
		t.Errorf("%d questions about versions instead of 3", s.versions)
	}
	s.failure = nil
	s.later(time.Minute)
	s.expect(t, kept, "later", 1, "one", "Main", "a")
	s.expect(t, kept, "kept", 0, "one", "Main", "a")
}

func TestMailAboutEndpointsIsNotKept(t *testing.T) {
	s, kept := newSource()
	for want := range 3 {
		if _, err := kept.Resolve(t.Context(), "o", topic.ResolveQuery{Kind: topic.EndpointFailing, Channel: topic.Email, IDs: []string{"a"}}); err != nil || s.resolved != want+1 || s.versions != 0 {
			t.Error(err, s.resolved, s.versions)
		}
	}
}

// What is kept is bounded in bytes: the longest unused destinations are read again.
func TestKeptDestinationsAreBounded(t *testing.T) {
	s, kept := newSource()
	s.url = strings.Repeat("u", 10<<10)
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprint(i))
	}
	s.expect(t, kept, "the first ones", 1000, s.url, "Main", ids...)
	s.expect(t, kept, "while there is room", 0, s.url, "Main", ids...)
	for i := range ids {
		ids[i] = "more-" + ids[i]
	}
	s.expect(t, kept, "more", 1000, s.url, "Main", ids...)
	before := s.resolved
	if _, err := kept.Resolve(t.Context(), "o", topic.ResolveQuery{Channel: topic.Webhook, IDs: []string{"0", "more-999"}}); err != nil || s.resolved != before+1 {
		t.Errorf("%d were read again: %v", s.resolved-before, err)
	}
}

// TestOrganizationsWithoutDeliveriesAreForgotten checks that a busy process does not keep each organization that it ever
// delivered to.
func TestOrganizationsWithoutDeliveriesAreForgotten(t *testing.T) {
	s, kept := newSource()
	deliver := func(organization, id string) {
		t.Helper()
		if _, err := kept.Resolve(t.Context(), organization, topic.ResolveQuery{Channel: topic.Webhook, IDs: []string{id}}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 100 {
		deliver(fmt.Sprint("quiet-", n), "a")
	}
	s.later(time.Minute)
	n := 0
	apitest.Eventually(t, "only the busy organization is known", func() bool {
		n++
		deliver("busy", fmt.Sprint(n)) // always a new destination, so that some are cached
		return kept.Organizations() == 1
	})
}
