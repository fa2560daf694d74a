package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// An event of 500 components on 50 dashboards notifies as before. The scheduler takes its step even if the texts are too
// large. It notifies nobody only if the dashboards alone are too many.
func TestALargeMessageIsShortened(t *testing.T) {
	for _, test := range []struct {
		name          string
		boards, texts int
		source        Source
		refused       bool
		text          bool // the message has the texts
		placed        int  // number of dashboards of a component in the message
	}{
		{"many dashboards", 50, 1000, SourceApp, false, true, 50},
		{"many dashboards and texts", 50, maxText, SourceApp, true, false, 0},
		{"a step with texts", 50, maxText, SourceScheduler, false, false, 50},
		{"a step with too many dashboards", 1000, 1000, SourceScheduler, false, false, 0},
	} {
		var ids []string
		for i := range test.boards {
			ids = append(ids, fmt.Sprintf("0190dddd-0000-7000-8000-%012d", i))
		}
		text := Rich{Text: strings.Repeat("&", test.texts), Format: "rich"}
		event := &Event{Published: true, Type: Maintenance, Status: Started, Title: "T", Description: text, Impact: text, Coordinator: text}
		near := affected{components: map[string]Component{}, dashboards: map[string][]string{}}
		for i := range maxLinks {
			id := fmt.Sprintf("0190cccc-0000-7000-8000-%012d", i)
			event.Links = append(event.Links, Link{ComponentID: id})
			near.components[id], near.dashboards[id] = Component{ID: id, Name: "Checkout of the shop", Group: "Shop"}, ids
		}
		d := NewEventEdit(event, Command{Source: test.source}, time.Now())
		d.notify = topic.Notify{topic.Email: {}}
		change, err := near.change(nil, d)
		if (err != nil) != test.refused || !test.refused && !fits(&change) {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.refused {
			continue
		}
		data, err := json.Marshal(change)
		if err != nil {
			t.Fatal(err)
		}
		var read topic.EventChange
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		if got := len(read.Event.Components[499].Dashboards); got != test.placed || (read.Event.DescriptionText != "") != test.text {
			t.Errorf("%s: %d dashboards, a description of %d bytes", test.name, got, len(read.Event.DescriptionText))
		}
	}
}
