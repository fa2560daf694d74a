package edition

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// encoder encodes the parts of an edition.
type encoder struct {
	head  Part
	parts []Part // new parts, without the head
}

// add adds a part and returns its id.
func (e *encoder) add(value any) (string, error) {
	body, err := pack(value)
	part := Part{ID: topic.NewID(), DashboardID: e.head.DashboardID, CreatedAt: e.head.CreatedAt, Body: body}
	e.parts = append(e.parts, part)
	return part.ID, err
}

// addChunks adds the chunks to the head, and a part for each chunk that is not stored yet.
func (e *encoder) addChunks(of chunks) (err error) {
	for _, one := range of {
		if one.id == "" {
			if one.id, err = e.add(one.events); err != nil {
				return err
			}
		}
		e.head.Chunks = append(e.head.Chunks, one.id)
	}
	return nil
}

// addDays adds the days of the components to the head. For a date for which stale returns true, it adds a part if a
// component was affected on this date. For any other date, it uses the part in former.
func (e *encoder) addDays(components []ShownComponent, dates []uptime.Day, stale func(date string) bool, former []DayPart) (err error) {
	known := make(map[string]string, len(former))
	for _, one := range former {
		known[one.Date] = one.ID
	}
	for _, d := range dates {
		id := known[d.Date]
		if stale(d.Date) {
			days := map[string]uptime.AffectedDay{}
			for i := range components {
				if one := components[i].on(d.Date); one != nil {
					days[components[i].ID] = *one
				}
			}
			if id = ""; len(days) > 0 {
				if id, err = e.add(days); err != nil {
					return err
				}
			}
		}
		if id != "" {
			e.head.Days = append(e.head.Days, DayPart{d.Date, id})
		}
	}
	return nil
}

// on returns the day with the date, or nil if the component was not affected on it.
func (c *ShownComponent) on(date string) *uptime.AffectedDay {
	at, there := slices.BinarySearchFunc(c.Days, date, func(d uptime.AffectedDay, date string) int { return strings.Compare(d.Date, date) })
	if !there {
		return nil
	}
	return &c.Days[at]
}

// insertEdition stores and returns the edition of a composition. It reuses the days of former that have not changed. former is
// the previous edition or nil.
func (e *Editions) insertEdition(ctx context.Context, page *PublishedPage, m *composition, former *decodedEdition) (*decodedEdition, error) {
	state := m.state
	enc := encoder{head: Part{ID: topic.NewID(), DashboardID: page.DashboardID, Number: state.Snapshot.Edition, CreatedAt: e.Now()}}
	var days []DayPart
	if former != nil {
		days = former.Days
	}
	if err := errors.Join(enc.addChunks(state.chunks), enc.addDays(state.Snapshot.Components, m.calendar.Days, m.stale, days)); err != nil {
		return nil, err
	}
	bare := state
	bare.Snapshot.Components = slices.Clone(state.Snapshot.Components)
	for i := range bare.Snapshot.Components {
		bare.Snapshot.Components[i].Days = []uptime.AffectedDay{}
	}
	var err error
	if enc.head.Body, err = pack(bare); err != nil {
		return nil, err
	}
	made := newDecodedEdition(enc.head, state)
	if former != nil {
		made.former = former.ID
	}
	return made, e.store.Parts.UpsertMany(ctx, append(enc.parts, enc.head))
}
