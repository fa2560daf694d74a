package dispatch

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

func TestADestinationGetsTheComponentsToWhichItSubscribed(t *testing.T) {
	change := &Snapshot{EventChange: topic.EventChange{Event: topic.Event{Components: []topic.Component{
		{ID: "api", Dashboards: []string{"main", "second"}}, {ID: "web", Dashboards: []string{"main"}}, {ID: "moved", Dashboards: []string{"second"}},
	}}}}
	for name, row := range map[string]struct {
		to   topic.Destination
		want string
	}{
		"an endpoint": {topic.Destination{Channel: topic.Webhook, Components: []string{"api", "web"}}, "api web"},
		"an endpoint of a component that has left its dashboard": {topic.Destination{Channel: topic.Teams, Components: []string{"web", "moved"}}, "web"},
		"an endpoint without components":                         {topic.Destination{Channel: topic.Webhook, Components: []string{}}, ""},
		"an address of all of the dashboard":                     {topic.Destination{Channel: topic.Email}, "api web"},
		"an address of several dashboards":                       {topic.Destination{Channel: topic.Email, Components: []string{"web", "moved"}}, "web moved"},
	} {
		row.to.Dashboard.ID = "main"
		var ids []string
		for _, component := range componentsFor(&change.EventChange, &row.to, nil) {
			ids = append(ids, component.ID)
		}
		if got := strings.Join(ids, " "); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// An event without components concerns the recipients of its dashboards, while it is on them.
func TestAnEventWithoutComponentsConcernsItsDashboards(t *testing.T) {
	change := &topic.EventChange{Event: topic.Event{Dashboards: []string{"main", "second"}}, Notify: topic.Notify{topic.Email: {}}}
	if query := concernedBy(change, topic.Email); !slices.Equal(query.AllOf, change.Event.Dashboards) || len(query.Components) > 0 {
		t.Errorf("concerned are %+v", query)
	}
	on := func(dashboards ...string) *topic.EventState {
		return &topic.EventState{Published: true, ShownOn: dashboards}
	}
	for name, row := range map[string]struct {
		dashboard string
		state     *topic.EventState
		code      deliverylog.Code
		withdrawn bool
	}{
		"at once":                        {"main", nil, "", false},
		"another dashboard":              {"third", nil, deliverylog.CodeNotConcerned, false},
		"still on it":                    {"main", on("main"), "", false},
		"no longer on it":                {"second", on("main"), deliverylog.CodeNotConcerned, false},
		"on others":                      {"main", on("third"), deliverylog.CodeNotConcerned, true},
		"on none":                        {"main", on(), deliverylog.CodeNotConcerned, true},
		"unpublished":                    {"main", &topic.EventState{ShownOn: []string{"main"}}, "", true},
		"deleted":                        {"main", &topic.EventState{}, "", true},
		"a state of an older version":    {"main", &topic.EventState{Published: true}, "", false},
		"moved to one that was not told": {"third", on("main", "third"), deliverylog.CodeNotConcerned, false},
	} {
		if name == "on none" {
			row.state.ShownOn = []string{}
		}
		for _, components := range [][]string{nil, {"api"}} {
			to := &topic.Destination{State: topic.RecipientActive, Channel: topic.Email, Components: components, Dashboard: topic.Dashboard{ID: row.dashboard}}
			if _, code := refusal(change, to, componentsFor(change, to, row.state), row.state); code != row.code || withdrawn(row.state, change) != row.withdrawn {
				t.Errorf("%s, chosen are %v: %q, withdrawn %v", name, components, code, withdrawn(row.state, change))
			}
		}
	}
	var stored topic.EventChange // change that an older version has stored
	if err := json.Unmarshal([]byte(`{"event": {"components": []}, "notify": {"email": {}}}`), &stored); err != nil || len(concernedBy(&stored, topic.Email).AllOf) > 0 {
		t.Errorf("an older change concerns %+v, %v", concernedBy(&stored, topic.Email), err)
	}
}

// The cache of changes and the texts of all changes are bounded in bytes.
func TestTheCachesOfChangesAndTextsAreBounded(t *testing.T) {
	store := plainParts{}
	cache := newSnapshots(large{store})
	var all []*Snapshot
	sizes := map[string]int{} // bytes of each change
	for i := range 100 {
		s, err := cache.get(t.Context(), strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		all, sizes[s.ID] = append(all, s), bytesOf(&s.EventChange)
		for j := range 40 {
			text, err := all[max(0, i-j)].Rendered(strconv.Itoa(j), func() ([]byte, error) { return make([]byte, 300<<10), nil })
			if err != nil || len(text) != 300<<10 {
				t.Fatal(err)
			}
		}
		var kept, texts int
		for _, id := range cache.byID.Keys() {
			kept += sizes[id]
		}
		for _, key := range cache.texts.Keys() {
			text, _ := cache.texts.Peek(key)
			texts += len(text.([]byte))
		}
		if kept > snapshotBytes || kept != cache.byID.Size() || texts > cache.texts.Size() || cache.texts.Size() > textBytes {
			t.Fatalf("%d bytes of changes, counted as %d, %d of texts, counted as %d", kept, cache.byID.Size(), texts, cache.texts.Size())
		}
	}
	again, err := cache.get(t.Context(), "99")
	if err != nil || again != all[99] {
		t.Error("the last change is not in the cache")
	}
}

// large is a store with large changes.
type large struct{ Store }

func (large) Content(_ context.Context, id string) (Content, error) {
	return Content{EventChange: &topic.EventChange{ID: id, Event: topic.Event{DescriptionText: strings.Repeat("x", 700<<10)}}}, nil
}
