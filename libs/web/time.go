package web

import "time"

// Time is a time in a view of the App interface: ISO 8601 in UTC with milliseconds, as the specification has createdAt.
type Time time.Time

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

// TimeOf is one that may not be there.
func TimeOf(t *time.Time) *Time { return (*Time)(t) }
