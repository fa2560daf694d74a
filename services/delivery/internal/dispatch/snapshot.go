package dispatch

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/cache"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	snapshotBytes = 16 << 20 // limit for the changes in the cache, in bytes; open shards keep further changes in memory
	textBytes     = 16 << 20 // limit for the rendered texts of all changes in the cache, in bytes
	maxLoggedKeys = 256      // maximum number of keys in Snapshot.logged
)

// Snapshot is the Content of deliveries with the texts that channels rendered from it.
type Snapshot struct {
	topic.EventChange               // result of Content.change
	Notice            *topic.Notice // nil: a change of an event
	To                string        // Content.To

	texts  *cache.Sized[textKey, any] // shared by all changes; nil in tests
	mu     sync.Mutex
	logged map[int64]struct{} // keys of requests that are stored
}

type textKey struct{ change, text string }

// isLogged reports whether the request with the key is known to be stored. It may return false for a stored request.
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

// Rendered returns the text of s that is cached under the key. If there is none, it calls render and caches the result. The
// caller must not change the text.
func (s *Snapshot) Rendered(key string, render func() ([]byte, error)) ([]byte, error) {
	return Rendered(s, key, func(text []byte) int { return len(text) }, render)
}

// Rendered does the same as Snapshot.Rendered, for a text of any type. size returns the size of a text in bytes.
func Rendered[T any](s *Snapshot, key string, size func(T) int, render func() (T, error)) (T, error) {
	if s.texts == nil {
		return render()
	}
	s.mu.Lock() // so that a text is rendered once
	defer s.mu.Unlock()
	if text, found := s.texts.Get(textKey{s.ID, key}); found {
		return text.(T), nil
	}
	text, err := render()
	if err == nil {
		s.texts.GetOrAdd(textKey{s.ID, key}, text, len(key)+size(text))
	}
	return text, err
}

// componentsFor returns the change's components about which the destination is notified: those that it subscribed to. If the
// destination is an endpoint, or subscribed to all components of its dashboard, its dashboard must also show the component.
// state is the result of eventStates.of, or nil.
func componentsFor(change *topic.EventChange, to *topic.Destination, state *topic.EventState) []topic.Component {
	other := func(c topic.Component) bool {
		if to.Components == nil || to.Channel.RecipientService() == topic.Integrations {
			if !slices.Contains(dashboardsOf(c, state), to.Dashboard.ID) {
				return true
			}
		}
		return to.Components != nil && !slices.Contains(to.Components, c.ID)
	}
	if !slices.ContainsFunc(change.Event.Components, other) {
		return change.Event.Components // without a copy
	}
	return slices.DeleteFunc(slices.Clone(change.Event.Components), other)
}

// snapshots is a cache of the changes that are being sent.
type snapshots struct {
	store Store
	byID  *cache.Sized[string, *Snapshot]
	texts *cache.Sized[textKey, any]
}

func newSnapshots(store Store) *snapshots {
	return &snapshots{store, cache.NewSized[string, *Snapshot](snapshotBytes, nil), cache.NewSized[textKey, any](textBytes, nil)}
}

// get returns the change. The error is fault.NotFound if the change was deleted.
func (s *snapshots) get(ctx context.Context, id string) (*Snapshot, error) {
	if found, is := s.byID.Get(id); is {
		return found, nil
	}
	content, err := s.store.Content(ctx, id)
	if err != nil {
		return nil, err
	}
	snapshot := &Snapshot{EventChange: content.change(), Notice: content.Notice, To: content.To, texts: s.texts}
	return s.byID.GetOrAdd(id, snapshot, bytesOf(&snapshot.EventChange)), nil
}

// bytesOf returns the approximate size of a change in memory.
func bytesOf(change *topic.EventChange) int {
	text, _ := json.Marshal(change) // every change can be encoded
	return 1<<10 + len(text)
}
