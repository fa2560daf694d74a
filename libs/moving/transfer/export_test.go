package transfer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// An export keeps a subscriber with any language tag that the platform takes, and names what is lost: a lock, a confirmation of some
// components, and what is on no dashboard.
func TestAnExportNamesWhatIsLost(t *testing.T) {
	p := &platform{t: t, responses: map[string]any{
		"GET /app/dashboards": `{"dashboards": [{"id": "d", "slug": "acme", "name": "Acme", "legacyId": 1, "components": [{"componentId": "c"}]}]}`,
		"GET /app/components": `{"components": [{"id": "c", "name": "Gate", "groupName": "default", "dashboardIds": ["d"]}, {"id": "x", "name": "Pier", "groupName": "default"}]}`,
		"GET /app/events/export": `{"events": [{"id": "e", "type": "incident", "title": "Pier", "status": "resolved", "startAt": "2025-01-01T00:00:00Z", "components": [{"componentId": "x"}]},
			{"id": "f", "type": "incident", "title": "Gate", "status": "resolved", "startAt": "2025-01-01T00:00:00Z", "components": [{"componentId": "c"}]}]}`,
		"GET /app/subscribers/email": `{"subscribers": [{"email": "ada@example.com", "confirmed": true, "locale": "de-AT"}, {"email": "bob@example.com", "partlyConfirmed": true},
			{"email": "eve@example.com", "confirmed": true, "locked": true}, {"email": "kim@example.com"}]}`,
	}}
	lost := func(slug string) (all []string) {
		t.Helper()
		set, err := transfer.Export(t.Context(), p, slug)
		if err != nil || len(set.Subscribers) != 4 || set.Subscribers[0].Locale != "de-AT" || len(set.Events) != 1 {
			t.Fatalf("%v, %+v", err, set)
		}
		for _, w := range set.Warnings {
			all = append(all, fmt.Sprint(w.Key, " ", w.Field, " ", strings.Fields(w.Text)[0]))
		}
		return all
	}
	people := []string{"bellbuoy:email:bob@example.com state the", "bellbuoy:email:eve@example.com locked the"}
	if got, want := lost(""), append([]string{"bellbuoy:export:components dashboardIds 1", "bellbuoy:export:events components 1"}, people...); !slices.Equal(got, want) {
		t.Errorf("the whole export lost %q", got)
	}
	if got := lost("acme"); !slices.Equal(got, people) {
		t.Errorf("the export of a dashboard lost %q", got)
	}
}
