package channel

import (
	"bytes"
	"encoding/json"
	"html"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	payloadVersion = 1
	payloadLimit   = 20_000 // bytes of a whole body
	idRoom         = 64     // bytes of the body that are reserved for the id
)

// payload is the body of a webhook without the delivery's id. Many deliveries share a payload.
type payload struct {
	Kind          topic.Kind       `json:"kind"`
	Version       int              `json:"version"`
	CreatedAt     topic.Time       `json:"createdAt"`
	Sequence      int64            `json:"sequence"`
	Truncated     bool             `json:"truncated,omitempty"`
	Dashboard     payloadDashboard `json:"dashboard"`
	Event         payloadEvent     `json:"event"`
	TimelineEntry *payloadEntry    `json:"timelineEntry"`
}

type payloadDashboard struct {
	ID   string  `json:"id"`
	Name string  `json:"name"`
	URL  *string `json:"url"` // null: the dashboard has no URL, or event.url is null, except in a test of an endpoint
}

type payloadEvent struct {
	ID                 string             `json:"id"`
	LegacyID           int64              `json:"legacyId"`
	Type               string             `json:"type"`
	Title              string             `json:"title"`
	Status             string             `json:"status"`
	PreviousStatus     *string            `json:"previousStatus"`
	Severity           *string            `json:"severity"`
	StartAt            topic.Time         `json:"startAt"`
	EndAt              *topic.Time        `json:"endAt"`
	ScheduledStartAt   *topic.Time        `json:"scheduledStartAt"`
	ScheduledEndAt     *topic.Time        `json:"scheduledEndAt"`
	URL                *string            `json:"url"` // null: the dashboard has no URL or does not show the event
	AffectedComponents []payloadComponent `json:"affectedComponents"`
}

type payloadComponent struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Group  string `json:"group"`
	Impact string `json:"impact"`
}

type payloadEntry struct {
	StatusID    string     `json:"statusId"`
	Status      string     `json:"status"`
	Timestamp   topic.Time `json:"timestamp"`
	MessageText string     `json:"messageText"`
	MessageHTML string     `json:"messageHtml"`
}

// bodyOf returns the whole body of a delivery: the id, then the shared payload.
func bodyOf(id string, shared []byte) []byte {
	body := make([]byte, 0, len(id)+len(shared)+8)
	body = append(body, `{"id":"`...)
	body = append(body, id...)
	body = append(body, `",`...)
	return append(body, shared[1:]...)
}

// render returns the payload for a dashboard and components as JSON. The JSON does not escape HTML. render shortens a
// payload that is too long, and marks it as truncated.
func render(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	p := compose(change, dashboard, components)
	text, err := write(p)
	if err != nil || len(text) <= payloadLimit-idRoom {
		return text, err
	}
	return shorten(p)
}

func compose(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) payload {
	event, link := change.Event, eventURL(dashboard, &change.Event, components)
	home := dashboard.URL
	if link == "" && change.Kind != topic.EndpointTest {
		home = ""
	}
	p := payload{
		Kind: change.Kind, Version: payloadVersion, CreatedAt: topic.Time(change.OccurredAt), Sequence: change.Sequence,
		Dashboard: payloadDashboard{dashboard.ID, dashboard.Name, optional.OrNull(home)},
		Event: payloadEvent{
			ID: event.ID, LegacyID: event.LegacyID, Type: event.Type, Title: event.Title, Status: event.Status,
			PreviousStatus: optional.OrNull(event.PreviousStatus), Severity: optional.OrNull(event.Severity),
			StartAt: topic.Time(event.StartAt), EndAt: topic.TimeOf(event.EndAt),
			ScheduledStartAt: topic.TimeOf(event.ScheduledStartAt), ScheduledEndAt: topic.TimeOf(event.ScheduledEndAt),
			URL: optional.OrNull(link), AffectedComponents: make([]payloadComponent, len(components)),
		},
	}
	for i, c := range components {
		p.Event.AffectedComponents[i] = payloadComponent{c.ID, c.Name, c.Group, c.Impact}
	}
	if entry := change.Entry; entry != nil {
		p.TimelineEntry = &payloadEntry{entry.StatusID, entry.Status, topic.Time(entry.Timestamp), entry.Text, entry.HTML}
	}
	return p
}

// shorten shortens the text of the timeline entry, and then the list of components, until the payload fits. It replaces the
// HTML of the entry by the shortened text as HTML, because cut HTML would be invalid.
func shorten(p payload) ([]byte, error) {
	p.Truncated = true
	const room = payloadLimit - idRoom
	if entry := p.TimelineEntry; entry != nil {
		text := entry.MessageText
		for keep := len(text); keep > 0; keep = keep * 3 / 4 {
			entry.MessageText = cut(text, keep)
			entry.MessageHTML = "<p>" + html.EscapeString(entry.MessageText) + "</p>"
			if out, err := write(p); err != nil || len(out) <= room {
				return out, err
			}
		}
		entry.MessageText, entry.MessageHTML = "", ""
	}
	for {
		out, err := write(p)
		n := len(p.Event.AffectedComponents)
		if err != nil || len(out) <= room || n == 0 {
			return out, err
		}
		p.Event.AffectedComponents = p.Event.AffectedComponents[:n*3/4]
	}
}

// cut returns at most n bytes of the text, without a partial character, and an ellipsis if it removed bytes.
func cut(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// write returns value as JSON without escaped HTML.
func write(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
