package source

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// maintenance adds the event of a maintenance: a single maintenance with its times, a manual one as a draft, and a recurring one
// with its next times.
func (k *kuma) maintenance(m row) {
	key := k.key("maintenance", m["id"])
	e := lines.Event{Key: key, Type: "maintenance", Title: cmp.Or(m["title"], "Maintenance"), HTML: k.description(key, m["description"])}
	var affected, pages []string
	for _, a := range k.affected {
		if c := k.component[a["monitor_id"]]; a["maintenance_id"] == m["id"] && c != "" && !slices.Contains(affected, c) {
			affected = append(affected, c)
			e.Components = append(e.Components, lines.Affected{Key: c})
		}
	}
	for _, s := range k.shown {
		if s["maintenance_id"] == m["id"] {
			pages = append(pages, s["status_page_id"])
		}
	}
	if len(affected) == 0 {
		e.DashboardIDs = k.pagesOf(pages)
	}
	start, end, text := k.span(m)
	if text != "" {
		k.warn(key, "strategy", "%s", text)
	}
	if start.IsZero() {
		return
	}
	switch m["strategy"] { // the key of a recurring maintenance has its start, so that the next maintenance in a later run is another event
	case "single", "manual":
	case "cron":
		e.Key += "-" + start.In(k.zoneOf(m)).Format("20060102T1504")
	default: // at most one in a day, so the key has only the day and the time may change
		e.Key += "-" + start.In(k.zoneOf(m)).Format("20060102")
	}
	e.ScheduledStartAt, e.ScheduledEndAt = &start, &end
	if m["strategy"] == "manual" || !m.is("active") && start.After(k.Now) {
		off := false
		e.Status, e.Publish = "planning", &off
	} else {
		k.progress(&e)
	}
	k.event(e)
}

// description returns the text of a maintenance. A text that is longer than a description can be is cut, with a warning.
func (k *kuma) description(key, text string) string {
	parts := split(markdown(text))
	if len(parts) > 1 {
		k.warn(key, "description", "has more than %d characters; the rest is missing", lines.MaxText)
	}
	return parts[0]
}

// span returns the start and the end of a maintenance, and the text of a warning about a loss. The start is zero if there is no time.
func (k *kuma) span(m row) (start, end time.Time, lost string) {
	zone := k.zoneOf(m)
	start, errStart := parseTime(cmp.Or(m["start_date"], listed(m["dateRange"], 0)), zone)
	end, errEnd := parseTime(cmp.Or(m["end_date"], listed(m["dateRange"], 1)), zone)
	switch m["strategy"] {
	case "single":
		if errStart != nil {
			return time.Time{}, time.Time{}, "the maintenance has no start; it is left out"
		}
		if errEnd != nil {
			return start, start.Add(time.Hour), "the maintenance has no end; it is planned for 1 h"
		}
		return start, end, ""
	case "manual":
		start = k.Now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		return start, start.Add(time.Hour), "a manual maintenance has no time; it becomes a draft"
	}
	next, duration := k.next(m, zone, start)
	if next.IsZero() {
		return next, next, fmt.Sprintf("the next time of a maintenance %.40q is not known; it is left out", m["strategy"])
	}
	return next, next.Add(duration), "of a maintenance that recurs only the next one is taken over"
}

func (k *kuma) zoneOf(m row) *time.Location {
	if zone, err := time.LoadLocation(m["timezone"]); err == nil && m["timezone"] != "" && m["timezone"] != "Local" {
		return zone
	}
	return k.server
}

// listed returns an element of a JSON list of texts.
func listed(list string, place int) string {
	var texts []*string
	if json.Unmarshal([]byte(list), &texts) != nil || place >= len(texts) || texts[place] == nil {
		return ""
	}
	return *texts[place]
}

// next returns the next start of a maintenance that recurs, and its duration. A saved time that has begun and not ended counts
// as the next. Without saved times, the start is not before first. The start is zero if no time is known.
func (k *kuma) next(m row, zone *time.Location, first time.Time) (time.Time, time.Duration) {
	if slots := savedSlots(m["timeslotList"]); len(slots) > 0 { // Uptime Kuma has computed the times
		for _, slot := range slots {
			start, err := parseTime(slot.Start, zone)
			end, errEnd := parseTime(slot.End, zone)
			if err == nil && errEnd == nil && end.After(k.Now) && end.After(start) {
				return start, end.Sub(start)
			}
		}
	}
	from, errFrom := time.Parse("15:04", clip(m["start_time"], 5))
	to, errTo := time.Parse("15:04", clip(m["end_time"], 5))
	if errFrom != nil || errTo != nil {
		return time.Time{}, 0
	}
	duration := to.Sub(from)
	if duration <= 0 {
		duration += 24 * time.Hour
	}
	weekdays, days := set(m["weekdays"]), set(m["days_of_month"])
	today := k.Now.In(zone)
	for ahead := range 800 {
		start := time.Date(today.Year(), today.Month(), today.Day()+ahead, from.Hour(), from.Minute(), 0, 0, zone)
		month := time.Date(start.Year(), start.Month()+1, 0, 0, 0, 0, 0, zone).Day() // number of days
		matches := false
		switch m["strategy"] {
		case "recurring-weekday":
			matches = weekdays[strconv.Itoa(int(start.Weekday()))]
		case "recurring-day-of-month":
			matches = days[strconv.Itoa(start.Day())] || days["lastDay"+strconv.Itoa(month-start.Day()+1)]
		case "recurring-interval":
			since := int(midnight(start).Sub(midnight(first.In(zone))).Hours() / 24)
			matches = m.number("interval_day") > 0 && !first.IsZero() && since%m.number("interval_day") == 0
		}
		if matches && start.After(k.Now) && !start.Before(first) {
			return start.UTC(), duration
		}
	}
	return time.Time{}, 0
}

// midnight returns the day of a time as midnight in UTC, where each day has 24 h.
func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

type slot struct {
	Start string `json:"startDate"`
	End   string `json:"endDate"`
}

func savedSlots(list string) []slot {
	var slots []slot
	if json.Unmarshal([]byte(list), &slots) != nil {
		return nil
	}
	return slots
}

func clip(text string, most int) string { return text[:min(len(text), most)] }

// set returns the elements of a JSON list of numbers and texts.
func set(list string) map[string]bool {
	var elements []any
	if json.Unmarshal([]byte(list), &elements) != nil {
		return nil
	}
	found := map[string]bool{}
	for _, element := range elements {
		found[fmt.Sprint(element)] = true
	}
	return found
}
