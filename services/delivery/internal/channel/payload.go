package channel

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	payloadVersion = 1
	payloadLimit   = 20_000 // bytes of a whole body
	idRoom         = 64     // of them for the id in front
)

// payload is what a webhook is told, but for the id, which is each delivery's own and
// is put in front of the rest, which many share.
type payload struct {
	Kind          topic.Kind       `json:"kind"`
	Version       int              `json:"version"`
	CreatedAt     stamp            `json:"createdAt"`
	Sequence      int64            `json:"sequence"`
	Truncated     bool             `json:"truncated,omitempty"`
	Dashboard     payloadDashboard `json:"dashboard"`
	Event         payloadEvent     `json:"event"`
	TimelineEntry *payloadEntry    `json:"timelineEntry"`
}

type payloadDashboard struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

type payloadEvent struct {
	ID                 string             `json:"id"`
	LegacyID           int64              `json:"legacyId"`
	Type               string             `json:"type"`
	Title              string             `json:"title"`
	Status             string             `json:"status"`
	PreviousStatus     *string            `json:"previousStatus"`
	Severity           *string            `json:"severity"`
	StartAt            stamp              `json:"startAt"`
	EndAt              *stamp             `json:"endAt"`
	ScheduledStartAt   *stamp             `json:"scheduledStartAt"`
	ScheduledEndAt     *stamp             `json:"scheduledEndAt"`
	URL                string             `json:"url"`
	AffectedComponents []payloadComponent `json:"affectedComponents"`
}

type payloadComponent struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Group  string `json:"group"`
	Impact string `json:"impact"`
}

type payloadEntry struct {
	StatusID    string `json:"statusId"`
	Status      string `json:"status"`
	Timestamp   stamp  `json:"timestamp"`
	MessageText string `json:"messageText"`
	MessageHTML string `json:"messageHtml"`
}

// stamp is a time as ISO 8601 in UTC with milliseconds.
type stamp time.Time

// MarshalText writes it.
func (s stamp) MarshalText() ([]byte, error) {
	return time.Time(s).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

func stampOf(t *time.Time) *stamp {
	if t == nil {
		return nil
	}
	s := stamp(*t)
	return &s
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// bodyOf is the whole body of a delivery: its id in front of what it shares with others.
func bodyOf(id string, shared []byte) []byte {
	body := make([]byte, 0, len(id)+len(shared)+8)
	body = append(body, `{"id":"`...)
	body = append(body, id...)
	body = append(body, `",`...)
	return append(body, shared[1:]...)
}

// render writes everything but the id, for one dashboard and the components a receiver
// hears of. HTML is not escaped. What is too long is cut and said to be.
func render(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	p := compose(change, dashboard, components)
	text, err := write(p)
	if err != nil || len(text) <= payloadLimit-idRoom {
		return text, err
	}
	return shorten(p)
}

func compose(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) payload {
	event := change.Event
	p := payload{
		Kind: change.Kind, Version: payloadVersion, CreatedAt: stamp(change.OccurredAt), Sequence: change.Sequence,
		Dashboard: payloadDashboard(dashboard),
		Event: payloadEvent{
			ID: event.ID, LegacyID: event.LegacyID, Type: event.Type, Title: event.Title, Status: event.Status,
			PreviousStatus: orNull(event.PreviousStatus), Severity: orNull(event.Severity),
			StartAt: stamp(event.StartAt), EndAt: stampOf(event.EndAt),
			ScheduledStartAt: stampOf(event.ScheduledStartAt), ScheduledEndAt: stampOf(event.ScheduledEndAt),
			URL: eventURL(dashboard.URL, event.ID), AffectedComponents: make([]payloadComponent, len(components)),
		},
	}
	for i, c := range components {
		p.Event.AffectedComponents[i] = payloadComponent{c.ID, c.Name, c.Group, c.Impact}
	}
	if entry := change.Entry; entry != nil {
		p.TimelineEntry = &payloadEntry{entry.StatusID, entry.Status, stamp(entry.Timestamp), entry.Text, entry.HTML}
	}
	return p
}

// eventURL is where visitors of the dashboard read about the event.
func eventURL(dashboard, event string) string {
	return strings.TrimSuffix(dashboard, "/") + "/events/" + event
}

// shorten cuts the message, and if that is not enough the list of components, until
// the payload fits. Cut HTML would be broken HTML, so the cut text stands for it.
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

// cut keeps at most n bytes of the text, whole characters, and marks that it goes on.
func cut(text string, n int) string {
	if n >= len(text) {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

func write(p payload) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
