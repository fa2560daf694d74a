package dispatch

import (
	"context"
	"slices"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	keptSnapshots = 64  // changes whose deliveries are under way
	keptTexts     = 256 // rendered texts of one change
)

// Snapshot is a change, and what has been rendered of it.
type Snapshot struct {
	topic.EventChange

	mu    sync.Mutex
	texts map[string][]byte
}

// Rendered is the text for key; render is called when it is not at hand. The caller
// does not change it.
func (s *Snapshot) Rendered(key string, render func() ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.texts[key]; ok {
		return text, nil
	}
	text, err := render()
	if err != nil {
		return nil, err
	}
	if s.texts == nil || len(s.texts) >= keptTexts {
		s.texts = make(map[string][]byte)
	}
	s.texts[key] = text
	return text, nil
}

// componentsFor are the change's components that the destination hears of.
func (s *Snapshot) componentsFor(to *topic.Destination) []topic.Component {
	wanted := func(c topic.Component) bool {
		if to.Components == nil {
			return slices.Contains(c.Dashboards, to.Dashboard.ID)
		}
		return slices.Contains(to.Components, c.ID)
	}
	components := s.Event.Components
	if !slices.ContainsFunc(components, func(c topic.Component) bool { return !wanted(c) }) {
		return components
	}
	var out []topic.Component
	for _, component := range components {
		if wanted(component) {
			out = append(out, component)
		}
	}
	return out
}

// snapshots keeps the changes that are being sent at hand.
type snapshots struct {
	store Store

	mu    sync.Mutex
	byID  map[string]*Snapshot
	order []string // the oldest first
}

func newSnapshots(store Store) *snapshots {
	return &snapshots{store: store, byID: make(map[string]*Snapshot)}
}

// get loads the change; fault.NotFound when it is not kept any more.
func (s *snapshots) get(ctx context.Context, id string) (*Snapshot, error) {
	s.mu.Lock()
	found := s.byID[id]
	s.mu.Unlock()
	if found != nil {
		return found, nil
	}
	change, err := s.store.Change(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byID[id]; found != nil {
		return found, nil
	}
	if len(s.order) >= keptSnapshots {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
	snapshot := &Snapshot{EventChange: change}
	s.byID[id], s.order = snapshot, append(s.order, id)
	return snapshot, nil
}
