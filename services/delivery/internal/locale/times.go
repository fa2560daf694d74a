package locale

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for time zones of dashboards on a system without zone files
)

// Time returns the time in the IANA zone as text for a mail, with the short name of the zone. It returns "" for nil and
// for the zero time. For an unknown zone it uses UTC.
func (l *Locale) Time(at *time.Time, zone string) string { return l.format("time.long", at, zone) }

// ShortTime is like Time, but returns a shorter text for a text message or a card.
func (l *Locale) ShortTime(at *time.Time, zone string) string {
	return l.format("time.short", at, zone)
}

// format returns the time as text. layout is the key of a text of the locale that is a layout of package time. The month is
// in the words of the locale.
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
