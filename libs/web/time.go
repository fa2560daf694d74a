package web

import "time"

// Time is a time in a view of the App interface and in the payload of a notification: ISO
// 8601 in UTC with milliseconds. It is the only place that defines this form.
type Time time.Time

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

// TimeOf returns the view of an optional time.
func TimeOf(t *time.Time) *Time { return (*Time)(t) }
