package channel

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/slots"
)

const (
	maxConnections  = 12          // fast slots: connections at the same time
	slowConnections = 8           // slow slots, for mails that use a connection for longer than slowMail
	slowMail        = time.Second // a mail that takes longer moves to a slow slot; some servers take long to check a recipient

	mailWait    = time.Second            // at most as many mails wait as get a connection within this time
	fewWaiting  = 40                     // lower bound of the number of waiting mails, for a slow server
	mostWaiting = 512                    // upper bound of the number of waiting mails, because the Sender has 1,152 slots for all channels
	mailsAtOnce = 128                    // maximum number of waiting mails until a mail has ended, because the time of a mail is unknown before
	unknownGap  = 10 * time.Millisecond  // time between two turns until a mail has ended
	firstTurn   = 300 * time.Millisecond // minimum time until a turn
	// longestMailTurn limits how long a mail waits for a turn at the rate of the server and in the share of its organization.
	// If the turn would be later, the mail gets an earlier turn, in a sequence of turns that are at most quickGap apart. Until
	// then the server may become quicker, and the other organizations may have no more mails. Tries that find no connection
	// cost little.
	longestMailTurn = 2 * time.Minute
	quickGap        = 5 * time.Millisecond
	turnsStay       = 100 * time.Millisecond
)

// mailQueue assigns the connections to the server to mails. Each mail that waits for a connection keeps a slot of the Sender,
// and all channels and organizations need these slots. So only few mails wait. The others get turns, at the rate at which the
// server accepts mails. Organizations with turns share this rate.
type mailQueue struct {
	connections slots.Slots // connections in use

	mu      sync.Mutex
	waiting int
	took    time.Duration        // moving average of the time that a mail uses a connection; 0: unknown
	turns   map[string]mailTurns // by organization; enter removes organizations whose turns are over, at most once in turnsStay
	swept   time.Time            // when the turns that were over were removed last
	late    dispatch.Turns       // turns of mails whose other turns would be later than longestMailTurn
}

// mailTurns are the turns of an organization: those at the rate of the server, and for a slow server those that are quickGap
// apart. The organizations share both rates.
type mailTurns struct{ usual, quick dispatch.Turns }

func newMailQueue() *mailQueue {
	return &mailQueue{turns: make(map[string]mailTurns), connections: slots.Slots{
		Fast: make(chan struct{}, maxConnections), Slow: make(chan struct{}, slowConnections),
		FastTime: slowMail, OvertakeTime: slowMail, Moved: func(int) {},
	}}
}

// acquire waits for a connection. It returns nil if ctx ended. If enough mails wait, it returns nil and the time until the
// turn of this mail.
func (q *mailQueue) acquire(ctx context.Context, organization string) (slot *slots.Slot, turn time.Duration) {
	if turn := q.enter(organization, time.Now()); turn > 0 {
		return nil, turn
	}
	defer q.leave()
	return q.connections.Acquire(ctx), 0
}

// enter counts a mail that waits and returns 0. If enough mails wait, it returns the time until the turn of this mail.
func (q *mailQueue) enter(organization string, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	gap, limit := unknownGap, mailsAtOnce
	if q.took > 0 {
		connections := maxConnections
		if q.took > slowMail {
			connections += slowConnections
		}
		gap = max(q.took/time.Duration(connections), time.Microsecond)
		limit = min(max(int(mailWait/gap), fewWaiting), mostWaiting)
	}
	if q.waiting < limit {
		q.waiting++
		return 0
	}
	turns := q.turns[organization]
	if now.Sub(q.swept) >= turnsStay {
		q.swept = now
		maps.DeleteFunc(q.turns, func(_ string, other mailTurns) bool { return other.usual.Over(now) && other.quick.Over(now) })
	}
	q.turns[organization] = turns
	// The time between turns is a tenth shorter than gap, so that the server is not idle if it becomes quicker.
	gap = gap * 9 / 10
	next, organizations := turns, time.Duration(len(q.turns))
	turn := next.usual.Turn(firstOf(gap*organizations, now))
	if slow := gap > quickGap; turn.Sub(now) > longestMailTurn && (slow || organizations > 1) {
		if next = turns; slow {
			turn = next.quick.Turn(firstOf(quickGap*organizations, now))
		}
		if turn.Sub(now) > longestMailTurn {
			next, turn = turns, q.late.Turn(firstOf(min(gap, quickGap), now))
		}
	}
	q.turns[organization] = next
	return turn.Sub(now)
}

// firstOf returns the earliest time of a turn, and the gap. A random part of the time makes the turns of different sequences
// differ.
func firstOf(gap time.Duration, now time.Time) (first time.Time, _ time.Duration) {
	return now.Add(firstTurn + rand.N(gap)), gap
}

func (q *mailQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
}

// record adds the time of a mail to the moving average.
func (q *mailQueue) record(took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.took == 0 {
		q.took = took
	}
	q.took += (took - q.took) / 8
}
