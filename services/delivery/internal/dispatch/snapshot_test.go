package dispatch

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
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

// The cache of changes and the texts of all changes are bounded in bytes.
func TestTheCachesOfChangesAndTextsAreBounded(t *testing.T) {
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
		for _, s := range cache.byID.values.Values() {
			kept += bytesOf(&s.value.EventChange)
		}
		for _, text := range cache.texts.values.Values() {
			texts += len(text.value.([]byte))
		}
		if kept > snapshotBytes || kept != cache.byID.bytes || texts > textBytes || cache.texts.bytes > textBytes {
			t.Fatalf("%d bytes of changes, counted as %d, %d of texts, counted as %d", kept, cache.byID.bytes, texts, cache.texts.bytes)
		}
	}
	again, err := cache.get(t.Context(), "99")
	if err != nil || again != all[99] {
		t.Error("the last change is not in the cache")
	}
	cache.byID.values.Purge()
	cache.texts.values.Purge()
	if cache.byID.bytes != 0 || cache.texts.bytes != 0 {
		t.Errorf("%d and %d bytes after all were evicted", cache.byID.bytes, cache.texts.bytes)
	}
}

// large is a store with large changes.
type large struct{ Store }

func (large) Content(_ context.Context, id string) (Content, error) {
	return Content{EventChange: &topic.EventChange{ID: id, Event: topic.Event{DescriptionText: strings.Repeat("x", 700<<10)}}}, nil
}
