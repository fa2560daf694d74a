package dispatch

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestComponentsFor(t *testing.T) {
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
		for _, component := range change.componentsFor(&row.to, nil) {
			ids = append(ids, component.ID)
		}
		if got := strings.Join(ids, " "); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// The cache of changes and the texts of all changes are bounded in bytes.
func TestSnapshots_bounded(t *testing.T) {
	store := plainParts{}
	cache := newSnapshots(large{store})
	var all []*Snapshot
	for i := range 100 {
		s, err := cache.get(t.Context(), strconv.Itoa(i))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		for j := range 40 {
			text, err := all[max(0, i-j)].Rendered(strconv.Itoa(j), func() ([]byte, error) { return make([]byte, 300<<10), nil })
			if err != nil || len(text) != 300<<10 {
				t.Fatal(err)
			}
		}
		var kept, texts int
		for _, s := range cache.order {
			kept += bytesOf(&s.EventChange)
		}
		for _, s := range all {
			for _, text := range s.texts {
				texts += len(text)
			}
		}
		if kept > snapshotBytes || len(cache.byID) != len(cache.order) || texts > textBytes || cache.room.Load() < 0 {
			t.Fatalf("%d bytes of changes, %d of texts, room for %d", kept, texts, cache.room.Load())
		}
	}
	again, err := cache.get(t.Context(), "99")
	if err != nil || again != all[99] {
		t.Error("the last change is not in the cache")
	}
	again.leave()
	for _, s := range cache.order {
		s.leave()
	}
	if room := cache.room.Load(); room != textBytes {
		t.Errorf("room for %d after all have left", room)
	}
}

// large is a store with large changes.
type large struct{ Store }

func (large) Content(_ context.Context, id string) (Content, error) {
	return Content{EventChange: &topic.EventChange{ID: id, Event: topic.Event{DescriptionText: strings.Repeat("x", 700<<10)}}}, nil
}
