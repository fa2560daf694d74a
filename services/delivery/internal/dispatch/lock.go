package dispatch

import "sync"

// recipientLocks let each recipient have one delivery in progress, in the order in which pump takes them.
type recipientLocks struct {
	mu     sync.Mutex
	queues map[string][]*member // by locked recipient: the members that wait for the lock
}

// lock locks m's recipient and returns true. If the recipient is locked, lock queues m and returns false.
func (l *recipientLocks) lock(m *member) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, locked := l.queues[m.recipient]
	if locked {
		l.queues[m.recipient] = append(queue, m)
		return false
	}
	l.queues[m.recipient] = nil
	m.locked = true
	return true
}

// unlock releases the lock of m. It passes the lock to the next member in the queue and returns that member,
// or nil if the queue is empty.
func (l *recipientLocks) unlock(m *member) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.locked = false
	queue := l.queues[m.recipient]
	if len(queue) == 0 {
		delete(l.queues, m.recipient)
		return nil
	}
	l.queues[m.recipient] = queue[1:]
	queue[0].locked = true
	return queue[0]
}

// waiting returns how many members wait for the lock of m.
func (l *recipientLocks) waiting(m *member) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queues[m.recipient])
}
