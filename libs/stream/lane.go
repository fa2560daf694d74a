package stream

import (
	"context"
	"sync"
)

// A lane asks for more while less than this waits in it.
const (
	lowRecords = 512
	lowBytes   = 512 << 10
)

// fetched is a record that waits to be handed out.
type fetched struct {
	record Record
	offset int64
}

// lane is one partition during one assignment: what was fetched and waits, and what
// was handed out and is not finished. Its position, up to which the group may commit,
// is the lowest unfinished offset.
type lane struct {
	topic     string
	partition int

	mu         sync.Mutex
	waiting    []fetched
	bytes      int
	arrived    chan struct{} // has a value after records arrived
	drained    func()        // called when the lane asks for more again
	leader     int           // broker that is asked
	next       int64         // offset to fetch from
	unfinished []*handout    // ascending offsets, from the lowest unfinished one on
	behind     int64         // behind the last record that was handed out
	committed  int64         // -1: nothing known
}

// handout is a record, or a run of them, in a handler's hands.
type handout struct {
	lane     *lane
	offset   int64 // of the first
	finished bool  // the effect is durable
	settled  bool  // nobody works on it any more
	release  func()
}

func newLane(topic string, partition int, offset int64, drained func()) *lane {
	return &lane{
		topic: topic, partition: partition, leader: -1,
		next: offset, behind: offset, committed: offset,
		arrived: make(chan struct{}, 1), drained: drained,
	}
}

// wants is the offset to fetch from, if the lane has room.
func (l *lane) wants() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next, len(l.waiting) < lowRecords && l.bytes < lowBytes
}

// push appends records that were fetched from the offset at; if the lane was reset
// meanwhile they are not what it waits for.
func (l *lane) push(at int64, records []fetched) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at != l.next || len(records) == 0 {
		return
	}
	for _, each := range records {
		l.bytes += len(each.record.Value)
	}
	l.waiting = append(l.waiting, records...)
	l.next = records[len(records)-1].offset + 1
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// take waits for records and takes up to limit of them; none means that ctx ended.
func (l *lane) take(ctx context.Context, limit int) []fetched {
	for ctx.Err() == nil {
		if taken := l.poll(limit); len(taken) > 0 {
			return taken
		}
		select {
		case <-ctx.Done():
		case <-l.arrived:
		}
	}
	return nil
}

func (l *lane) poll(limit int) []fetched {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := len(l.waiting) >= lowRecords || l.bytes >= lowBytes
	taken := l.waiting[:min(limit, len(l.waiting))]
	l.waiting = l.waiting[len(taken):]
	for _, each := range taken {
		l.bytes -= len(each.record.Value)
	}
	if full && len(l.waiting) < lowRecords && l.bytes < lowBytes {
		l.drained()
	}
	return taken
}

// handOut notes that a handler got the records from first to last. release is
// called once, when nobody works on them any more; it must not call the lane.
func (l *lane) handOut(first, last int64, release func()) *handout {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &handout{lane: l, offset: first, release: release}
	l.unfinished = append(l.unfinished, h)
	l.behind = last + 1
	return h
}

// settle ends the work on a record, its effect durable or not; only the first
// call counts. A record given back unfinished keeps the position where it is.
func (h *handout) settle(finished bool) {
	h.lane.mu.Lock()
	defer h.lane.mu.Unlock()
	h.settleLocked(finished)
	for len(h.lane.unfinished) > 0 && h.lane.unfinished[0].finished {
		h.lane.unfinished[0] = nil
		h.lane.unfinished = h.lane.unfinished[1:]
	}
}

func (h *handout) settleLocked(finished bool) {
	if h.settled {
		return
	}
	h.settled, h.finished = true, finished
	h.release()
}

// uncommitted is the position, if the group's commit is not there yet.
func (l *lane) uncommitted() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	position := l.behind
	if len(l.unfinished) > 0 {
		position = l.unfinished[0].offset
	}
	return position, position != l.committed
}

func (l *lane) commit(position int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.committed = position
}

// reset forgets everything and goes on at offset; for a log that does not hold the
// next record any more.
func (l *lane) reset(offset int64) {
	l.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting, l.bytes = nil, 0
	l.next, l.behind, l.committed = offset, offset, -1
}

// close gives back what is unfinished: the partition's next owner gets it again.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.unfinished {
		h.settleLocked(false)
	}
	l.unfinished = nil
}

// at is the broker the lane's partition is led by, -1 when not known.
func (l *lane) at() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader
}

func (l *lane) move(leader int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leader = leader
}

// known is what the group has committed, -1 when that is not known.
func (l *lane) known() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.committed
}
