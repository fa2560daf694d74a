package channel

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func encode(key []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(key) }

func sample() topic.EventChange {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8_000_000, time.UTC)
	end := at.Add(time.Hour)
	return topic.EventChange{
		ID: "c", Kind: topic.IncidentResolved, OccurredAt: at, Sequence: 3,
		Event: topic.Event{ID: "e", LegacyID: 9, Type: "incident", Title: "A & B <fail>", Status: "resolved", PreviousStatus: "monitoring",
			Severity: "minor_outage", StartAt: at, EndAt: &end, Components: []topic.Component{{ID: "k", Name: "API", Group: "Core", Impact: "partial_outage", Dashboards: []string{"d"}}}},
		Entry: &topic.Entry{StatusID: "s", Status: "resolved", Timestamp: at, Text: "Fixed.", HTML: "<p>Fixed.</p>"},
	}
}

var dashboard = topic.Dashboard{ID: "d", Name: "Status", URL: "https://status.test/d/main/"}

// The whole body. Receivers depend on it.
func TestTheBodyOfAWebhookIsAsDocumented(t *testing.T) {
	change := sample()
	shared, err := render(&change, dashboard, change.Event.Components)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"x","kind":"incident.resolved","version":1,"createdAt":"2026-03-04T05:06:07.008Z","sequence":3,` +
		`"dashboard":{"id":"d","name":"Status","url":"https://status.test/d/main/"},` +
		`"event":{"id":"e","legacyId":9,"type":"incident","title":"A & B <fail>","status":"resolved","previousStatus":"monitoring","severity":"minor_outage",` +
		`"startAt":"2026-03-04T05:06:07.008Z","endAt":"2026-03-04T06:06:07.008Z","scheduledStartAt":null,"scheduledEndAt":null,` +
		`"url":"https://status.test/d/main/events/e","affectedComponents":[{"id":"k","name":"API","group":"Core","impact":"partial_outage"}]},` +
		`"timelineEntry":{"statusId":"s","status":"resolved","timestamp":"2026-03-04T05:06:07.008Z","messageText":"Fixed.","messageHtml":"<p>Fixed.</p>"}}`
	if got := string(bodyOf("x", shared)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	change.Entry, change.Event.PreviousStatus, change.Event.Severity, change.Event.EndAt = nil, "", "", nil
	shared, err = render(&change, dashboard, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"previousStatus":null,"severity":null`, `"endAt":null`, `"affectedComponents":[]`, `"timelineEntry":null`} {
		if !strings.Contains(string(shared), part) {
			t.Errorf("%s is not in %s", part, shared)
		}
	}
}

// With any text that is too long, the body stays below its limit, is JSON and is marked as truncated.
func TestATooLongBodyOfAWebhookIsTruncatedAndMarked(t *testing.T) {
	for name, stretch := range map[string]func(*topic.EventChange){
		"text":       func(c *topic.EventChange) { c.Entry.Text = strings.Repeat("ü", 20_000) },
		"html":       func(c *topic.EventChange) { c.Entry.HTML = strings.Repeat("<b>x</b>", 5_000) },
		"quotes":     func(c *topic.EventChange) { c.Entry.Text = strings.Repeat("\"<&", 8_000) },
		"components": func(c *topic.EventChange) { c.Event.Components = many(100, strings.Repeat("\\", 100)) },
		"all": func(c *topic.EventChange) {
			c.Entry.Text, c.Entry.HTML = strings.Repeat("\x01", 20_000), strings.Repeat("\x01", 20_000)
			c.Event.Components = many(100, strings.Repeat("\x01", 100))
		},
	} {
		change := sample()
		stretch(&change)
		shared, err := render(&change, dashboard, change.Event.Components)
		if err != nil {
			t.Fatal(err)
		}
		body := bodyOf("0190a000-0000-7000-8000-000000000001", shared)
		var got struct {
			Truncated bool
			Event     struct{ AffectedComponents []any }
			Entry     struct{ MessageText string } `json:"timelineEntry"`
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(body) > payloadLimit || name != "html" && len(body) < payloadLimit/4 || !got.Truncated || !utf8.Valid(body) || len(got.Event.AffectedComponents) == 0 {
			t.Errorf("%s: %d bytes, truncated %v, %d components", name, len(body), got.Truncated, len(got.Event.AffectedComponents))
		}
	}
}

func many(n int, name string) []topic.Component {
	out := make([]topic.Component, n)
	for i := range out {
		out[i] = topic.Component{ID: fmt.Sprintf("0190a000-0000-7000-8000-%012d", i), Name: name, Group: name, Impact: "degraded_performance"}
	}
	return out
}

func TestRetryAfterIsReadAsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "5": 5 * time.Second, " 7 ": 7 * time.Second, "-1": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
