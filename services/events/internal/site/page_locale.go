package site

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/words"
)

// locale formats words, numbers and dates for one locale.
type locale struct{ *words.Locale }

// wording returns the word of a key in the dashboard's locale.
type wording func(key string) string

// readLocales returns all shipped locales by tag.
func readLocales() (map[string]*locale, error) {
	shipped, err := words.Open(words.Pages)
	all := map[string]*locale{}
	for _, l := range shipped.All() {
		all[l.Tag] = &locale{l}
	}
	return all, err
}

// percent formats a percentage with the given number of decimals. It rounds down, so that 99.999 is never shown as 100.
func (l *locale) percent(value float64, decimals int) string {
	millionths := int64(math.Round(value * 1e6))
	unit := int64(math.Pow10(6 - decimals))
	text := strconv.FormatFloat(float64(millionths/unit)/math.Pow10(decimals), 'f', decimals, 64)
	return l.Word("format.percent", "n", strings.Replace(text, ".", l.Word("format.decimal"), 1))
}

// duration formats a duration in days, hours and minutes. It writes at most two of these units.
func (l *locale) duration(d time.Duration) string {
	minutes := int(d.Minutes())
	days, hours := minutes/(24*60), minutes/60%24
	minutes %= 60
	var parts []string
	if days > 0 {
		parts = append(parts, l.Count("unit.day", days))
	}
	if hours > 0 {
		parts = append(parts, l.Word("unit.hour", "n", hours))
	}
	if minutes > 0 && len(parts) < 2 {
		parts = append(parts, l.Word("unit.minute", "n", minutes))
	}
	if len(parts) == 0 {
		return l.Word("unit.less")
	}
	return strings.Join(parts, " ")
}

// date formats a time. format is the key of a format in the words.
func (l *locale) date(format string, t time.Time) string {
	month := strconv.Itoa(int(t.Month()))
	return l.Word(format, "d", t.Day(), "m", month, "y", t.Year(), "month", l.Word("month."+month), "short", l.Word("month.short."+month),
		"title", l.Word("month.title."+month), "clock", clock(t), "zone", zoneName(t))
}

// clock formats the time of day.
func clock(t time.Time) string { return t.Format("15:04") }

// zoneName returns the abbreviation of the time's zone, or the offset from UTC if the zone has no abbreviation.
func zoneName(t time.Time) string {
	name, offset := t.Zone()
	if !strings.HasPrefix(name, "+") && !strings.HasPrefix(name, "-") {
		return name
	}
	sign, minutes := "+", offset/60
	if offset < 0 {
		sign, minutes = "\u2212", -minutes
	}
	name = "UTC" + sign + strconv.Itoa(minutes/60)
	if minutes%60 != 0 {
		name += fmt.Sprintf(":%02d", minutes%60)
	}
	return name
}
