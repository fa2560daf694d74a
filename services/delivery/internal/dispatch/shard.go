package dispatch

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// A pause must hold for whatever starts more than 100 ms after it was answered. So what is
// known of a shard's recipients is good for staleAfter once it is there, and what is known
// of one recipient for strictlyAfter from when it was asked for, looked at right before the attempt.
const (
	staleAfter    = 50 * time.Millisecond
	strictlyAfter = 60 * time.Millisecond
	// Where asking itself takes longer, so many members go with each result, and are asked for one by one.
	slowlyAsked = 64
)

// phase is where a shard stands.
type phase int

const (
	closed  phase = iota // to be opened: what is recorded, and where its members live
	opening              // being opened, or resting before another try
	open                 // its members may be taken
)

// shard is a group of deliveries of one change on one channel that are sent in one
// go: a shard from the topic, or rows whose next attempt is due. Its fields are the
// queue's, except for what never changes.
type shard struct {
	id           string          // of a shard from the topic
	ctx          context.Context // ends when the partition is lost
	trace        context.Context // its trace, for as long as the sender works
	partition    int
	organization string
	channel      topic.Channel
	changeID     string
	retry        bool
	settle       func(finished bool) // called once, when nobody works on it any more

	change      *Snapshot
	recipients  []string // its members to be, until it is opened: most shards wait for long
	members     []*member
	next        int // members before it were taken
	phase       phase
	looked      bool // what is recorded of its members is known
	resolvedAt  time.Time
	asked       time.Time
	taken       int // since then
	failures    int
	outstanding int // taken and not finished, and what else must be durable first
	given       bool
	again       bool // the same shard was in hand when this one came
}

// member is one delivery of a shard.
type member struct {
	shard      *shard
	id         string
	recipient  string
	row        *Delivery // a retry's
	to         *topic.Destination
	asked      time.Time // when its destination was asked for
	change     *Snapshot
	components []topic.Component
	turn       bool // it holds its recipient's turn
	leased     bool // its row is, by this process
}

// opened is what was found out about a shard: its change and members at the first time, and
// where the members live that were not taken yet.
type opened struct {
	change       *Snapshot
	members      []*member
	destinations []topic.Destination
	asked        time.Time
}

// unfold makes the members of a shard from the topic.
func (s *shard) unfold() {
	if s.recipients == nil {
		return
	}
	members := make([]member, len(s.recipients))
	s.members = make([]*member, len(members))
	for i, recipient := range s.recipients {
		members[i] = member{shard: s, recipient: recipient}
		s.members[i] = &members[i]
	}
	s.recipients = nil
}

// left is how many of its members were not taken yet.
func (s *shard) left() int { return len(s.recipients) + len(s.members) - s.next }

// apply makes the shard's members ready to be taken.
func (s *shard) apply(found opened, now time.Time) {
	if !s.looked {
		s.looked, s.change, s.members = true, found.change, found.members
	}
	for i, m := range s.members[s.next:] {
		m.to, m.change, m.asked = &found.destinations[i], s.change, found.asked
	}
	s.phase, s.failures, s.resolvedAt, s.asked, s.taken = open, 0, now, found.asked, 0
}

// stale reports that the rest is to be asked for again before it is taken.
func (s *shard) stale(now time.Time) bool {
	return now.Sub(s.resolvedAt) > staleAfter || s.taken >= slowlyAsked && now.Sub(s.asked) > staleAfter
}

// take is the next member.
func (s *shard) take() *member {
	m := s.members[s.next]
	s.members[s.next] = nil
	s.next++
	s.taken++
	s.outstanding++
	return m
}

// exhausted reports that nothing will be taken any more.
func (s *shard) exhausted() bool {
	return s.given || s.phase == open && s.left() == 0
}
