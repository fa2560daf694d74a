package edition

import (
	"slices"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/cache"
)

// decodedEdition is an edition with its decoded state. It is never changed.
type decodedEdition struct {
	Part   // the head of the edition, without Body
	state  State
	former string // id of the previous edition; empty if there was none, or if the process has read this edition from the store
	// snapshot returns the snapshot with the events.
	snapshot func() Snapshot
}

func newDecodedEdition(head Part, state State) *decodedEdition {
	head.Body = nil
	return &decodedEdition{Part: head, state: state, snapshot: sync.OnceValue(state.shown)}
}

// size returns the approximate number of bytes that the decodedEdition uses. Events count twice, because snapshot
// copies them from the chunks.
func (e *decodedEdition) size() int {
	n := headSize
	for _, one := range e.state.chunks {
		n += 2 * one.size
	}
	for i := range e.state.Snapshot.Components {
		component := &e.state.Snapshot.Components[i]
		n += 512 + len(component.Description) + 256*len(component.Days)
	}
	return n
}

const (
	// maxDecoded is how many bytes of editions a process caches.
	maxDecoded = 24 << 20
	// headSize is the approximate number of bytes of an edition without components and events.
	headSize = 3 << 10
)

// decodedEditions caches the editions that the process has made or read recently.
type decodedEditions struct {
	mu   sync.Mutex // held while the cache is changed
	byID *cache.Sized[string, *decodedEdition]
	of   map[string][]*decodedEdition // by dashboard, in the order of add
}

func newDecodedEditions() *decodedEditions {
	d := &decodedEditions{of: make(map[string][]*decodedEdition)}
	d.byID = cache.NewSized(maxDecoded, func(_ string, old *decodedEdition) { d.forget(old) })
	return d
}

// add adds an edition to the cache. It removes older editions of the same dashboard, except the previous edition, whose
// files a gateway may still request. It also removes the least recently used editions while the cache has more than
// maxDecoded bytes.
func (d *decodedEditions) add(fresh *decodedEdition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, old := range slices.Clone(d.of[fresh.DashboardID]) {
		if old.ID == fresh.ID || old.Number < fresh.Number && old.ID != fresh.former {
			d.byID.Remove(old.ID)
		}
	}
	d.of[fresh.DashboardID] = append(d.of[fresh.DashboardID], fresh)
	d.byID.Add(fresh.ID, fresh, fresh.size())
}

// forget removes an edition from its dashboard's list after it was removed from byID.
func (d *decodedEditions) forget(old *decodedEdition) {
	rest := slices.DeleteFunc(d.of[old.DashboardID], func(e *decodedEdition) bool { return e == old })
	if d.of[old.DashboardID] = rest; len(rest) == 0 {
		delete(d.of, old.DashboardID)
	}
}
