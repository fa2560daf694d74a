package channel

import (
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	cardLimit = 24_000 // bytes of a whole body
	cardText  = 6_000  // bytes of one text in the first try to shorten the body
)

// cardMessage is the body for a workflow that posts to a channel: one Adaptive Card of version 1.4.
type cardMessage struct {
	Type        string           `json:"type"`
	Attachments []cardAttachment `json:"attachments"`
}

type cardAttachment struct {
	ContentType string   `json:"contentType"`
	ContentURL  *string  `json:"contentUrl"` // null
	Content     cardBody `json:"content"`
}

type cardBody struct {
	Schema  string `json:"$schema"`
	Type    string `json:"type"`
	Version string `json:"version"`
	Teams   struct {
		Width string `json:"width"`
	} `json:"msteams"`
	Fallback string        `json:"fallbackText"`
	Body     []cardElement `json:"body"`
	Actions  []cardAction  `json:"actions,omitempty"`
}

// cardElement is a TextBlock, or a Container of elements.
type cardElement struct {
	Type    string        `json:"type"`
	Style   string        `json:"style,omitempty"`
	Bleed   bool          `json:"bleed,omitempty"`
	Items   []cardElement `json:"items,omitempty"`
	Text    string        `json:"text,omitempty"`
	Size    string        `json:"size,omitempty"`
	Weight  string        `json:"weight,omitempty"`
	Subtle  bool          `json:"isSubtle,omitempty"`
	Wrap    bool          `json:"wrap,omitempty"`
	Spacing string        `json:"spacing,omitempty"`
}

type cardAction struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// prosePart is a text of the card: with markup if it fits, otherwise plain and shortened.
type prosePart struct{ plain, html string }

// within returns the text with at most keep bytes. A negative keep means the whole text.
func (p prosePart) within(keep int) string {
	switch {
	case keep >= 0 && len(p.plain) > keep:
		return richtext.CardPlain(cut(p.plain, keep))
	case keep >= 0 && len(p.html) > 4*keep, p.html == "":
		return richtext.CardPlain(p.plain)
	}
	return richtext.CardText(p.html)
}

// renderCard returns the body for a dashboard and components. If it is too long, renderCard shortens every text
// to the same length.
func renderCard(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	body, err := write(composeCard(change, dashboard, components, -1))
	for keep := cardText; err == nil && len(body) > cardLimit && keep > 0; keep = keep * 3 / 4 {
		body, err = write(composeCard(change, dashboard, components, keep))
	}
	return body, err
}

func composeCard(change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component, keep int) cardMessage {
	event, wording := change.Event, change.Notify[topic.Teams]
	head := []string{dashboard.Name, statusLine(change)}
	if event.Severity != "" {
		head = append(head, words(event.Severity))
	}
	card := cardBody{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Fallback: cut(event.Title, 200),
	}
	if link := eventURL(dashboard, &event, components); link != "" {
		card.Actions = []cardAction{{"Action.OpenUrl", "Open the event", link}}
	}
	card.Teams.Width = "Full"
	if wording.Message != "" {
		card.Body = append(card.Body, cardBlock(prosePart{plain: wording.Message}, keep))
	}
	title := cardBlock(prosePart{plain: event.Title}, keep)
	title.Size, title.Weight = "Large", "Bolder"
	status := cardBlock(prosePart{plain: strings.Join(head, " · ")}, keep)
	status.Subtle, status.Spacing = true, "None"
	card.Body = append(card.Body, cardElement{
		Type: "Container", Style: cardStyle(wording.Color, &event), Bleed: true, Items: []cardElement{title, status},
	})
	sections := []cardSection{{"Affected", prosePart{plain: cardComponents(components)}}}
	if entry := change.Entry; entry != nil {
		sections = append(sections, cardSection{words(entry.Status) + ", " + cardTime(entry.Timestamp), prosePart{entry.Text, entry.HTML}})
	}
	if wording.Details {
		sections = append(sections,
			cardSection{"Description", prosePart{event.DescriptionText, event.DescriptionHTML}},
			cardSection{"Impact", prosePart{event.ImpactText, event.ImpactHTML}},
			cardSection{"Coordinator", prosePart{event.CoordinatorText, event.CoordinatorHTML}})
	}
	if wording.Details || event.ScheduledStartAt != nil {
		sections = append(sections, cardSection{"Times", prosePart{plain: cardTimes(&event)}})
	}
	for _, section := range sections {
		if block := cardBlock(section.text, keep); block.Text != "" {
			block.Spacing = "Small"
			heading := cardBlock(prosePart{plain: section.name}, -1)
			heading.Weight = "Bolder"
			card.Body = append(card.Body, heading, block)
		}
	}
	return cardMessage{"message", []cardAttachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: card}}}
}

// cardSection is a text with a heading. The card omits an empty text.
type cardSection struct {
	name string
	text prosePart
}

// cardTimes returns the event's times, each in a line.
func cardTimes(event *topic.Event) string {
	var times []string
	for _, t := range []struct {
		name string
		at   *time.Time
	}{{"Scheduled from", event.ScheduledStartAt}, {"Scheduled until", event.ScheduledEndAt}, {"Start", &event.StartAt}, {"End", event.EndAt}} {
		if t.at != nil && !t.at.IsZero() {
			times = append(times, t.name+": "+cardTime(*t.at))
		}
	}
	return strings.Join(times, "\n")
}

func cardBlock(text prosePart, keep int) cardElement {
	return cardElement{Type: "TextBlock", Text: text.within(keep), Wrap: true}
}

func cardComponents(components []topic.Component) string {
	lines := make([]string, len(components))
	for i, c := range components {
		lines[i] = c.Name
		if c.Group != "" {
			lines[i] = c.Group + " / " + c.Name
		}
		if c.Impact != "" {
			lines[i] += " (" + strings.ToLower(words(c.Impact)) + ")"
		}
	}
	return strings.Join(lines, "\n")
}

func cardTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// cardStyle returns the style of the container with the title. Adaptive Cards have a few named styles instead
// of colors. A color becomes the style of the nearest hue: red is attention, orange and yellow are warning,
// green is good, blue and violet are accent, and gray is emphasis. Without a color, an ended event is good, a
// maintenance is accent, and an incident is attention.
func cardStyle(color string, event *topic.Event) string {
	if r, g, b, ok := hexColor(color); ok {
		return nearestStyle(r, g, b)
	}
	switch {
	case event.EndAt != nil:
		return "good"
	case event.Type == "maintenance":
		return "accent"
	default:
		return "attention"
	}
}

// hexColor parses a # and three or six hexadecimal digits.
func hexColor(color string) (r, g, b int, ok bool) {
	digits, found := strings.CutPrefix(color, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	value, err := strconv.ParseUint(digits, 16, 32)
	if !found || len(digits) != 6 || err != nil {
		return 0, 0, 0, false
	}
	return int(value >> 16), int(value >> 8 & 0xff), int(value & 0xff), true
}

func nearestStyle(r, g, b int) string {
	low, high := min(r, g, b), max(r, g, b)
	spread := high - low
	if spread < 40 {
		return "emphasis"
	}
	var hue int // in degrees
	switch high {
	case r:
		hue = (60*(g-b)/spread + 360) % 360
	case g:
		hue = 120 + 60*(b-r)/spread
	default:
		hue = 240 + 60*(r-g)/spread
	}
	switch {
	case hue < 20 || hue >= 320:
		return "attention"
	case hue < 70:
		return "warning"
	case hue < 170:
		return "good"
	default:
		return "accent"
	}
}
