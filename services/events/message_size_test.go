package events_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A write whose message Kafka would not take is refused. The same write is stored if it notifies nobody: its message then
// has no texts, and does not stop the later messages of the event.
func TestNoMessageIsTooLargeForKafka(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	long := func(n int) string { return strings.Repeat("&", n) } // the message has each text twice, the second time with 10 bytes for each character
	var components []string
	for range 100 {
		made := p.must(http.StatusCreated, "app admin a", "POST", "/app/components", `{"name": "`+long(100)+`", "groupName": "`+long(100)+`"}`)
		components = append(components, fmt.Sprintf(`{"componentId": "%s"}`, made["component"].(map[string]any)["id"]))
	}
	body := `{"title": "T", "type": "incident", "description": "` + long(20000) + `", "impactAnalysis": "` + long(8000) + `", "initialTimelineMessage": "` + long(20000) +
		`", "affectedComponents": [` + strings.Join(components, ", ") + `]`
	refused := p.must(http.StatusConflict, "app admin a", "POST", "/app/events", body+"}")
	if text, _ := refused["error"].(string); !strings.Contains(text, "900 kB") {
		t.Error(refused)
	}
	event := p.must(http.StatusCreated, "app admin a", "POST", "/app/events", body+`, "notify": false}`)["event"].(map[string]any)
	p.must(http.StatusConflict, "app admin a", "POST", "/app/events/"+event["id"].(string)+"/timeline", `{"message": "`+long(20000)+`"}`)
	p.must(http.StatusCreated, "app admin a", "POST", "/app/events/"+event["id"].(string)+"/timeline", `{"message": "m"}`)
	changes := heard.of(t, int64(event["legacyId"].(float64)), 2)
	if first, second := changes[0], changes[1]; first.Event.DescriptionText != "" || first.Entry.HTML != "" || len(first.Event.Components) != 100 ||
		len(second.Event.DescriptionText) != 20000 || second.Entry.Text != "m" || len(second.Event.Components[99].Dashboards) != 1 {
		t.Errorf("the messages have descriptions of %d and %d bytes", len(first.Event.DescriptionText), len(second.Event.DescriptionText))
	}
}
