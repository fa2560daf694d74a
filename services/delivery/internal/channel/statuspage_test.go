package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// bodyAsStatuspage returns the body about a change for a webhook with the format statuspage, and its members.
func bodyAsStatuspage(t *testing.T, change topic.EventChange, components []topic.Component, ask PageStatus) ([]byte, map[string]any) {
	t.Helper()
	hook := webhook{states: newPageStates(ask)}
	to := topic.Destination{Dashboard: dashboard, Format: topic.FormatStatuspage}
	body, _, err := hook.body(t.Context(), dispatch.Message{Change: &dispatch.Snapshot{EventChange: change}, To: &to, Components: components})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return body, members
}

func unanswered(context.Context, string, string) (topic.PageStatus, error) {
	return topic.PageStatus{}, errors.New("events is down")
}

// The longest event fits into the limit of a body. The update keeps the beginning of its text, and the list its first
// components.
func TestTheLongestEventFitsAsStatuspage(t *testing.T) {
	change := told(topic.Wording{})
	change.Event.Title = strings.Repeat("Ü", 250)
	change.Entry.Text = strings.Repeat("\"<é> ", 10_000)
	components := many(500, strings.Repeat("name ", 20))
	for _, c := range components {
		change.Entry.Impacts = append(change.Entry.Impacts, topic.ImpactChange{ComponentID: c.ID, Before: "operational", Impact: c.Impact})
	}
	body, members := bodyAsStatuspage(t, change, components, unanswered)
	incident := members["incident"].(map[string]any)
	shown := incident["components"].([]any)
	if len(body) > payloadLimit || len(shown) < 10 || incident["name"] != change.Event.Title {
		t.Errorf("%d bytes with %d components: %s", len(body), len(shown), body)
	}
	change.Entry.Impacts = nil
	body, members = bodyAsStatuspage(t, change, components[:1], unanswered)
	text := members["incident"].(map[string]any)["incident_updates"].([]any)[0].(map[string]any)["body"].(string)
	if len(body) > payloadLimit || len(text) < 8_000 || !strings.HasPrefix(change.Entry.Text, strings.TrimSuffix(text, "…")) {
		t.Errorf("%d bytes with a text of %d: %s", len(body), len(text), body)
	}
}

// Without a response of the events service, the page has the state of the event. A change of an older version lacks some
// times, and the body then has null.
func TestWhatAMessageDoesNotKnowIsNull(t *testing.T) {
	change := told(topic.Wording{})
	change.Event.CreatedAt, change.Entry.CreatedAt = time.Time{}, time.Time{}
	change.Event.Status, change.Event.EndAt, change.Entry.Status = "investigating", nil, "investigating"
	for impact, want := range map[string][3]string{
		"operational": {"none", "none", "All Systems Operational"}, "degraded_performance": {"minor", "minor", "Partially Degraded Service"},
		"partial_outage": {"major", "major", "Partial System Outage"}, "major_outage": {"critical", "critical", "Major System Outage"},
		"under_maintenance": {"none", "maintenance", "Service Under Maintenance"},
	} {
		components := slices.Clone(change.Event.Components[:1])
		components[0].Impact, components[0].Worst = impact, impact
		body, members := bodyAsStatuspage(t, change, components, unanswered)
		page, incident := members["page"].(map[string]any), members["incident"].(map[string]any)
		if got := [3]string{fmt.Sprint(incident["impact"]), fmt.Sprint(page["status_indicator"]), fmt.Sprint(page["status_description"])}; got != want {
			t.Errorf("%s: %v, want %v", impact, got, want)
		}
		for _, name := range []string{"created_at", "resolved_at", "monitoring_at"} {
			if value, there := incident[name]; !there || value != nil {
				t.Errorf("%s is %v in %s", name, value, body)
			}
		}
	}
}

// The messages of a change ask once for the state of a dashboard, and the next change asks again.
func TestTheMessagesOfAChangeShareTheStateOfAPage(t *testing.T) {
	var asked atomic.Int64
	states := newPageStates(func(_ context.Context, organization, dashboard string) (topic.PageStatus, error) {
		return topic.PageStatus{Indicator: fmt.Sprint(organization, dashboard, asked.Add(1))}, nil
	})
	first, second := topic.EventChange{ID: "1", Organization: "o"}, topic.EventChange{ID: "2", Organization: "o"}
	for range 10 {
		if got := states.present(t.Context(), &first, "d").Indicator; got != "od1" {
			t.Fatalf("the state is %s", got)
		}
	}
	if got := states.present(t.Context(), &second, "d").Indicator; got != "od2" {
		t.Errorf("the state for the second change is %s", got)
	}
}

// A webhook shows public ids in place of the ids of the platform, except in the address of the event.
func TestAStatuspageWebhookShowsPublicIDs(t *testing.T) {
	change := told(topic.Wording{})
	id := func(n int) string { return fmt.Sprintf("0190a000-0000-7000-8000-%012d", n) }
	change.Event.ID, change.Event.PublicID, change.Entry.StatusID, change.Entry.PublicID = id(1), "incident", id(2), "update"
	components := many(2, "API")
	for i := range components {
		components[i].ID, components[i].PublicID = id(10+i), fmt.Sprint("component-", i)
	}
	change.Entry.Impacts = []topic.ImpactChange{{ComponentID: id(11), Before: "operational", Impact: "major_outage"}}
	on := dashboard
	on.ID, on.PublicID = id(3), "page"
	for _, entry := range []*topic.Entry{change.Entry, nil} {
		change.Entry = entry
		body, err := renderStatuspage(&change, on, components, topic.PageStatus{})
		if err != nil {
			t.Fatal(err)
		}
		text := string(body)
		if left := strings.ReplaceAll(text, "/events/"+id(1), ""); strings.Contains(left, "0190a000") {
			t.Errorf("the body has an id of the platform: %s", text)
		}
		for _, want := range []string{`"id":"page"`, `"page_id":"page"`, `"id":"incident"`, `"incident_id":"incident"`, `"id":"component-1"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the body lacks %s: %s", want, text)
			}
		}
		if entry != nil && !(strings.Contains(text, `"id":"update"`) && strings.Contains(text, `"code":"component-1"`)) {
			t.Errorf("the update has other ids: %s", text)
		}
	}
}
