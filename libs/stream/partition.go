package stream

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The member fetches more records for a partition while the partition's buffer has fewer than lowRecords records and fewer
// bytes than its share. A share is bufferBytes divided by the number of partitions, at least leastShare and at most
// mostShare. So a backlog in many partitions does not need much more memory than a backlog in a few.
const (
	lowRecords  = 512
	bufferBytes = 8 << 20
	leastShare  = 64 << 10
	mostShare   = 512 << 10
)

// shareOf returns the bytes of each buffer if a member has the given number of partitions. One fetch can add about as
// many bytes again, counted before they are decompressed.
func shareOf(partitions int) int64 {
	return int64(min(max(bufferBytes/max(partitions, 1), leastShare), mostShare))
}

// partition is a partition that the member owns. It contains a buffer of fetched records, and the records that were
// handed out and are not finished. Its position is the lowest unfinished offset, or handedOut if no record is
// unfinished. The group may commit offsets up to this position.
type partition struct {
	topic     string
	id        int
	leader    atomic.Int64 // id of the broker to fetch from, -1 if unknown
	unbroken  func() bool  // reports whether the process has not been suspended since the assignment
	lag       *prometheus.GaugeVec
	intake    context.Context // ends when no new work may begin
	work      context.Context // ends when the partition is given back, at most StopTimeout after the end of intake
	endIntake func()
	interrupt func()
	idle      chan struct{} // closed when the intake has ended and no work is running
	// committed is the offset that the group has committed; negative: unknown.
	committed atomic.Int64
	share     *atomic.Int64 // number of bytes from which on the buffer is full

	mu         sync.Mutex
	waiting    []Record
	bytes      int           // size of the values in waiting
	refused    bool          // the buffer was full when records were to be fetched
	arrived    chan struct{} // has a value after records arrived
	drained    func()        // called when the buffer has room again
	next       int64         // offset to fetch next
	unfinished []*handout    // ordered by offset; the first is the lowest unfinished one
	handedOut  int64         // offset after the last record that was handed out
	busy       int           // number of users: the goroutine that hands out records, handouts that have not ended, and holds
	revoked    bool          // the intake has ended
	expired    bool          // StopTimeout has passed since the end of the intake
	closed     bool          // the partition was given back
}

// handout is one record, or several consecutive records, that a handler got.
type handout struct {
	partition *partition
	offset    int64 // offset of the first record
	finished  bool  // the effect of the records is durable
	ended     bool  // the work on the records has ended
	release   func()
}

func newPartition(topic string, id int, offset int64, share *atomic.Int64, drained func()) *partition {
	p := &partition{
		topic: topic, id: id, next: offset, handedOut: offset, share: share,
		arrived: make(chan struct{}, 1), drained: drained, idle: make(chan struct{}), busy: 1,
	}
	p.intake, p.endIntake = context.WithCancel(context.Background())
	p.work, p.interrupt = context.WithCancel(context.Background())
	p.committed.Store(offset)
	p.leader.Store(-1)
	return p
}

// revoke ends the intake. The partition can be given back when no work is running, or after StopTimeout.
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

// held reports whether no other member can own the partition: this member has not given it back, and the process was
// not suspended.
func (p *partition) held() bool {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	return !closed && p.unbroken()
}

// hold delays the return of the partition until release is called, at most until StopTimeout after the end of the
// intake. It returns nil if the intake has ended.
func (p *partition) hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revoked {
		return nil
	}
	p.busy++
	return sync.OnceFunc(p.leave)
}

// leave decrements busy when the goroutine that hands out records or a hold ends.
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

// report sets the lag metric: the number of records between the committed offset and the offset end. It does nothing if
// the committed offset is not known, or if the partition was given back.
func (p *partition) report(end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if committed := p.committed.Load(); committed >= 0 && !p.closed {
		p.lag.WithLabelValues(p.topic, strconv.Itoa(p.id)).Set(float64(end - committed))
	}
}

// full reports whether the buffer is full. The caller has locked mu.
func (p *partition) full() bool {
	return len(p.waiting) >= lowRecords || int64(p.bytes) >= p.share.Load()
}

// wants returns the offset to fetch next. It returns false if the buffer is full, the partition is revoked, or the
// offset is not known.
func (p *partition) wants() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = p.full()
	return p.next, !p.refused && !p.revoked && p.next >= 0
}

// push appends records to the buffer. They were fetched from the offset at. If at is not the next offset, the partition
// was reset in the meantime, and push discards the records.
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
	n := min(limit, len(p.waiting))
	taken := slices.Clone(p.waiting[:n])
	clear(p.waiting[:n]) // so that they do not stay in memory until the buffer grows
	p.waiting = p.waiting[n:]
	for _, each := range taken {
		p.bytes -= len(each.Value)
	}
	if p.refused && !p.full() {
		p.refused = false
		p.drained()
	}
	return taken
}

// handOut marks the records from the offset first to the offset last as handed out. release is called once, when the
// work on the records has ended. release must not call the partition.
func (p *partition) handOut(first, last int64, release func()) *handout {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &handout{partition: p, offset: first, release: release}
	p.unfinished = append(p.unfinished, h)
	p.handedOut = last + 1
	p.busy++
	return h
}

// end ends the work on the records. Only the first call has an effect. If finished is false, the position never moves
// past the records.
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

// uncommitted returns the position, and whether the position differs from the committed offset.
func (p *partition) uncommitted() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	position := p.handedOut
	if len(p.unfinished) > 0 {
		position = p.unfinished[0].offset
	}
	return position, position != p.committed.Load()
}

// reset discards all records and continues at offset. It is called when the log does not contain the next record any
// more.
func (p *partition) reset(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAllLocked()
	p.waiting, p.bytes = nil, 0
	p.next, p.handedOut = offset, offset
	p.committed.Store(-1)
}

// close ends the ownership and all unfinished handouts. The next owner of the partition gets their records again.
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
