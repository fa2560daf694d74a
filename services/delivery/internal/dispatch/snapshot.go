package dispatch

import (
	"context"
	"slices"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxSnapshots = 64  // changes in the cache
	maxTexts     = 256 // rendered texts of one change
)

// Snapshot is a change with the texts that channels rendered from it.
type Snapshot struct {
	topic.EventChange

	mu     sync.Mutex
	texts  map[string][]byte
	logged map[int64]struct{} // requests that are stored
}

// isLogged reports whether the request with the key is stored. It may return false for a stored one.
func (s *Snapshot) isLogged(request int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, stored := s.logged[request]
	return stored
}

// setLogged records that the request with the key is stored.
func (s *Snapshot) setLogged(request int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logged == nil || len(s.logged) >= maxTexts {
		s.logged = make(map[int64]struct{})
	}
	s.logged[request] = struct{}{}
}

// Rendered returns the text with the key. It calls render if the text is not in the cache. The caller must
// not change the text.
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
	if s.texts == nil || len(s.texts) >= maxTexts {
		s.texts = make(map[string][]byte)
	}
	s.texts[key] = text
	return text, nil
}

// componentsFor returns the change's components that the destination subscribed to. An endpoint belongs to one dashboard,
// so it is not notified of a component that has left the dashboard.
func (s *Snapshot) componentsFor(to *topic.Destination) []topic.Component {
	other := func(c topic.Component) bool {
		if to.Components == nil || to.Channel.Keeper() == topic.Integrations {
			if !slices.Contains(c.Dashboards, to.Dashboard.ID) {
				return true
			}
		}
		return to.Components != nil && !slices.Contains(to.Components, c.ID)
	}
	if !slices.ContainsFunc(s.Event.Components, other) {
		return s.Event.Components // without a copy
	}
	return slices.DeleteFunc(slices.Clone(s.Event.Components), other)
}

// snapshots is a cache of the changes that are being sent.
type snapshots struct {
	store Store

	mu    sync.Mutex
	byID  map[string]*Snapshot
	order []string // ids, the oldest first
}

// get returns the change. The error is fault.NotFound if the change was deleted.
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
	if len(s.order) >= maxSnapshots {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
	snapshot := &Snapshot{EventChange: change}
	s.byID[id], s.order = snapshot, append(s.order, id)
	return snapshot, nil
}
