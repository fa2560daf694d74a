package stream

import "sync"

// gate counts who is inside and lets nobody in any more once it is closed.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{}
}

func newGate() *gate { return &gate{empty: make(chan struct{})} }

// enter reports whether the gate let one more in.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// again is for one who is inside already.
func (g *gate) again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside++
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// close shuts the gate; the channel ends when the last one has left.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		if g.inside == 0 {
			close(g.empty)
		}
	}
	return g.empty
}
