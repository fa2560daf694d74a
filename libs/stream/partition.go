package stream

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The buffer of a partition requests more records while it has fewer than these.
const (
	lowRecords = 512
	lowBytes   = 512 << 10
)

// partition is one partition while the member owns it: a buffer of fetched records, and the
// records that were handed out and are not finished. Its position is the lowest unfinished
// offset. The group may commit up to this position.
type partition struct {
	topic     string
	id        int
	leader    atomic.Int64 // the broker to fetch from, -1 if unknown
	unbroken  func() bool  // whether the process has not stood still since the assignment
	lag       *prometheus.GaugeVec
	intake    context.Context // ends when nothing may begin any more
	work      context.Context // ends when the partition is given back
	endIntake func()
	interrupt func()
	idle      chan struct{} // closed when nothing is under way after the end of the intake
	// committed is the offset that the group has committed, -1 if unknown.
	committed atomic.Int64

	mu         sync.Mutex
	waiting    []Record
	bytes      int           // size of the values in waiting
	arrived    chan struct{} // has a value after records arrived
	drained    func()        // called when the buffer has room again
	next       int64         // the offset to fetch from
	unfinished []*handout    // in the order of their offsets, from the lowest unfinished one
	handedOut  int64         // the offset after the last record that was handed out
	busy       int           // number of things under way: the goroutine that hands out, unended handouts, and holds
	revoked    bool          // the intake has ended
	expired    bool          // the time after the end of the intake is over
	closed     bool          // given back
}

// handout is a record, or several consecutive ones, that was handed out to a handler.
type handout struct {
	partition *partition
	offset    int64 // offset of the first record
	finished  bool  // the effect is durable
	ended     bool  // nothing works on it any more
	release   func()
}

func newPartition(topic string, id int, offset int64, drained func()) *partition {
	p := &partition{
		topic: topic, id: id, next: offset, handedOut: offset,
		arrived: make(chan struct{}, 1), drained: drained, idle: make(chan struct{}), busy: 1,
	}
	p.intake, p.endIntake = context.WithCancel(context.Background())
	p.work, p.interrupt = context.WithCancel(context.Background())
	p.committed.Store(offset)
	p.leader.Store(-1)
	return p
}

// revoke ends the intake. The partition is ready to be given back when nothing is under way, at the latest after StopTimeout.
func (p *partition) revoke() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revoked {
		return
	}
	p.revoked = true
	p.endIntake()
	p.idleLocked()
	timer := time.AfterFunc(StopTimeout, func() {
		p.interrupt()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.expired = true
	})
	context.AfterFunc(p.work, func() { timer.Stop() })
}

// ready reports whether the partition can be given back.
func (p *partition) ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.revoked && (p.busy == 0 || p.expired)
}

// held reports whether no other member can have the partition: it was not given back, and the process has not stood still.
func (p *partition) held() bool {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	return !closed && p.unbroken()
}

// hold delays the end of the ownership until release is called. It returns nil if the intake has ended.
func (p *partition) hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revoked {
		return nil
	}
	p.busy++
	return sync.OnceFunc(p.leave)
}

// leave ends the goroutine that hands out, or a hold.
func (p *partition) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.idleLocked()
}

func (p *partition) idleLocked() {
	if p.revoked && p.busy == 0 {
		close(p.idle)
	}
}

// report sets the lag to the records between the committed offset and the end, unless the partition was given back.
func (p *partition) report(end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if committed := p.committed.Load(); committed >= 0 && !p.closed {
		p.lag.WithLabelValues(p.topic, strconv.Itoa(p.id)).Set(float64(end - committed))
	}
}

// full reports whether the buffer is full. The caller holds mu.
func (p *partition) full() bool { return len(p.waiting) >= lowRecords || p.bytes >= lowBytes }

// wants returns the offset to fetch next, and false if the buffer is full or nothing may be handed out.
func (p *partition) wants() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next, !p.full() && !p.revoked && p.next >= 0
}

// push appends records that were fetched from the offset at. It discards them if at is not
// the next offset, because the partition was reset in the meantime.
func (p *partition) push(at int64, records []Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at != p.next || len(records) == 0 {
		return
	}
	for _, each := range records {
		p.bytes += len(each.Value)
	}
	p.waiting = append(p.waiting, records...)
	p.next = records[len(records)-1].offset + 1
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// take waits for records and returns at most limit of them. It returns none if ctx has ended.
func (p *partition) take(ctx context.Context, limit int) []Record {
	for ctx.Err() == nil {
		if taken := p.poll(limit); len(taken) > 0 {
			return taken
		}
		select {
		case <-ctx.Done():
		case <-p.arrived:
		}
	}
	return nil
}

func (p *partition) poll(limit int) []Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := p.full()
	taken := p.waiting[:min(limit, len(p.waiting))]
	p.waiting = p.waiting[len(taken):]
	for _, each := range taken {
		p.bytes -= len(each.Value)
	}
	if full && !p.full() {
		p.drained()
	}
	return taken
}

// handOut records that a handler got the records from first to last. release is called
// once, when nothing works on them any more. It must not call the partition.
func (p *partition) handOut(first, last int64, release func()) *handout {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &handout{partition: p, offset: first, release: release}
	p.unfinished = append(p.unfinished, h)
	p.handedOut = last + 1
	p.busy++
	return h
}

// end ends the work on the records. Only the first call has an effect. If they are not
// finished, the position stays at or before them.
func (h *handout) end(finished bool) {
	p := h.partition
	p.mu.Lock()
	defer p.mu.Unlock()
	h.endLocked(finished)
	for len(p.unfinished) > 0 && p.unfinished[0].finished {
		p.unfinished[0] = nil
		p.unfinished = p.unfinished[1:]
	}
}

func (h *handout) endLocked(finished bool) {
	if h.ended {
		return
	}
	h.ended, h.finished = true, finished
	h.release()
	h.partition.busy--
	h.partition.idleLocked()
}

// uncommitted returns the position, and whether it differs from the committed offset.
func (p *partition) uncommitted() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	position := p.handedOut
	if len(p.unfinished) > 0 {
		position = p.unfinished[0].offset
	}
	return position, position != p.committed.Load()
}

// reset discards all records and continues at offset. It serves a log that does not contain
// the next record any more.
func (p *partition) reset(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAllLocked()
	p.waiting, p.bytes = nil, 0
	p.next, p.handedOut = offset, offset
	p.committed.Store(-1)
}

// close ends the ownership and the unfinished handouts. The next owner of the partition gets their records again.
func (p *partition) close() {
	p.revoke()
	p.interrupt()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.endAllLocked()
	if p.lag != nil {
		p.lag.DeleteLabelValues(p.topic, strconv.Itoa(p.id))
	}
}

func (p *partition) endAllLocked() {
	for _, h := range p.unfinished {
		h.endLocked(false)
	}
	p.unfinished = nil
}
