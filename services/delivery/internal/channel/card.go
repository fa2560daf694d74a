package channel

import (
	"strings"
	"time"
	"unicode/utf16"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const cardText = 6_000 // fitCard first shortens each text of a card to this number of bytes

// card is the content of a card. Each chat program shows the same content in its own format.
type card struct {
	dashboard string
	status    []string // the status and the severity
	message   string   // written by the publisher for this channel; may be empty
	title     string
	sections  []cardSection
	link      cardLink
}

// cardSection is a text with a heading. A section without a heading has name "". A card omits a section with an empty
// text.
type cardSection struct {
	name string
	text prosePart
}

// cardLink is a button that opens a URL. A card has no button if url is "".
type cardLink struct{ title, url string }

// prosePart is a text of a card, as plain text and as HTML. A card shows the HTML. If the HTML is empty or too long, the card
// shows the plain text. If the plain text is too long, the card shows the shortened plain text.
type prosePart struct{ plain, html string }

// cardMarkup converts the texts of cards into a provider's markup. rich converts sanitised HTML, plain converts plain
// text.
type cardMarkup struct{ rich, plain func(string) string }

// within returns the text in the provider's markup. If the plain text has more than keep bytes, within cuts it and uses it
// instead of the HTML. A negative keep means no limit.
func (p prosePart) within(keep int, markup cardMarkup) string {
	text, _ := p.marked(keep, markup)
	return text
}

// marked is like within. It also reports whether the text was converted by markup.rich.
func (p prosePart) marked(keep int, markup cardMarkup) (text string, rich bool) {
	switch {
	case keep >= 0 && len(p.plain) > keep:
		return markup.plain(cut(p.plain, keep)), false
	case keep >= 0 && len(p.html) > 4*keep, p.html == "":
		return markup.plain(p.plain), false
	}
	return markup.rich(p.html), true
}

// limited is like marked, but cuts the plain text further until the result has at most limit characters.
func (p prosePart) limited(keep, limit int, markup cardMarkup) (text string, rich bool) {
	text, rich = p.marked(keep, markup)
	for fewer := limit; characters(text) > limit; fewer = fewer * 3 / 4 {
		text, rich = p.marked(fewer, markup)
	}
	return text, rich
}

// characters returns the number of UTF-16 code units of a text. A chat program may count code points instead, of which a text
// never has more than code units.
func characters(text string) (n int) {
	for _, c := range text {
		n += utf16.RuneLen(c)
	}
	return n
}

// oneLine returns a text in one line, cut to limit characters.
func oneLine(text string, limit int) string {
	text = locale.OneLine(richtext.Shown(text))
	plain, _ := prosePart{plain: text}.limited(-1, limit, cardMarkup{plain: func(text string) string { return text }})
	return plain
}

// fitCard returns a body whose size is at most limit, or the smallest body if none fits. compose returns the body with each
// text cut to keep bytes. fitCard calls compose first with a negative keep, which means whole texts, then with smaller and
// smaller values until the body fits.
func fitCard[T any](limit int, size func(body T, written []byte) int, compose func(keep int) T) ([]byte, error) {
	body := compose(-1)
	written, err := write(body)
	for keep := cardText; err == nil && size(body, written) > limit && keep > 0; keep = keep * 3 / 4 {
		body = compose(keep)
		written, err = write(body)
	}
	return written, err
}

// bytesOf returns the size of a body in bytes.
func bytesOf[T any](_ T, written []byte) int { return len(written) }

// cardOf returns the content of the card about an event for a dashboard and components. It uses the words of the locale
// and the dashboard's time zone.
func cardOf(l *locale.Locale, change *topic.EventChange, wording topic.Wording, dashboard topic.Dashboard, components []topic.Component) card {
	if change.Kind == topic.EndpointTest {
		return testCard(l, dashboard)
	}
	event := &change.Event
	c := card{
		dashboard: dashboard.Name, status: []string{statusLine(l, change)}, message: richtext.Text(wording.Message), title: event.Title,
		sections: []cardSection{{l.Word("field.affected"), prosePart{plain: cardComponents(l, components)}}},
		link:     cardLink{l.Word("link.event"), eventURL(dashboard, event, components)},
	}
	if event.Severity != "" {
		c.status = append(c.status, l.Name("severity", event.Severity))
	}
	if entry := change.Entry; entry != nil {
		name := l.Word("event.entry", "status", l.Name("status", entry.Status), "time", l.ShortTime(&entry.Timestamp, dashboard.Timezone))
		c.sections = append(c.sections, cardSection{name, prosePart{entry.Text, entry.HTML}})
	}
	if wording.Details {
		c.sections = append(c.sections,
			cardSection{l.Word("field.description"), prosePart{event.DescriptionText, event.DescriptionHTML}},
			cardSection{l.Word("field.impact"), prosePart{event.ImpactText, event.ImpactHTML}},
			cardSection{l.Word("field.coordinator"), prosePart{event.CoordinatorText, event.CoordinatorHTML}})
	}
	if wording.Details || event.ScheduledStartAt != nil {
		c.sections = append(c.sections, cardSection{l.Word("field.times"), prosePart{plain: cardTimes(l, event, dashboard.Timezone)}})
	}
	return c
}

// testCard returns the content of the card that tests an endpoint.
func testCard(l *locale.Locale, dashboard topic.Dashboard) card {
	return card{
		dashboard: dashboard.Name, status: []string{l.Word("test.status")}, title: l.Word("test.title"),
		sections: []cardSection{{"", prosePart{plain: l.Word("test.lead", "of", ofDashboard(l, dashboard))}}},
		link:     cardLink{l.Word("link.dashboard"), dashboard.URL},
	}
}

// cardTimes returns the event's times, one on each line.
func cardTimes(l *locale.Locale, event *topic.Event, zone string) string {
	var times []string
	for _, t := range []struct {
		name string
		at   *time.Time
	}{{"field.scheduled_start", event.ScheduledStartAt}, {"field.scheduled_end", event.ScheduledEndAt}, {"field.start", &event.StartAt}, {"field.end", event.EndAt}} {
		if text := l.ShortTime(t.at, zone); text != "" {
			times = append(times, l.Word(t.name)+": "+text)
		}
	}
	return strings.Join(times, "\n")
}

func cardComponents(l *locale.Locale, components []topic.Component) string {
	lines := make([]string, len(components))
	for i, c := range components {
		lines[i] = c.Name
		if c.Group != "" {
			lines[i] = c.Group + " / " + c.Name
		}
		if c.Impact != "" {
			lines[i] = l.Word("event.component", "name", lines[i], "impact", l.Name("impact", c.Impact))
		}
	}
	return strings.Join(lines, "\n")
}
