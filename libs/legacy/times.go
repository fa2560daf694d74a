package legacy

import (
	"strings"
	"time"
)

const timeLayout = "2006-01-02T15:04:05"

// ParseTime parses yyyy-mm-ddThh:mm:ss with an optional fraction and an optional Z, always UTC, and truncates the
// result to milliseconds.
func ParseTime(text string) (time.Time, bool) {
	text = strings.TrimSuffix(text, "Z")
	whole, _, _ := strings.Cut(text, ".")
	t, err := time.Parse(timeLayout, text) // also takes hours of one digit, and a fraction behind a dot or a comma
	if err != nil || len(whole) != len(timeLayout) || t.Year() == 0 {
		return time.Time{}, false
	}
	return t.Truncate(time.Millisecond), true
}

// FormatTime returns t in UTC without a zone, with six digits of fraction if the fraction is not zero.
func FormatTime(t time.Time) string {
	t = t.UTC()
	if t.Nanosecond()/int(time.Microsecond) == 0 {
		return t.Format(timeLayout)
	}
	return t.Format(timeLayout + ".000000")
}

// Time is a time in a view, encoded by FormatTime.
type Time time.Time

// TimeOf returns the view of an optional time.
func TimeOf(t *time.Time) *Time { return (*Time)(t) }

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return []byte(FormatTime(time.Time(t))), nil }
