package dispatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	snapshotBytes = 16 << 20 // size of the changes in the cache; each shard that is sent also keeps its own change
	textBytes     = 16 << 20 // size of the rendered texts of all changes in the cache
	maxLoggedKeys = 256      // number of logged keys of one change
)

// Snapshot is the Content of deliveries with the texts that channels rendered from it.
type Snapshot struct {
	topic.EventChange               // Content.change
	Notice            *topic.Notice // nil: a change of an event

	bytes int           // size of the change
	room  *atomic.Int64 // bytes of texts that may still be cached, of all changes

	mu     sync.Mutex
	texts  map[string][]byte
	cached int64              // bytes of texts
	left   bool               // the cache has dropped the change
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
	if s.logged == nil || len(s.logged) >= maxLoggedKeys {
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
	size := int64(len(key) + len(text))
	if s.left || s.room == nil {
		return text, nil
	}
	if s.room.Add(-size) < 0 { // make room with the other texts of the change
		s.room.Add(s.cached)
		s.texts, s.cached = nil, 0
		if s.room.Load() < 0 {
			s.room.Add(size)
			return text, nil
		}
	}
	if s.texts == nil {
		s.texts = make(map[string][]byte)
	}
	s.texts[key] = text
	s.cached += size
	return text, nil
}

// leave forgets the texts. The change is no longer in the cache, but shards may still use it.
func (s *Snapshot) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.Add(s.cached)
	s.texts, s.cached, s.left = nil, 0, true
}

// componentsFor returns the change's components that the destination subscribed to. An endpoint belongs to one dashboard,
// so it is not notified of a component that has left the dashboard. The state is that of eventStates.of.
func (s *Snapshot) componentsFor(to *topic.Destination, state *topic.EventState) []topic.Component {
	other := func(c topic.Component) bool {
		if to.Components == nil || to.Channel.RecipientService() == topic.Integrations {
			if !slices.Contains(dashboardsOf(c, state), to.Dashboard.ID) {
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

	room  atomic.Int64
	mu    sync.Mutex
	byID  map[string]*Snapshot
	order []*Snapshot // the oldest first
	bytes int
}

func newSnapshots(store Store) *snapshots {
	s := &snapshots{store: store, byID: make(map[string]*Snapshot)}
	s.room.Store(textBytes)
	return s
}

// get returns the change. The error is fault.NotFound if the change was deleted.
func (s *snapshots) get(ctx context.Context, id string) (*Snapshot, error) {
	s.mu.Lock()
	found := s.byID[id]
	s.mu.Unlock()
	if found != nil {
		return found, nil
	}
	content, err := s.store.Content(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byID[id]; found != nil {
		return found, nil
	}
	change := content.change()
	snapshot := &Snapshot{EventChange: change, Notice: content.Notice, bytes: bytesOf(&change), room: &s.room}
	for len(s.order) > 0 && s.bytes+snapshot.bytes > snapshotBytes {
		oldest := s.order[0]
		oldest.leave()
		delete(s.byID, oldest.ID)
		s.order, s.bytes = s.order[1:], s.bytes-oldest.bytes
	}
	s.byID[id], s.order, s.bytes = snapshot, append(s.order, snapshot), s.bytes+snapshot.bytes
	return snapshot, nil
}

// bytesOf returns about the memory of a change.
func bytesOf(change *topic.EventChange) int {
	e := &change.Event
	n := 1<<10 + len(e.Title) + len(e.DescriptionText) + len(e.DescriptionHTML) + len(e.ImpactText) + len(e.ImpactHTML) +
		len(e.CoordinatorText) + len(e.CoordinatorHTML)
	if change.Entry != nil {
		n += len(change.Entry.Text) + len(change.Entry.HTML)
	}
	for _, c := range e.Components {
		n += 128 + len(c.Name) + len(c.Group)
		for _, dashboard := range c.Dashboards {
			n += 16 + len(dashboard)
		}
	}
	for _, wording := range change.Notify {
		n += 128 + len(wording.Text) + len(wording.Message) + 8*len(wording.Endpoints)
	}
	return n
}
