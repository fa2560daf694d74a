package dispatch

import (
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// recipientLocks allow one delivery at a time for each recipient on a channel, in the order in which pump takes the
// deliveries. Mail about an endpoint has another channel, so it does not wait for the deliveries to the endpoint.
type recipientLocks struct {
	mu     sync.Mutex
	queues map[lockKey][]*member // has a key for each locked recipient; the members wait for the lock
}

type lockKey struct {
	channel   topic.Channel
	recipient string
}

func (m *member) lockKey() lockKey { return lockKey{m.shard.channel, m.recipient} }

// lock locks m's recipient and returns true. If the recipient is locked, lock queues m and returns false.
func (l *recipientLocks) lock(m *member) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, locked := l.queues[m.lockKey()]
	if locked {
		l.queues[m.lockKey()] = append(queue, m)
		return false
	}
	l.queues[m.lockKey()] = nil
	m.locked = true
	return true
}

// unlock releases the lock of m. It passes the lock to the next member in the queue and returns that member,
// or nil if the queue is empty.
func (l *recipientLocks) unlock(m *member) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.locked = false
	queue := l.queues[m.lockKey()]
	if len(queue) == 0 {
		delete(l.queues, m.lockKey())
		return nil
	}
	l.queues[m.lockKey()] = queue[1:]
	queue[0].locked = true
	return queue[0]
}

// waiting returns how many members wait for the lock of m.
func (l *recipientLocks) waiting(m *member) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queues[m.lockKey()])
}
