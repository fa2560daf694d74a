package legacy

import (
	"strings"
	"time"
)

const timeLayout = "2006-01-02T15:04:05"

// ParseTime reads the input form yyyy-mm-ddThh:mm:ss with an optional fraction and an
// optional Z, always UTC. The result is truncated to milliseconds.
func ParseTime(text string) (time.Time, bool) {
	text = strings.TrimSuffix(text, "Z")
	whole, fraction, dotted := strings.Cut(text, ".")
	if len(whole) != len(timeLayout) || dotted && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		return time.Time{}, false
	}
	if len(fraction) > 9 {
		fraction = fraction[:9]
	}
	if dotted {
		whole += "." + fraction
	}
	t, err := time.Parse(timeLayout, whole)
	if err != nil || t.Year() == 0 {
		return time.Time{}, false
	}
	return t.Truncate(time.Millisecond), true
}

// FormatTime writes the output form: UTC without a zone, six digits of fraction only
// when it is not zero.
func FormatTime(t time.Time) string {
	t = t.UTC()
	if t.Nanosecond()/int(time.Microsecond) == 0 {
		return t.Format(timeLayout)
	}
	return t.Format(timeLayout + ".000000")
}

// Time is a time in a view; encoded by FormatTime. A pointer to it may be null.
type Time time.Time

// TimeOf is the view of an optional time.
func TimeOf(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	view := Time(*t)
	return &view
}

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return []byte(FormatTime(time.Time(t))), nil }
