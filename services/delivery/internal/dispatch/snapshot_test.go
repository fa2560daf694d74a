package dispatch

import (
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
		for _, component := range change.componentsFor(&row.to) {
			ids = append(ids, component.ID)
		}
		if got := strings.Join(ids, " "); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
