package site

import (
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// calendarEvent is the unescaped values of a VEVENT by their names.
type calendarEvent map[string]string

// checkCalendar checks the lines of a calendar, and returns its events by their UID.
func checkCalendar(t *testing.T, body []byte) map[string]calendarEvent {
	t.Helper()
	text := string(body)
	if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", ""), "\r\n\u0085\u2028\u2029") {
		t.Error("the calendar has a line break other than CR LF")
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 75 {
			t.Errorf("a line has %d octets: %q", len(line), line)
		}
		if strings.ContainsFunc(line, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			t.Errorf("a line has a control character: %q", line)
		}
	}
	events, current := map[string]calendarEvent{}, calendarEvent(nil)
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n ", ""), "\r\n"), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "BEGIN:VEVENT":
			current = calendarEvent{}
		case line == "END:VEVENT":
			events[current["UID"]], current = current, nil
		case current != nil:
			if _, twice := current[name]; twice || strings.HasPrefix(name, "X-") {
				t.Errorf("an event has the line %q", line)
			}
			current[name] = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\,`, ",", `\;`, ";").Replace(value)
		}
	}
	return events
}

func TestTheCalendarHasTheMaintenances(t *testing.T) {
	file, err := calendar(sampleSnapshot(), english, newTexts())
	if err != nil {
		t.Fatal(err)
	}
	events := checkCalendar(t, file.Body)
	if len(events) != 5 {
		t.Errorf("%d events, want 4 maintenances and a withdrawn one", len(events))
	}
	for id, want := range map[string]calendarEvent{
		itemID(50): {"STATUS": "CONFIRMED", "SEQUENCE": "5", "SUMMARY": "Move of the mail servers, part 2; at night", "DTSTART": "20260330T010000Z", "DTEND": "20260330T033000Z",
			"DTSTAMP": "20260326T090000Z", "URL": "https://status.example.com/events/" + itemID(50), "DESCRIPTION": "Planned\n\nAffected components: Mail\n\nMail may arrive late.\nNothing is lost."},
		itemID(53): {"STATUS": "CONFIRMED", "SUMMARY": longWord(), "DTSTART": "20260329T114500Z"},
		itemID(52): {"STATUS": "CONFIRMED", "DTSTART": "20260329T113000Z", "DTEND": "20260330T033000Z"}, // has begun early
		itemID(54): {"STATUS": "CONFIRMED", "DTSTART": "20260310T020000Z", "DTEND": "20260310T030000Z", "DESCRIPTION": "Completed\n\nMail may arrive late.\nNothing is lost.\n\nDone."},
		itemID(60): {"STATUS": "CANCELLED", "SEQUENCE": "15", "SUMMARY": "Cancelled move", "DTSTART": "20260330T010000Z", "DESCRIPTION": "", "URL": ""},
	} {
		for name, value := range want {
			if got := events[id][name]; got != value {
				t.Errorf("%s %s: %q, want %q", id, name, got, value)
			}
		}
	}
}

// A text can neither end its line nor begin another one, and comes back unchanged but for control characters.
func TestATextOfTheCalendarEndsNoLine(t *testing.T) {
	s := sampleSnapshot()
	event := sampleMaintenance(50, "a\r\nATTENDEE:mailto:b@example.com\r\n;x", catalog.Planning, nil)
	event.Description = unmarked("1,2;3\\n4:\"5\"\r\nEND:VCALENDAR\rBEGIN:VEVENT\x00\x0b\tend\u2028")
	s.Events, s.Withdrawn = []edition.ShownEvent{event}, nil
	file, err := calendar(s, english, newTexts())
	if err != nil {
		t.Fatal(err)
	}
	got := checkCalendar(t, file.Body)[event.ID]
	if want := "a ATTENDEE:mailto:b@example.com ;x"; got["SUMMARY"] != want {
		t.Errorf("SUMMARY %q, want %q", got["SUMMARY"], want)
	}
	if want := "Planned\n\n1,2;3\\n4:\"5\"\nEND:VCALENDAR\nBEGIN:VEVENT\tend"; got["DESCRIPTION"] != want {
		t.Errorf("DESCRIPTION %q, want %q", got["DESCRIPTION"], want)
	}
	if n := strings.Count(string(file.Body), "\r\nEND:V"); n != 2 {
		t.Errorf("%d objects end, want the event and the calendar", n)
	}
}

// A maintenance without an end, or with an end before its start, has no DTEND, which must be later than DTSTART.
func TestAMaintenanceWithoutALaterEndHasNoEndInTheCalendar(t *testing.T) {
	early := sampleTime(1, 0, 0)
	overdue := sampleMaintenance(50, "overdue", catalog.InProgress, nil)
	overdue.ScheduledEndAt = &early
	open := sampleMaintenance(51, "open", catalog.InProgress, nil)
	open.ScheduledEndAt = nil
	s := sampleSnapshot()
	s.Events, s.Withdrawn = []edition.ShownEvent{overdue, open}, nil
	file, err := calendar(s, english, newTexts())
	if err != nil {
		t.Fatal(err)
	}
	for id, event := range checkCalendar(t, file.Body) {
		if end, there := event["DTEND"]; there {
			t.Errorf("%s ends at %s", id, end)
		}
	}
}

// Neither the texts of an operator nor our words contain these characters. They could not do any harm.
func TestCalendarText(t *testing.T) {
	if got, want := calendarText("a\r\nb\rc\x00\u0085\u2029\xff;"), "a\\nbc\\n\uFFFD\\;"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
