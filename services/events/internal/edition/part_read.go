package edition

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// edition returns the edition with the id from the cache or from the store, or NotFound.
func (e *Editions) edition(ctx context.Context, id string) (*decodedEdition, error) {
	if known, there := e.decoded.byID.Get(id); there {
		return known, nil
	}
	read, err := e.store.edition(ctx, id)
	if err == nil {
		e.decoded.add(read)
	}
	return read, err
}

// Snapshot returns the snapshot of an edition, or NotFound.
func (r *Records) Snapshot(ctx context.Context, edition string) (Snapshot, error) {
	read, err := r.edition(ctx, edition)
	if err != nil {
		return Snapshot{}, err
	}
	return read.snapshot(), nil
}

// edition reads an edition. It returns NotFound if the head or another part is missing.
func (r *Records) edition(ctx context.Context, id string) (*decodedEdition, error) {
	head, err := r.Parts.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	wanted := head.uses()
	parts, err := r.Parts.GetMany(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if head.Number == 0 || len(parts) < len(wanted) {
		return nil, fault.New(fault.NotFound, "The edition %s is not complete.", id)
	}
	var state State
	if err := unpack(head.Body, &state); err != nil {
		return nil, err
	}
	for _, part := range parts[:len(head.Chunks)] {
		var events []shownEvent
		if err := unpack(part.Body, &events); err != nil {
			return nil, err
		}
		one := newChunk(events)
		one.id = part.ID
		state.chunks = append(state.chunks, one)
	}
	for _, part := range parts[len(head.Chunks):] {
		var days map[string]uptime.AffectedDay
		if err := unpack(part.Body, &days); err != nil {
			return nil, err
		}
		for i := range state.Snapshot.Components {
			component := &state.Snapshot.Components[i]
			if day, there := days[component.ID]; there {
				component.Days = append(component.Days, day)
			}
		}
	}
	return newDecodedEdition(head, state), nil
}
