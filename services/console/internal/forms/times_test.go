package forms

import (
	"strings"
	"testing"
	"time"
)

func TestATimeIsReadInItsZone(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"2026-01-31T18:30": "2026-01-31T17:30:00Z", "2026-07-31T18:30:15": "2026-07-31T16:30:15Z", "2026-07-31 18:30": "2026-07-31T16:30:00Z",
		"2026-03-29T02:30": "skip it", "2026-02-30T10:00": "Enter a time", "tomorrow": "Enter a time",
		"1999-12-31T23:59": "2000 to 2100", "2000-01-01T00:00": "1999-12-31T23:00:00Z", "2100-12-31T23:59": "2100-12-31T22:59:00Z", "2101-01-01T00:00": "2000 to 2100", "": "",
	} {
		field := &Field{Kind: Moment, Name: "startAt", Values: []string{value}}
		at := field.Time(zone)
		switch {
		case at != nil:
			if got := at.UTC().Format(time.RFC3339); got != want {
				t.Errorf("%s is %s", value, got)
			}
			if field.SetTime(at, zone); field.Value() != at.Format(minute) {
				t.Errorf("%s is shown as %s", value, field.Value())
			}
		case !strings.Contains(field.Problem, want), value != "" && field.Problem == "":
			t.Errorf("%s: %q", value, field.Problem)
		}
	}
}
