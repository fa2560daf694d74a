package channel

import (
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const cardLimit = 24_000 // bytes of a whole body

// teamsGap is the minimum time between two requests to one URL. A Teams workflow accepts four requests a second. The 10
// ms above a quarter of a second allow for different transmission times.
const teamsGap = 260 * time.Millisecond

// cardMessage is the body of the request to a Teams workflow: a message with one Adaptive Card of version 1.4. The
// workflow posts the card to a channel or chat of Teams.
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

// teamsMarkup never changes.
var teamsMarkup = cardMarkup{rich: richtext.CardText, plain: richtext.CardPlain}

// renderCard returns the body for a dashboard and components. If the body is too long, fitCard shortens the texts.
func renderCard(l *locale.Locale, change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	wording := change.Notify[topic.Teams]
	content := cardOf(l, change, wording, dashboard, components)
	style := cardStyle(wording.Color, change)
	return fitCard(cardLimit, bytesOf, func(keep int) cardMessage { return composeCard(content, style, keep) })
}

func composeCard(content card, style string, keep int) cardMessage {
	out := cardBody{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Fallback: cut(content.title, 200),
	}
	out.Teams.Width = "Full"
	if content.link.url != "" {
		out.Actions = []cardAction{{"Action.OpenUrl", content.link.title, content.link.url}}
	}
	if content.message != "" {
		out.Body = append(out.Body, cardBlock(prosePart{plain: content.message}, keep))
	}
	title := cardBlock(prosePart{plain: content.title}, keep)
	title.Size, title.Weight = "Large", "Bolder"
	status := cardBlock(prosePart{plain: strings.Join(append([]string{content.dashboard}, content.status...), " · ")}, keep)
	status.Subtle, status.Spacing = true, "None"
	out.Body = append(out.Body, cardElement{Type: "Container", Style: style, Bleed: true, Items: []cardElement{title, status}})
	for _, section := range content.sections {
		block := cardBlock(section.text, keep)
		if block.Text == "" {
			continue
		}
		if section.name != "" {
			block.Spacing = "Small"
			heading := cardBlock(prosePart{plain: section.name}, -1)
			heading.Weight = "Bolder"
			out.Body = append(out.Body, heading)
		}
		out.Body = append(out.Body, block)
	}
	return cardMessage{"message", []cardAttachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: out}}}
}

func cardBlock(text prosePart, keep int) cardElement {
	return cardElement{Type: "TextBlock", Text: text.within(keep, teamsMarkup), Wrap: true}
}

// cardStyle returns the style of the container with the title. Adaptive Cards have a few named styles instead of colors. A
// color becomes the style of the nearest hue: red is attention, orange and yellow are warning, green is good, blue and violet
// are accent, and gray is emphasis. Without a color, an ended event is good, a maintenance is accent, and an incident is
// attention. A test message is accent.
func cardStyle(color string, change *topic.EventChange) string {
	if change.Kind == topic.EndpointTest {
		return "accent"
	}
	if r, g, b, ok := hexColor(color); ok {
		return nearestStyle(r, g, b)
	}
	switch {
	case change.Event.EndAt != nil:
		return "good"
	case change.Event.Type == "maintenance":
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
