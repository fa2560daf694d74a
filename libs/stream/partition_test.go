package stream

import (
	"sync/atomic"
	"testing"
)

// The position is the lowest unfinished offset, for every order in which records finish.
func TestThePositionIsTheLowestUnfinishedOffset(t *testing.T) {
	tests := []struct {
		name     string
		finish   []int64
		abandon  []int64
		position int64
	}{
		{"nothing finished", nil, nil, 10},
		{"the first", []int64{10}, nil, 11},
		{"in order", []int64{10, 11, 12}, nil, 13},
		{"out of order", []int64{14, 12, 10}, nil, 11},
		{"all, backwards", []int64{14, 13, 12, 11, 10}, nil, 15},
		{"twice", []int64{10, 10, 10}, nil, 11},
		{"abandoned ones keep it", []int64{10, 12, 13, 14}, []int64{11}, 11},
		{"abandoned for good", []int64{10, 11, 12}, []int64{11}, 11},
		{"finished, then abandoned", []int64{10}, []int64{}, 11},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, released := newPartition("t", 0, 10, new(atomic.Int64), func() {}), 0
			handouts := make(map[int64]*handout)
			for offset := int64(10); offset < 15; offset++ {
				handouts[offset] = p.handOut(offset, offset, func() { released++ })
			}
			ended := make(map[int64]bool)
			for _, offset := range test.abandon {
				handouts[offset].end(false)
				ended[offset] = true
			}
			for _, offset := range test.finish {
				handouts[offset].end(true)
				ended[offset] = true
			}
			position, differs := p.uncommitted()
			if position != test.position || differs != (position != 10) {
				t.Errorf("position %d, differs %v", position, differs)
			}
			if released != len(ended) {
				t.Errorf("%d released, %d ended", released, len(ended))
			}
			p.close()
			handouts[10].end(true)
			if released != 5 {
				t.Errorf("%d of 5 released after the close", released)
			}
		})
	}
}

// A partition with a full buffer requests no records. It calls drained when the buffer has room again.
func TestAFullBufferRequestsNoRecords(t *testing.T) {
	for name, test := range map[string]struct {
		share int64
		value []byte
		limit int64 // number of records with which the buffer is full
	}{
		"records": {1 << 20, nil, lowRecords},
		"bytes":   {100 * 100, make([]byte, 100), 100},
	} {
		t.Run(name, func(t *testing.T) {
			var share atomic.Int64
			share.Store(test.share)
			drained := 0
			p := newPartition("t", 0, 0, &share, func() { drained++ })
			var records []Record
			for offset := range test.limit + 10 {
				records = append(records, Record{offset: offset, Value: test.value})
			}
			p.push(0, records)
			if _, wants := p.wants(); wants {
				t.Error("a full buffer wants more")
			}
			p.push(0, records) // this offset is no longer the next one
			if n := len(p.poll(5)); n != 5 || drained != 0 {
				t.Errorf("took %d, drained called %d times", n, drained)
			}
			p.poll(6)
			if next, wants := p.wants(); !wants || next != test.limit+10 || drained != 1 {
				t.Errorf("wants %v from %d, drained called %d times", wants, next, drained)
			}
		})
	}
}

// A buffer that was full also calls drained if its share has grown, because the member has fewer partitions.
func TestAFullBufferHasRoomWhenItsShareGrows(t *testing.T) {
	var share atomic.Int64
	share.Store(100)
	drained := 0
	p := newPartition("t", 0, 0, &share, func() { drained++ })
	p.push(0, []Record{{offset: 0, Value: make([]byte, 100)}, {offset: 1, Value: make([]byte, 100)}})
	if _, wants := p.wants(); wants {
		t.Error("a full buffer wants more")
	}
	share.Store(1000)
	for range 2 {
		if p.poll(1); drained != 1 {
			t.Errorf("drained was called %d times", drained)
		}
	}
}

// The buffers of a member together have a limit, so that a backlog in many partitions does not fill the memory.
func TestTheBuffersOfAMemberShareALimit(t *testing.T) {
	for partitions, want := range map[int]int64{0: 512 << 10, 1: 512 << 10, 16: 512 << 10, 64: 128 << 10, 1000: 64 << 10} {
		if got := shareOf(partitions); got != want {
			t.Errorf("%d partitions: %d bytes each instead of %d", partitions, got, want)
		}
	}
}
