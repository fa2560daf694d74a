package forms

import "time"

// minute is the layout of the value of a Moment.
const minute = "2006-01-02T15:04"

// SetTime sets the value of a Moment to a time as the zone shows it. A nil time empties the field.
func (f *Field) SetTime(at *time.Time, zone *time.Location) {
	if f.Values = nil; at != nil {
		f.Values = []string{at.In(zone).Format(minute)}
	}
}

// Time returns the time that the value of a Moment names in the zone, or nil if the field is empty or has a problem. For
// a text that names no time, a time that a clock change skips, or a year outside 2000 to 2100, it sets the problem and
// returns nil.
func (f *Field) Time(zone *time.Location) *time.Time {
	value := f.Value()
	if value == "" || f.Problem != "" {
		return nil
	}
	for _, form := range []string{minute, "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		at, err := time.ParseInLocation(form, value, zone)
		if err != nil {
			continue
		}
		if at.Format(form) != value {
			f.Problem = "This time does not exist: the clocks skip it. Enter another one."
			return nil
		}
		if at.Year() < 2000 || at.Year() > 2100 {
			f.Problem = "Enter a year from 2000 to 2100."
			return nil
		}
		return &at
	}
	f.Problem = "Enter a time as year-month-day, T, hour:minute, such as 2026-01-31T18:30."
	return nil
}
