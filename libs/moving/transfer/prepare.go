package transfer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// Limits of a piece.
const (
	maxEvents     = 200
	maxEventBytes = 7 << 20   // bytes of the lines; the request may have 8 MiB
	maxComponents = 50        // each is a request
	maxRows       = 1000      // number of subscribers that one request sends
	maxRowBytes   = 900 << 10 // bytes of these rows; the request may have 1 MiB
	maxEndpoints  = 50        // each is a request
)

// Prepare removes from a set the records that do not go to the dashboard with the slug, sets this slug in the line of
// the dashboard, and lets components begin with their oldest event. It removes aliases that no dashboard can have, with
// a warning for each. If the set has no dashboard, Prepare adds one that has the slug as its name. If the set has
// several, the one with the slug remains, and Prepare adds a warning for each other one. An empty slug stands for all
// dashboards of the set, each with its own slug. Prepare sets the dashboard of each component, subscriber and endpoint that
// names none. The set must have passed the checks of package lines.
func Prepare(set *lines.Set, slug string) error {
	switch {
	case slug != "" && !lines.IsSlug(slug):
		return fmt.Errorf("the slug %.70q must be 3 to 63 of a-z, 0-9 and -", slug)
	case slug == "" && len(set.Dashboards) == 0:
		return fmt.Errorf("the source has no dashboard; name one")
	case len(set.Dashboards) == 0:
		set.Dashboards = []lines.Dashboard{{Key: "bellbuoy:dashboard:" + slug, Name: slug}}
	case len(set.Dashboards) > 1 && slug != "":
		if err := choose(set, slug); err != nil {
			return err
		}
	}
	if slug != "" {
		set.Dashboards[0].Slug = slug
	}
	keys := map[string]bool{}
	for _, d := range set.Dashboards {
		if d.Slug == "" {
			return fmt.Errorf("the dashboard %s of the source has no slug; name one", d.Key)
		}
		keys[d.Key] = true
	}
	begin(set, time.Now())
	dropAliases(set)
	home := set.Dashboards[0].Key
	on := map[string][]string{} // dashboards by component
	for i := range set.Components {
		c := &set.Components[i]
		if len(c.DashboardIDs) == 0 {
			c.DashboardIDs = []string{home}
		}
		on[c.Key] = c.DashboardIDs
	}
	place := func(named *string, components []string) {
		if keys[*named] {
			return
		}
		*named = home
		if len(components) > 0 {
			*named = on[components[0]][0]
		}
	}
	for i := range set.Subscribers {
		place(&set.Subscribers[i].DashboardID, set.Subscribers[i].Components)
	}
	for i := range set.Endpoints {
		place(&set.Endpoints[i].DashboardID, set.Endpoints[i].Components)
	}
	return nil
}

// begin sets StartAt of a component to the start of its oldest event, if this start is before now and the line has no StartAt.
// Without StartAt, no report would count the events before the import.
func begin(set *lines.Set, now time.Time) {
	oldest := map[string]*time.Time{}
	for i := range set.Events {
		e := &set.Events[i]
		start := cmp.Or(e.StartAt, e.ScheduledStartAt)
		for _, a := range e.Components {
			if start.Before(now) && (oldest[a.Key] == nil || start.Before(*oldest[a.Key])) {
				oldest[a.Key] = start
			}
		}
	}
	for i := range set.Components {
		c := &set.Components[i]
		c.StartAt = cmp.Or(c.StartAt, oldest[c.Key])
	}
}

// choose removes all dashboards but the one with the slug, and their records.
func choose(set *lines.Set, slug string) error {
	place := slices.IndexFunc(set.Dashboards, func(d lines.Dashboard) bool { return d.Slug == slug })
	if place < 0 {
		var slugs []string
		for _, d := range set.Dashboards {
			slugs = append(slugs, d.Slug)
		}
		return fmt.Errorf("the source has %d dashboards, and none has the slug %s; take one of %s", len(slugs), slug, strings.Join(slugs, ", "))
	}
	chosen := set.Dashboards[place]
	for _, d := range set.Dashboards {
		if d.Key != chosen.Key {
			set.Warn(d.Key, "", fmt.Sprintf("is another dashboard (%s); it was left out with what only it shows", d.Slug))
		}
	}
	set.Dashboards = []lines.Dashboard{chosen}
	stays := map[string]bool{}
	set.Components = slices.DeleteFunc(set.Components, func(c lines.Component) bool {
		stays[c.Key] = len(c.DashboardIDs) == 0 || slices.Contains(c.DashboardIDs, chosen.Key)
		return !stays[c.Key]
	})
	for i := range set.Components {
		set.Components[i].DashboardIDs = []string{chosen.Key}
	}
	set.Events = slices.DeleteFunc(set.Events, func(e lines.Event) bool {
		if len(e.Components) == 0 {
			return !slices.Contains(e.DashboardIDs, chosen.Key)
		}
		return !slices.ContainsFunc(e.Components, func(a lines.Affected) bool { return stays[a.Key] })
	})
	for i := range set.Events {
		e := &set.Events[i]
		e.Components = slices.DeleteFunc(e.Components, func(a lines.Affected) bool { return !stays[a.Key] })
		for _, entry := range e.Timeline {
			for key := range entry.Impacts {
				if !stays[key] {
					delete(entry.Impacts, key)
				}
			}
		}
		if len(e.Components) == 0 {
			e.DashboardIDs = []string{chosen.Key}
		}
	}
	// A subscriber or endpoint that names no component and no dashboard concerns all dashboards.
	stay := func(dashboard string, components []string) (left []string, leaves bool) {
		left = slices.DeleteFunc(slices.Clone(components), func(key string) bool { return !stays[key] })
		return left, dashboard != "" && dashboard != chosen.Key || len(components) > 0 && len(left) == 0
	}
	var subscribers []lines.Subscriber
	for _, s := range set.Subscribers {
		var leaves bool
		if s.Components, leaves = stay(s.DashboardID, s.Components); !leaves {
			subscribers = append(subscribers, s)
		}
	}
	var endpoints []lines.Endpoint
	for _, e := range set.Endpoints {
		var leaves bool
		if e.Components, leaves = stay(e.DashboardID, e.Components); !leaves {
			endpoints = append(endpoints, e)
		}
	}
	set.Subscribers, set.Endpoints = subscribers, endpoints
	return nil
}

// Split returns the pieces of a prepared set in the order in which they must be written. A piece has records of one
// kind, and subscribers of one channel and dashboard.
func Split(set *lines.Set) []*lines.Set {
	var pieces []*lines.Set
	if len(set.Dashboards) > 0 {
		pieces = append(pieces, &lines.Set{Dashboards: set.Dashboards})
	}
	for part := range slices.Chunk(set.Components, maxComponents) {
		pieces = append(pieces, &lines.Set{Components: part})
	}
	for _, part := range chunks(set.Events, maxEvents, maxEventBytes, sizeOf) {
		pieces = append(pieces, &lines.Set{Events: part})
	}
	pieces = append(pieces, subscriberPieces(set.Subscribers)...)
	for part := range slices.Chunk(set.Endpoints, maxEndpoints) {
		pieces = append(pieces, &lines.Set{Endpoints: part})
	}
	return pieces
}

// subscriberPieces returns the pieces of subscribers. Rows that are unsubscribed come last: the platform suppresses
// their addresses, unless an address is confirmed on another dashboard by then. Up to maxRows rows of an address on a
// dashboard are in one piece, in their order, because the platform applies the first row of an address in a request.
func subscriberPieces(all []lines.Subscriber) (pieces []*lines.Set) {
	rows := map[[3]string][]lines.Subscriber{} // by dashboard, channel and address
	var places [][3]string
	for _, s := range all {
		place := [3]string{s.DashboardID, s.Channel, strings.ToLower(s.Address)}
		if rows[place] == nil {
			places = append(places, place)
		}
		rows[place] = append(rows[place], s)
	}
	for _, last := range []bool{false, true} {
		of := map[[2]string][][]lines.Subscriber{}
		var groups [][2]string
		for _, place := range places {
			if (rows[place][0].State == "unsubscribed" && len(rows[place]) == 1) != last {
				continue
			}
			group := [2]string(place[:2])
			if len(of[group]) == 0 {
				groups = append(groups, group)
			}
			of[group] = slices.AppendSeq(of[group], slices.Chunk(rows[place], maxRows))
		}
		for _, group := range groups {
			for _, part := range chunks(of[group], maxRows, maxRowBytes, rowsSize) {
				pieces = append(pieces, &lines.Set{Subscribers: slices.Concat(part...)})
			}
		}
	}
	return pieces
}

// chunks returns the records in parts of at most count records and size bytes. A single record may be larger than size.
func chunks[T any](records []T, count, size int, sizeOf func(T) int) (parts [][]T) {
	from, sum := 0, 0
	for i, record := range records {
		bytes := sizeOf(record)
		if i > from && (i-from == count || sum+bytes > size) {
			parts, from, sum = append(parts, records[from:i]), i, 0
		}
		sum += bytes
	}
	if from < len(records) {
		parts = append(parts, records[from:])
	}
	return parts
}

func sizeOf(e lines.Event) int {
	line, err := json.Marshal(e)
	if err != nil {
		return maxEventBytes
	}
	return len(line)
}

// rowsSize returns an estimate of the size in bytes of the rows of subscribers, in which each component is a uuid. It counts at least
// maxRowBytes/maxRows bytes for a row, so that rows of at most maxRowBytes are at most maxRows.
func rowsSize(rows []lines.Subscriber) (size int) {
	for _, s := range rows {
		size += max(maxRowBytes/maxRows, 200+len(s.Address)+40*len(s.Components))
	}
	return size
}
