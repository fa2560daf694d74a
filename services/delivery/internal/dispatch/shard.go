package dispatch

import (
	"cmp"
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// When a user pauses an endpoint, no attempt may start more than 100 ms after the response to the user. So resolved
// destinations of a shard are valid for staleAfter. And right before an attempt, a destination that was requested more than
// strictlyAfter ago is resolved again. The attempt may then wait for the store or a connection. If the destination was
// requested more than tooLate ago after this wait, it is resolved once more.
const (
	staleAfter    = 50 * time.Millisecond
	strictlyAfter = 60 * time.Millisecond
	tooLate       = 100 * time.Millisecond
	// slowBatch applies if a call that resolves destinations takes longer than staleAfter. After slowBatch members were
	// taken, the destinations of the others are resolved again. In addition, the destination of each member is resolved again
	// right before its attempt.
	slowBatch = 64
)

// phase is the state of a shard.
type phase int

const (
	closed  phase = iota // must be opened: stored rows or destinations are unknown
	opening              // is being opened, or waits after a failure
	open                 // its members may be taken
)

// shard is a group of deliveries of one change on one channel: a topic.Shard, or rows that are due. The queue's mutex
// guards those fields that change.
type shard struct {
	id           string          // id of the topic.Shard; empty for due rows
	ctx          context.Context // ends when no delivery of the partition may begin any more
	trace        context.Context // carries the trace and ends with Sender.work
	partition    int
	organization string
	channel      topic.Channel
	service      topic.RecipientService // service that a topic.Notice names; empty: the service of the channel
	changeID     string
	retry        bool
	replay       string // topic.Shard.Replay: id of the row of a replay or a test message; else empty
	work         Work   // Kafka message of a topic.Shard, or hold of due rows; nil in tests

	change      *Snapshot
	recipients  []string // only before the shard is opened; ids need less memory than members
	members     []*member
	next        int // index of the next member in members
	phase       phase
	checked     bool      // the shard was opened once, and stored members were removed
	resolvedAt  time.Time // when the destinations were received
	requestedAt time.Time // when the destinations were requested
	taken       int       // members taken since resolvedAt
	failures    int
	outstanding int  // members in progress and outcomes to be published
	abandoned   bool // the shard must be processed again
	completed   bool
	duplicate   bool // another copy of the shard was in progress when this copy was pushed
}

// member is one delivery of a shard.
type member struct {
	shard       *shard
	id          string
	recipient   string
	row         *deliverylog.Delivery // stored row of a retry; nil: first attempt
	to          *topic.Destination
	requestedAt time.Time // when the destination was requested
	components  []topic.Component
	locked      bool                 // the member has the lock of its recipient
	leased      bool                 // this process has leased the row
	hadTurn     string               // the Key of the limit for which the member had its last turn (Sender.pace)
	turn        time.Time            // the last turn
	held        bool                 // the member must wait as a row for this turn
	failures    int                  // failures of the store or another service since the member was taken
	request     *deliverylog.Request // request of the attempt that must still be stored
}

// opened is a shard that is being opened, and the values that open sets.
type opened struct {
	shard        *shard
	change       *Snapshot           // nil the first time, until it is loaded
	members      []*member           // the members that are not taken, a part of shard.members; the first time, a copy without the stored members
	destinations []topic.Destination // destinations of members, in the same order
	requestedAt  time.Time           // when the destinations were requested
	err          error               // why the shard cannot be opened yet
}

// makeMembers creates the members of a topic.Shard.
func (s *shard) makeMembers() {
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

// recipientService returns the service that resolves the recipients.
func (s *shard) recipientService() topic.RecipientService {
	return cmp.Or(s.service, s.channel.RecipientService())
}

// tenant returns the key of the shard's tenant.
func (s *shard) tenant() tenantKey {
	return tenantKey{s.organization, s.channel, s.recipientService()}
}

// alone returns an opened with m as its only member, to look for its stored delivery or to resolve it again without the
// others.
func (m *member) alone() *opened {
	return &opened{shard: m.shard, change: m.shard.change, members: []*member{m}}
}

// opensWith reports whether the shard and another shard of the same tenant can be opened together: they have the same change,
// both or none were opened before, both or none have due rows, and none is a replay.
func (s *shard) opensWith(other *shard) bool {
	return s.changeID == other.changeID && s.checked == other.checked && s.retry == other.retry && s.replay == "" && other.replay == ""
}

// left returns how many members are not taken yet.
func (s *shard) left() int { return len(s.recipients) + len(s.members) - s.next }

// setOpen sets the destinations of the members that are not taken yet, and opens the shard.
func (s *shard) setOpen(found *opened, now time.Time) {
	if !s.checked {
		s.checked, s.change, s.members = true, found.change, found.members
	}
	for i, m := range s.members[s.next:] {
		m.to, m.requestedAt = &found.destinations[i], found.requestedAt
	}
	s.phase, s.failures, s.resolvedAt, s.requestedAt, s.taken = open, 0, now, found.requestedAt, 0
}

// stale reports whether the destinations of the members that are not taken yet must be resolved again.
func (s *shard) stale(now time.Time) bool {
	return now.Sub(s.resolvedAt) > staleAfter || s.taken >= slowBatch && now.Sub(s.requestedAt) > staleAfter
}

func (s *shard) take() *member {
	m := s.members[s.next]
	s.members[s.next] = nil
	s.next++
	s.taken++
	s.outstanding++
	return m
}

// exhausted reports whether no further member will be taken.
func (s *shard) exhausted() bool {
	return s.abandoned || s.phase == open && s.left() == 0
}
