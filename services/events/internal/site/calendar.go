package site

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// This file writes iCalendar (RFC 5545) without a library. The libraries do not remove carriage returns and other
// control characters from values, so a title could add lines to the calendar.

const (
	calendarTime = "20060102T150405Z"
	// maxLine is the maximum number of octets in a line, without the line break.
	maxLine = 75
)

// calendar returns maintenance.ics with the maintenances of the snapshot. Withdrawn maintenances, and those that never
// took place (see ShownEvent.Cancelled), have the status CANCELLED.
func calendar(s *edition.Snapshot, word wording, texts *texts) (File, error) {
	var c calendarWriter
	c.line("BEGIN", "VCALENDAR")
	c.line("VERSION", "2.0")
	c.line("PRODID", "-//Bellbuoy//Status page//EN")
	c.line("METHOD", "PUBLISH")
	title := calendarText(richtext.Line(s.Dashboard.Name) + " – " + word("calendar.planned"))
	c.line("NAME", title)
	c.line("X-WR-CALNAME", title)
	c.line("REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
	c.line("X-PUBLISHED-TTL", "PT1H")
	for i := range s.Events {
		if event := &s.Events[i]; event.Type == catalog.Maintenance {
			c.event(s, event, false, word, texts)
		}
	}
	for i := range s.Withdrawn {
		c.event(s, &s.Withdrawn[i], true, word, texts)
	}
	c.line("END", "VCALENDAR")
	return File{Body: []byte(c.String())}, nil
}

type calendarWriter struct{ strings.Builder }

func (c *calendarWriter) event(s *edition.Snapshot, event *edition.ShownEvent, withdrawn bool, word wording, texts *texts) {
	start, end := calendarTimes(event)
	c.line("BEGIN", "VEVENT")
	c.line("UID", event.ID)
	c.line("SEQUENCE", strconv.FormatInt(event.Version+s.Raised[event.ID], 10))
	c.time("DTSTAMP", event.UpdatedAt)
	c.time("CREATED", event.CreatedAt)
	c.time("LAST-MODIFIED", event.UpdatedAt)
	c.time("DTSTART", start)
	if end != nil && end.Truncate(time.Second).After(start) {
		c.time("DTEND", *end)
	}
	c.line("SUMMARY", calendarText(richtext.Line(event.Title)))
	if withdrawn || event.Cancelled() {
		c.line("STATUS", "CANCELLED")
	} else {
		c.line("STATUS", "CONFIRMED")
	}
	if !withdrawn {
		c.line("DESCRIPTION", calendarText(calendarDescription(event, word, texts)))
		c.line("URL", eventURL(s, event.ID))
	}
	c.line("TRANSP", "TRANSPARENT") // the time of the maintenance is not shown as busy
	c.line("END", "VEVENT")
}

// calendarTimes returns the planned times for a maintenance that is in planning or cancelled. For any other maintenance
// it returns the actual start, and the actual end, or the planned end if there is no actual one.
func calendarTimes(event *edition.ShownEvent) (start time.Time, end *time.Time) {
	planned, end := plannedTimes(event)
	if event.Status == catalog.Planning || event.Cancelled() {
		return *planned, end
	}
	if event.EndAt != nil {
		end = event.EndAt
	}
	return event.StartAt, end
}

// calendarDescription returns the status, the affected components, the description and the newest entry.
func calendarDescription(event *edition.ShownEvent, word wording, texts *texts) string {
	parts := []string{word("status." + string(event.Status))}
	names := impactNames(event)
	if len(names) > 0 {
		parts = append(parts, word("calendar.affected")+" "+strings.Join(names, ", "))
	}
	shown := []string{texts.plain.of(event.Description)}
	if len(event.Entries) > 0 {
		shown = append(shown, texts.plain.of(event.Entries[0].Message))
	}
	for _, text := range shown {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

func (c *calendarWriter) time(name string, t time.Time) { c.line(name, t.UTC().Format(calendarTime)) }

// line writes a line. It folds the line after at most maxLine octets, but not within a character.
func (c *calendarWriter) line(name, value string) {
	rest, room := name+":"+value, maxLine
	for len(rest) > room {
		end := room
		for !utf8.RuneStart(rest[end]) {
			end--
		}
		c.WriteString(rest[:end] + "\r\n ")
		rest, room = rest[end:], maxLine-1
	}
	c.WriteString(rest + "\r\n")
}

// calendarText escapes a value of the type TEXT. It writes line breaks as \n and removes other control characters
// except tabs. It also writes the line and paragraph separators of Unicode as \n, because some readers end a line
// there.
func calendarText(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\u2028' || r == '\u2029':
			out.WriteString(`\n`)
		case r == '\\' || r == ';' || r == ',':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r == '\t' || !unicode.IsControl(r):
			out.WriteRune(r)
		}
	}
	return out.String()
}
