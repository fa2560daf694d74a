package events_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// heardOf returns a message as "kind to channels about components", and whether it has a link.
func heardOf(change topic.EventChange) string {
	var names []string
	shown := false
	for _, component := range change.Event.Components {
		names = append(names, component.Name)
		shown = shown || !component.Hidden
	}
	channels := slices.Sorted(maps.Keys(change.Notify))
	to := "nobody"
	switch {
	case slices.Equal(channels, topic.AppChannels()):
		to = "all"
	case len(channels) > 0:
		to = strings.Trim(fmt.Sprint(channels), "[]")
	}
	text := fmt.Sprintf("%s to %s about %s", change.Kind, to, strings.Join(names, "+"))
	if change.Event.Hidden || !shown {
		text += ", no link"
	}
	return text
}

// act is a request that creates an event, or is about the event: its default members are those of defaultsOf.
type act struct {
	do, members string
	want        string // the message; "": none
}

// requests sends acts about one event.
type requests struct {
	*platform
	words    *strings.Replacer // replaces the names of members
	id       string
	legacyID int64
	entry    string // the first one
}

func (r *requests) defaults(of string) string {
	switch of {
	case "incident":
		return `{"title": "T", "type": "incident", "initialTimelineMessage": "m", "affectedComponents": [<shop>]}`
	case "maintenance":
		return `{"title": "T", "type": "maintenance", "affectedComponents": [<shop>], "scheduledStartAt": "tomorrow", "scheduledEndAt": "the day after"}`
	case "legacy incident":
		return `{"type": "/api/v1/type/1/", "status": "/api/v1/status/2/", "description": "d", "start": "2026-01-02T03:04:05", "event_service": [(shop)]}`
	}
	return "{}"
}

func (r *requests) body(a act) string {
	body := map[string]any{}
	for _, members := range []string{r.defaults(a.do), "{" + a.members + "}"} {
		if err := json.Unmarshal([]byte(r.words.Replace(members)), &body); err != nil {
			r.t.Fatalf("%s: %v", members, err)
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// act sends the request, and notes the ids in the response to a create.
func (r *requests) act(heard tape, a act) {
	r.t.Helper()
	method, path, _ := strings.Cut(a.do, " ")
	switch a.do {
	case "incident", "maintenance":
		event := r.must(http.StatusCreated, "app admin a", "POST", "/app/events", r.body(a))["event"].(map[string]any)
		r.id, r.legacyID = event["id"].(string), int64(event["legacyId"].(float64))
		for _, entry := range event["timeline"].([]any) {
			r.entry = entry.(map[string]any)["statusId"].(string)
		}
	case "legacy incident":
		made := r.must(http.StatusCreated, "", "POST", "/api/v1/event/list/", r.body(a))
		if _, err := fmt.Sscanf(made["resource_uri"].(string), "/api/v1/event/list/%d/", &r.legacyID); err != nil {
			r.t.Fatal(err)
		}
		r.id = heard.of(r.t, r.legacyID, 1)[0].Event.ID
	case "legacy PUT":
		r.must(http.StatusOK, "", "PUT", fmt.Sprintf("/api/v1/event/list/%d/", r.legacyID), r.body(a))
	default:
		if got := r.platform.send("app admin a", method, "/app/events/"+r.id+strings.ReplaceAll(path, "{entry}", r.entry), r.body(a)); got.status >= 300 {
			r.t.Fatalf("%s %s returned %d %s", a.do, a.members, got.status, got.body)
		}
	}
}

// TestWhoIsNotifiedOfRequests checks the message of each request on the App and the legacy interface: its kind, the
// channels that it notifies, the components that it names, and whether receivers get a link.
func TestWhoIsNotifiedOfRequests(t *testing.T) {
	p := start(t, startBroker(t))
	heard := p.listen()
	var words []string
	for name, member := range map[string]string{"shop": "", "cellar": `, "hidden": true`, "quiet": `, "hiddenFromNotifications": true`} {
		made := p.must(http.StatusCreated, "app admin a", "POST", "/app/components", `{"name": "`+name+`"`+member+`}`)["component"].(map[string]any)
		words = append(words, "<"+name+">", fmt.Sprintf(`{"componentId": "%s"}`, made["id"]), "("+name+")", fmt.Sprintf(`"/api/v1/service/%.0f/"`, made["legacyId"]))
	}
	for word, from := range map[string]time.Duration{"50 min ago": -50 * time.Minute, "61 min ago": -61 * time.Minute, "tomorrow": 24 * time.Hour, "the day after": 48 * time.Hour} {
		words = append(words, word, p.now().Add(from).Format(time.RFC3339Nano))
	}
	for name, acts := range map[string][]act{
		"create": {
			{"incident", ``, "incident.created to all about shop"},
		},
		"notify true": {
			{"incident", `"notify": true`, "incident.created to all about shop"},
		},
		"notify false": {
			{"incident", `"notify": false`, "incident.created to nobody about shop"},
		},
		"no channel named": {
			{"incident", `"notify": {}`, "incident.created to nobody about shop"},
		},
		"channels that are off": {
			{"incident", `"notify": {"email": false}`, "incident.created to nobody about shop"},
		},
		"a channel": {
			{"incident", `"notify": {"email": true, "webhook": false}`, "incident.created to email about shop"},
		},
		"WhatsApp": {
			{"incident", `"notify": {"whatsapp": true, "sms": true}`, "incident.created to sms whatsapp about shop"},
		},
		"each channel": {
			{"incident", `"notify": {"discord": true, "email": true, "gchat": true, "slack": true, "sms": true, "teams": true, "webhook": true, "whatsapp": true}`, "incident.created to all about shop"},
		},
		"hidden component": {
			{"incident", `"affectedComponents": [<cellar>]`, "incident.created to all about cellar, no link"},
		},
		"hidden and shown component": {
			{"incident", `"affectedComponents": [<cellar>, <shop>]`, "incident.created to all about cellar+shop"},
		},
		"component that messages do not name": {
			{"incident", `"affectedComponents": [<quiet>], "notify": true`, "incident.created to nobody about , no link"},
		},
		"it and another": {
			{"incident", `"affectedComponents": [<quiet>, <shop>]`, "incident.created to all about shop"},
		},
		"hidden event": {
			{"incident", `"hiddenFromDashboard": true`, "incident.created to all about shop, no link"},
			{"PATCH", `"hiddenFromDashboard": false`, "incident.updated to nobody about shop"},
			{"PATCH", `"title": "t"`, "incident.updated to all about shop"},
		},
		"started within 1 h": {
			{"incident", `"startAt": "50 min ago"`, "incident.created to all about shop"},
		},
		"started earlier": {
			{"incident", `"startAt": "61 min ago"`, "incident.created to nobody about shop"},
			{"PATCH", `"title": "x"`, "incident.updated to all about shop"},
		},
		"started earlier, notify": {
			{"incident", `"startAt": "61 min ago", "notify": true`, "incident.created to all about shop"},
		},
		"backfilled": {
			{"incident", `"status": "resolved", "startAt": "61 min ago", "endAt": "50 min ago"`, "incident.created to nobody about shop"},
		},
		"draft": {
			{"incident", `"publish": false, "notify": true`, "incident.created to nobody about shop"},
			{"POST /timeline", `"message": "m", "notify": true`, "incident.updated to nobody about shop"},
			{"PATCH", `"publish": true`, "incident.created to all about shop"},
		},
		"draft, published to nobody": {
			{"incident", `"publish": false`, "incident.created to nobody about shop"},
			{"PATCH", `"publish": true, "notify": false`, "incident.created to nobody about shop"},
		},
		"backdated draft": {
			{"incident", `"publish": false, "startAt": "61 min ago"`, "incident.created to nobody about shop"},
			{"PATCH", `"publish": true`, "incident.created to nobody about shop"},
		},
		"backdated draft, notify": {
			{"incident", `"publish": false, "startAt": "61 min ago"`, "incident.created to nobody about shop"},
			{"PATCH", `"publish": true, "notify": {"sms": true}`, "incident.created to sms about shop"},
		},
		"unpublish": {
			{"incident", ``, "incident.created to all about shop"},
			{"PATCH", `"publish": false, "notify": true`, "incident.updated to nobody about shop"},
			{"PATCH", `"publish": true`, "incident.created to all about shop"},
		},
		"change": {
			{"incident", ``, "incident.created to all about shop"},
			{"PATCH", `"severity": "major_outage"`, "incident.updated to all about shop"},
			{"PATCH", `"severity": "major_outage"`, ""},
			{"PATCH", `"severity": "major_outage", "notify": {"gchat": true}`, "incident.updated to gchat about shop"},
			{"PATCH", `"externalId": "x"`, "incident.updated to nobody about shop"},
		},
		"timeline": {
			{"incident", ``, "incident.created to all about shop"},
			{"POST /timeline", `"message": "m", "status": "identified"`, "incident.updated to all about shop"},
			{"POST /timeline", `"message": "m", "timestamp": "50 min ago"`, "incident.updated to all about shop"},
			{"POST /timeline", `"message": "m", "timestamp": "61 min ago"`, "incident.updated to nobody about shop"},
			{"POST /timeline", `"message": "m", "timestamp": "61 min ago", "notify": true`, "incident.updated to all about shop"},
			{"PUT /timeline/{entry}", `"message": "another"`, "incident.updated to nobody about shop"},
			{"DELETE /timeline/{entry}", ``, "incident.updated to nobody about shop"},
		},
		"note": {
			{"incident", ``, "incident.created to all about shop"},
			{"POST /notes", `"note": "n"`, "incident.updated to nobody about shop"},
		},
		"reopen": {
			{"incident", ``, "incident.created to all about shop"},
			{"POST /timeline", `"message": "m", "status": "resolved"`, "incident.resolved to all about shop"},
			{"POST /reopen", `"message": "m"`, "incident.reopened to all about shop"},
		},
		"post-mortem": {
			{"incident", `"status": "resolved"`, "incident.created to all about shop"},
			{"PUT /post-mortem", `"summary": "s", "notify": true`, "incident.updated to nobody about shop"},
			{"PUT /post-mortem", `"summary": "s", "published": true`, "incident.post_mortem_published to all about shop"},
			{"PUT /post-mortem", `"summary": "s", "published": false, "notify": true`, "incident.updated to nobody about shop"},
			{"DELETE /post-mortem", ``, "incident.updated to nobody about shop"},
		},
		"delete": {
			{"incident", ``, "incident.created to all about shop"},
			{"DELETE", ``, "incident.updated to nobody about shop"},
		},
		"maintenance": {
			{"maintenance", ``, "maintenance.scheduled to all about shop"},
			{"PATCH", `"reminderMinutes": [5]`, "maintenance.updated to nobody about shop"},
			{"PATCH", `"scheduledEndAt": "the day after", "scheduledStartAt": "tomorrow"`, ""},
			{"PATCH", `"scheduledEndAt": "2099-01-01T00:00:00Z"`, "maintenance.rescheduled to all about shop"},
			{"POST /timeline", `"message": "m", "status": "started"`, "maintenance.started to all about shop"},
			{"POST /timeline", `"message": "m", "status": "completed"`, "maintenance.completed to all about shop"},
			{"POST /reopen", `"message": "m"`, "maintenance.reopened to all about shop"},
		},
		"draft of a maintenance": {
			{"maintenance", `"publish": false`, "maintenance.scheduled to nobody about shop"},
			{"PATCH", `"scheduledEndAt": "2099-01-01T00:00:00Z"`, "maintenance.rescheduled to nobody about shop"},
			{"PATCH", `"publish": true`, "maintenance.scheduled to all about shop"},
		},
		"legacy": {
			{"legacy incident", ``, "incident.created to nobody about shop"},
			{"legacy PUT", `"description": "x"`, "incident.updated to nobody about shop"},
			{"PATCH", `"title": "y"`, "incident.updated to all about shop"},
		},
		"legacy, null, none and unknown": {
			{"legacy incident", `"notifications": null`, "incident.created to nobody about shop"},
			{"legacy PUT", `"severity": {"id": 4}, "notifications": {}`, "incident.updated to nobody about shop"},
			{"legacy PUT", `"severity": {"id": 3}, "notifications": {"pigeon": {"enabled": true}}`, "incident.updated to nobody about shop"},
		},
		"legacy notifications": {
			{"legacy incident", `"notifications": {"email": {"enabled": true}, "sms": {"enabled": false}, "chatroom": {"enabled": true}}`, "incident.created to chatroom email about shop"},
			{"legacy PUT", `"notifications": {"webhook": {"enabled": true}}`, "incident.updated to webhook about shop"},
			{"legacy PUT", `"notifications": {"workspace": {"enabled": true, "details": true, "channels": ["7"]}}`, "incident.updated to slack about shop"},
			{"legacy PUT", `"severity": {"id": 4}, "notifications": {"slack": {"enabled": true}, "discord": {"enabled": true}}`, "incident.updated to nobody about shop"},
		},
		"legacy hidden": {
			{"legacy incident", `"hidden_db": true, "notifications": {"email": {"enabled": true}}`, "incident.created to email about shop, no link"},
			{"POST /timeline", `"message": "m"`, "incident.updated to all about shop, no link"},
		},
		"legacy, component that messages do not name": {
			{"legacy incident", `"event_service": [(quiet)], "notifications": {"email": {"enabled": true}}`, "incident.created to nobody about , no link"},
		},
		"legacy event of the App": {
			{"incident", `"publish": false`, "incident.created to nobody about shop"},
			{"legacy PUT", `"description": "x", "notifications": {"email": {"enabled": true}}`, "incident.updated to nobody about shop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := requests{platform: p.in(t), words: strings.NewReplacer(words...)}
			var want []string
			for _, a := range acts {
				r.act(heard, a)
				if a.want != "" {
					want = append(want, a.want)
				}
			}
			for i, change := range heard.of(t, r.legacyID, len(want)) {
				if got := heardOf(change); got != want[i] {
					t.Errorf("message %d: %s, want %s", i+1, got, want[i])
				}
			}
		})
	}
}
