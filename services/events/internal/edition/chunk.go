package edition

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// A chunk has at most chunkEvents events. It uses at most chunkBytes, unless it has only one event.
const (
	chunkEvents = 32
	chunkBytes  = 1 << 20
)

// chunk is successive events of a state. The events of a chunk are never changed, so that several editions can share
// it. A write of an event copies and encodes only the chunks whose events change, however many events the dashboard
// has.
type chunk struct {
	id     string       // id of the Part with the events; empty: not stored yet
	events []shownEvent // the newest first, at least one
	open   bool         // at least one event is open
	// recentUntil is the minimum, over the closed events, of the later of start and end. ShownEvent.recent returns true
	// for all events of the chunk if its argument is before recentUntil.
	recentUntil time.Time
	from, to    time.Time // all Spans are between these times
	size        int       // approximate number of bytes in memory
}

func newChunk(events []shownEvent) *chunk {
	c := &chunk{events: events, recentUntil: catalog.Endless(), from: catalog.Endless()}
	for _, e := range events {
		c.size += e.Event.size()
		c.open = c.open || e.Event.open()
		if !e.Event.open() {
			c.recentUntil = uptime.Earlier(c.recentUntil, uptime.Later(e.Event.end(), e.Event.StartAt))
		}
		for _, s := range e.Spans {
			c.from, c.to = uptime.Earlier(c.from, s.From), uptime.Later(c.to, s.To)
		}
	}
	return c
}

// chunks is the events of a state, the newest first.
type chunks []*chunk

// all returns the events, the newest first.
func (c chunks) all() iter.Seq[shownEvent] {
	return func(yield func(shownEvent) bool) {
		for _, one := range c {
			for _, e := range one.events {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// open returns the events that are not closed.
func (c chunks) open() iter.Seq[*ShownEvent] {
	return func(yield func(*ShownEvent) bool) {
		for _, one := range c {
			for _, e := range one.events {
				if one.open && e.Event.open() && !yield(e.Event) {
					return
				}
			}
		}
	}
}

// spans returns the spans of the events, by component. It omits spans that end at or before from, or begin at or after
// to.
func (c chunks) spans(from, to time.Time) map[string][]uptime.Span {
	spans := map[string][]uptime.Span{}
	for _, one := range c {
		if !one.from.Before(to) || !from.Before(one.to) {
			continue
		}
		for _, e := range one.events {
			collect(spans, e.Event.ID, slices.DeleteFunc(slices.Clone(e.Spans), func(s Span) bool { return !s.From.Before(to) || !from.Before(s.To) }))
		}
	}
	return spans
}

// find returns the index of the event's chunk and the index of the event in this chunk. Both are -1 if there is no such
// event.
func (c chunks) find(id string) (at, in int) {
	for at, one := range c {
		for in := range one.events {
			if one.events[in].Event.ID == id {
				return at, in
			}
		}
	}
	return -1, -1
}

// get returns the event with the id; the zero shownEvent if there is none.
func (c chunks) get(id string) shownEvent {
	if at, in := c.find(id); at >= 0 {
		return c[at].events[in]
	}
	return shownEvent{}
}

// with inserts an event at its place in the order newestFirst. It changes c and returns the result, like append.
func (c chunks) with(e shownEvent) chunks {
	if len(c) == 0 {
		return chunks{newChunk([]shownEvent{e})}
	}
	at, _ := slices.BinarySearchFunc(c, e, func(one *chunk, e shownEvent) int { return newestFirst(one.events[len(one.events)-1], e) })
	at = min(at, len(c)-1)
	in, _ := slices.BinarySearchFunc(c[at].events, e, newestFirst)
	return slices.Replace(c, at, at+1, split(slices.Insert(slices.Clone(c[at].events), in, e))...)
}

// without removes events from the chunk with the index at: those for which leaves returns true. It changes c and
// returns the result.
func (c chunks) without(at int, leaves func(shownEvent) bool) chunks {
	events := slices.DeleteFunc(slices.Clone(c[at].events), leaves)
	if len(events) == 0 {
		return slices.Delete(c, at, at+1)
	}
	c[at] = newChunk(events)
	return c
}

// split divides successive events into chunks within the limits chunkEvents and chunkBytes.
func split(events []shownEvent) chunks {
	c := newChunk(events)
	if half := len(events) / 2; len(events) > chunkEvents || c.size > chunkBytes && half > 0 {
		return append(split(events[:half:half]), split(events[half:])...)
	}
	return chunks{c}
}

// newestFirst compares events for an order with the newest start first.
func newestFirst(a, b shownEvent) int {
	return -cmp.Or(a.Event.StartAt.Compare(b.Event.StartAt), cmp.Compare(a.Event.ID, b.Event.ID))
}

// size returns the approximate number of bytes that the event uses.
func (e *ShownEvent) size() int {
	n := 512 + len(e.Title) + len(e.Description.Text) + len(e.Analysis.Text) + 128*len(e.Impacts)
	for i := range e.Entries {
		n += 256 + len(e.Entries[i].Message.Text) + 64*len(e.Entries[i].Impacts)
	}
	if p := e.PostMortem; p != nil {
		for _, text := range []*catalog.Rich{&p.Summary, p.RootCause, p.Impact, p.Resolution, p.LessonsLearned} {
			if text != nil {
				n += len(text.Text)
			}
		}
		for _, item := range p.ActionItems {
			n += 64 + len(item.Text)
		}
	}
	return n
}

func collect(into map[string][]uptime.Span, event string, spans []Span) {
	for _, s := range spans {
		into[s.ComponentID] = append(into[s.ComponentID], uptime.Span{From: s.From, To: s.To, Impact: s.Impact, EventID: event})
	}
}
