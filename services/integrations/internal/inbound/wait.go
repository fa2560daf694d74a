package inbound

import (
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Wait is a time to wait, in whole seconds. Its text is that of a time.Duration without 0m and 0s at its end, such as 2m.
// The text of 0 is 0s.
type Wait time.Duration

// ParseWait parses the member with the name. It returns a fault unless the text is a duration of whole seconds from least to most.
func ParseWait(name, text string, least, most Wait) (Wait, error) {
	parsed, err := time.ParseDuration(text)
	wait := Wait(parsed)
	if err != nil || wait < least || wait > most || parsed%time.Second != 0 {
		return 0, fault.Field(name, "must be from %s to %s in whole seconds, such as 5m or 1h", least, most)
	}
	return wait, nil
}

func (w Wait) String() string {
	text := time.Duration(w).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (w Wait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Wait) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*w = Wait(parsed)
	return err
}
