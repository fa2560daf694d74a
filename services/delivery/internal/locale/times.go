package locale

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // dashboards have time zones, also on a system without time zone files
)

// Time returns the time in the IANA zone, with the short name of the zone, for a mail. It returns "" for nil and for
// the zero time. An unknown zone counts as UTC.
func (l *Locale) Time(at *time.Time, zone string) string { return l.format("time.long", at, zone) }

// ShortTime returns the time as Time does, for a text or a card.
func (l *Locale) ShortTime(at *time.Time, zone string) string {
	return l.format("time.short", at, zone)
}

// format returns the time in a layout of package time. The month is in words of the locale.
func (l *Locale) format(layout string, at *time.Time, zone string) string {
	if at == nil || at.IsZero() {
		return ""
	}
	place, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		place = time.UTC
	}
	local := at.In(place)
	before, after, named := strings.Cut(l.Texts[layout], "January")
	if !named {
		return local.Format(before)
	}
	return local.Format(before) + l.Word("month."+strconv.Itoa(int(local.Month()))) + local.Format(after)
}
