package uptime

import "time"

// Day is a calendar day of a time zone. It includes From and ends before To.
type Day struct {
	Date     string // yyyy-mm-dd
	From, To time.Time
}

// DaysOf returns the days of a month in a time zone. A day that the zone skipped is left out.
func DaysOf(year int, month time.Month, zone *time.Location) []Day {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return daysBetween(first, first.AddDate(0, 1, -1), zone)
}

// daysBetween returns the days in the zone from the date of first to the date of last. first and last are midnights in UTC.
func daysBetween(first, last time.Time, zone *time.Location) []Day {
	var days []Day
	for at := first; !at.After(last); at = at.AddDate(0, 0, 1) {
		one := Day{at.Format(time.DateOnly), DayStart(at, zone), DayStart(at.AddDate(0, 0, 1), zone)}
		if one.From.Before(one.To) { // false for a day that the zone skipped
			days = append(days, one)
		}
	}
	return days
}

// DayStart returns the first moment of a day in a zone. want is the day as a midnight in UTC. If the offset of the zone
// changes at midnight, the day may have no midnight or two.
func DayStart(want time.Time, zone *time.Location) time.Time {
	year, month, date := want.Date()
	at := time.Date(year, month, date, 0, 0, 0, 0, zone)
	if civil(at).Before(want) { // the day has no midnight, and at is before the change
		if _, change := at.ZoneBounds(); !change.IsZero() {
			return change.UTC()
		}
	}
	if just := at.Add(-1); !civil(just).Before(want) { // the day has two midnights, and at is the second
		_, offset := just.Zone()
		return want.Add(-time.Duration(offset) * time.Second)
	}
	return at.UTC()
}

func civil(at time.Time) time.Time {
	year, month, date := at.Date()
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
}
