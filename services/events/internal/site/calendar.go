package site

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// iCalendar (RFC 5545) is written here and not by a library: the libraries leave carriage returns and other control
// characters in values, so a title could add lines of its own.

const (
	calendarTime = "20060102T150405Z"
	// maxLine is the number of octets of a line, without its end.
	maxLine = 75
)

// calendar returns maintenance.ics: the maintenances, and those that were withdrawn as cancelled.
func calendar(s *edition.Snapshot, word wording, texts *texts) (File, error) {
	var c calendarWriter
	c.line("BEGIN", "VCALENDAR")
	c.line("VERSION", "2.0")
	c.line("PRODID", "-//Bellbuoy//Status page//EN")
	c.line("METHOD", "PUBLISH")
	title := calendarText(oneLine(s.Dashboard.Name) + " – " + word("calendar.planned"))
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
	c.line("SUMMARY", calendarText(oneLine(event.Title)))
	if withdrawn || event.Cancelled() {
		c.line("STATUS", "CANCELLED")
	} else {
		c.line("STATUS", "CONFIRMED")
	}
	if !withdrawn {
		c.line("DESCRIPTION", calendarText(calendarDescription(event, word, texts)))
		c.line("URL", eventURL(s, event.ID))
	}
	c.line("TRANSP", "TRANSPARENT") // the reader of the calendar is not busy
	c.line("END", "VEVENT")
}

// calendarTimes returns the planned times before the start, and of a cancelled maintenance; then the actual start, and the actual end once there is one.
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
	var names []string
	for _, impact := range event.Impacts {
		names = append(names, oneLine(impact.Name))
	}
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

// line writes a line, and folds it after at most 75 octets, between two characters.
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

// calendarText escapes a value of the type TEXT. It keeps line breaks and tabs, and drops other control characters, such
// as a carriage return. Some readers also end a line at the separators of Unicode, so these are line breaks too.
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
