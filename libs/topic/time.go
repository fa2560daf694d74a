package topic

import "time"

// Time is a time in JSON of the App interface and of webhooks: ISO 8601 in UTC with milliseconds.
type Time time.Time

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

// TimeOf converts an optional time. It returns nil for nil.
func TimeOf(t *time.Time) *Time { return (*Time)(t) }
