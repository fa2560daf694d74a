package edition

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// decodedEdition is an edition with its decoded state. Nobody changes it.
type decodedEdition struct {
	Part   // the head, without its body
	state  State
	former string // id of the edition before; empty if the process has read the edition from the store
	// snapshot returns the snapshot with the events.
	snapshot func() Snapshot
}

func newDecodedEdition(head Part, state State) *decodedEdition {
	head.Body = nil
	return &decodedEdition{Part: head, state: state, snapshot: sync.OnceValue(state.shown)}
}

// size returns about how many bytes the decodedEdition uses. The events count twice: in chunks, and in the snapshot that files are
// rendered from.
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
	// maxDecoded bounds the editions that a process remembers, in bytes.
	maxDecoded = 24 << 20
	// headSize is what an edition uses without components and events, in bytes, about.
	headSize = 3 << 10
)

// decodedEditions has the editions that the process has made or read lately.
type decodedEditions struct {
	mu   sync.Mutex // guards writes
	byID *lru.Cache[string, *decodedEdition]
	size int
}

func newDecodedEditions() *decodedEditions {
	d := &decodedEditions{}
	d.byID, _ = lru.NewWithEvict(maxDecoded/headSize, func(_ string, old *decodedEdition) { d.size -= old.size() }) // fails only for a size below 1
	return d
}

// add adds an edition. It evicts the older ones of the dashboard but the former one, of which a gateway may still read
// files. The older ones include those that the process has read for a gateway.
func (d *decodedEditions) add(fresh *decodedEdition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, old := range d.byID.Values() {
		if old.ID == fresh.ID || old.DashboardID == fresh.DashboardID && old.Number < fresh.Number && old.ID != fresh.former {
			d.byID.Remove(old.ID)
		}
	}
	d.size += fresh.size()
	d.byID.Add(fresh.ID, fresh)
	for d.size > maxDecoded && d.byID.Len() > 1 {
		d.byID.RemoveOldest()
	}
}
