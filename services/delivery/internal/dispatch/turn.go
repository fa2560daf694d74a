package dispatch

import "sync"

// turns lets one delivery at a time go to a recipient, in the order they came.
type turns struct {
	mu   sync.Mutex
	busy map[string][]*member // who waits, by the recipient whose turn is taken
}

func newTurns() *turns { return &turns{busy: make(map[string][]*member)} }

// enter takes the turn, or lines the member up for it.
func (t *turns) enter(m *member) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, busy := t.busy[m.recipient]
	if busy {
		t.busy[m.recipient] = append(line, m)
		return false
	}
	t.busy[m.recipient] = nil
	return true
}

// leave ends the turn; the member whose turn it is now, if any, is returned.
func (t *turns) leave(m *member) *member {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.busy[m.recipient]
	if len(line) == 0 {
		delete(t.busy, m.recipient)
		return nil
	}
	t.busy[m.recipient] = line[1:]
	return line[0]
}

// behind is how many wait for the member's turn to end.
func (t *turns) behind(m *member) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.busy[m.recipient])
}
