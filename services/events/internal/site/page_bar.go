package site

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// stateView is a state as a page shows it: by an icon, a word and a colour. Class names the icon and the colour.
type stateView struct{ Class, Word string }

// unmeasured is the class of a day on which a component did not exist.
const unmeasured = "n"

// stateClass returns the class of a state. The class is also the name of the state's colour in a palette.
func stateClass(state catalog.Impact) string {
	switch state {
	case catalog.UnderMaintenance:
		return "m"
	case catalog.Degraded:
		return "d"
	case catalog.PartialOutage:
		return "p"
	case catalog.MajorOutage:
		return "x"
	}
	return "o"
}

func (l *locale) state(state catalog.Impact) stateView {
	state = worst(state)
	return stateView{stateClass(state), l.Word("state." + string(state))}
}

// bar is the uptime bar of a component: one SVG drawing with a column for each day, the oldest first. A column is
// columnWidth user units wide. The height of a column depends on the state, so that no state is shown by colour alone.
type bar struct {
	ID, Label   string
	Days, Width int
	From        int // the number of days at the beginning on which the component did not exist
	Today       day
	Columns     []columns
	Links       []dayLink
	EventDays   int    // number of Links whose days have an event; the other days had a state that was set by hand
	Ago         string // text that says how long ago the first day is
	Uptime      string // empty: the uptime is not shown
}

// columns is the SVG path of all days with the same class.
type columns struct{ Class, Path string }

// dayLink is the link on a day on which the component was affected. X is its position in the drawing.
type dayLink struct {
	X           int
	Href, Title string
}

const columnWidth = 4

// newBar returns the bar of a component. The last day is the day of the snapshot.
func (f frame) newBar(c *edition.ShownComponent) *bar {
	days := f.Dashboard.Content.Uptime.WindowDays
	today := f.dates.dayOf(f.At)
	b := &bar{ID: "b-" + c.ID, Days: days, Width: days * columnWidth, Today: today, Ago: f.Count("bar.ago", days)}
	if c.Uptime != nil && f.Dashboard.Content.Uptime.ShowPercentage {
		b.Uptime = f.Word("bar.uptime", "percent", f.percent(*c.Uptime, f.Dashboard.Content.Uptime.Precision))
	}
	shown := shownDays(c)
	classes := make([]string, days)
	for i, d := range daysBetween(today.add(1-days), today) {
		one, there := shown[d.String()]
		classes[i] = f.dayClass(c, d, one)
		if classes[i] == unmeasured {
			b.From = i + 1
		}
		if there {
			b.Links = append(b.Links, dayLink{i * columnWidth, f.dayHref(c, one), f.dayTitle(d, one)})
			b.EventDays += min(len(one.EventIDs), 1)
		}
	}
	b.Columns = columnsOf(classes)
	b.Label = plainLabel(c.Name) + f.Word("format.colon") + f.barSummary(b)
	return b
}

// barSummary returns a text about a bar: the number of days, the uptime, and the number of days on which an event affected
// the component. If only a state by hand did, it says nothing of events.
func (f frame) barSummary(b *bar) string {
	parts := []string{f.Count("bar.days", b.Days)}
	if b.Uptime != "" {
		parts = append(parts, b.Uptime)
	}
	if b.EventDays > 0 {
		parts = append(parts, f.Count("bar.events", b.EventDays))
	} else if len(b.Links) == 0 {
		parts = append(parts, f.Word("bar.quiet"))
	}
	return strings.Join(parts, ", ")
}

func shownDays(c *edition.ShownComponent) map[string]uptime.AffectedDay {
	days := find.Index(c.Days, func(d uptime.AffectedDay) string { return d.Date })
	return days
}

func (f frame) dayClass(c *edition.ShownComponent, d day, shown uptime.AffectedDay) string {
	if d.Before(f.dates.dayOf(c.Since).Time) {
		return unmeasured
	}
	return stateClass(worst(shown.Tally.Worst))
}

// dayHref returns the URL of the day's event. If the day has no event or several, it returns the URL of the day on the
// component's page.
func (f frame) dayHref(c *edition.ShownComponent, d uptime.AffectedDay) string {
	if len(d.EventIDs) == 1 {
		return f.Up + "events/" + d.EventIDs[0]
	}
	return f.Up + "components/" + c.ID + "#d-" + d.Date
}

// dayTitle returns the text of a day on which the component was affected: the date, the worst state, how long the
// component was affected, and the titles of the events that the snapshot has.
func (f frame) dayTitle(d day, shown uptime.AffectedDay) string {
	text := f.dates.title(d).Text
	if shown.Tally.Worst != "" {
		text += f.Word("format.colon") + f.state(shown.Tally.Worst).Word
	}
	if affected := affectedTime(shown.Tally); affected > 0 {
		text += " (" + f.duration(affected) + ")"
	}
	for i, id := range shown.EventIDs {
		if event := f.event(id); event != nil {
			text += []string{". ", "; "}[min(i, 1)] + plainLabel(event.Title)
		}
	}
	return text
}

func affectedTime(t uptime.Tally) time.Duration {
	return t.Major + t.Partial + t.Degraded + t.Maintenance
}

// event returns the snapshot's event with the id, or nil.
func (f frame) event(id string) *edition.ShownEvent {
	at := slices.IndexFunc(f.Events, func(e edition.ShownEvent) bool { return e.ID == id })
	if at < 0 {
		return nil
	}
	return &f.Events[at]
}

// columnsOf returns a path for each class. Successive days with the same class are one line. The style dashes the line,
// so that each day is a column.
func columnsOf(classes []string) []columns {
	paths := map[string]*strings.Builder{}
	for from := 0; from < len(classes); {
		to := from
		for to < len(classes) && classes[to] == classes[from] {
			to++
		}
		if paths[classes[from]] == nil {
			paths[classes[from]] = &strings.Builder{}
		}
		fmt.Fprintf(paths[classes[from]], "M%d 18h%d", from*columnWidth, (to-from)*columnWidth)
		from = to
	}
	var all []columns
	for _, class := range strings.Split(unmeasured+" o m d p x", " ") {
		if path := paths[class]; path != nil {
			all = append(all, columns{class, path.String()})
		}
	}
	return all
}

// plainLabel returns a text for an attribute. It replaces the control characters below U+0020 by spaces. It removes the
// characters that change the direction of the text after them, because an attribute cannot contain an element that
// isolates the text.
func plainLabel(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return -1
		case r < ' ':
			return ' '
		}
		return r
	}, text)
}
