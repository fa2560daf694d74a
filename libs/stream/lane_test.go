package stream

import "testing"

// The position is the lowest unfinished offset, in whatever order records finish.
func TestLane_position(t *testing.T) {
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
			lane, released := newLane("t", 0, 10, func() {}), 0
			handouts := make(map[int64]*handout)
			for offset := int64(10); offset < 15; offset++ {
				handouts[offset] = lane.handOut(offset, offset, func() { released++ })
			}
			settled := make(map[int64]bool)
			for _, offset := range test.abandon {
				handouts[offset].settle(false)
				settled[offset] = true
			}
			for _, offset := range test.finish {
				handouts[offset].settle(true)
				settled[offset] = true
			}
			position, differs := lane.uncommitted()
			if position != test.position || differs != (position != 10) {
				t.Errorf("position %d, differs %v", position, differs)
			}
			if released != len(settled) {
				t.Errorf("%d released, %d settled", released, len(settled))
			}
			lane.close()
			handouts[10].settle(true)
			if released != 5 {
				t.Errorf("%d of 5 released after the close", released)
			}
		})
	}
}

// A lane that is full asks for nothing, and rings once it has room.
func TestLane_room(t *testing.T) {
	rung := 0
	lane := newLane("t", 0, 0, func() { rung++ })
	var records []fetched
	for offset := range int64(lowRecords + 10) {
		records = append(records, fetched{offset: offset})
	}
	lane.push(0, records)
	if _, wants := lane.wants(); wants {
		t.Error("a full lane wants more")
	}
	lane.push(0, records) // fetched from an offset that is not next any more
	if n := len(lane.poll(5)); n != 5 || rung != 0 {
		t.Errorf("took %d, rung %d times", n, rung)
	}
	lane.poll(10)
	if next, wants := lane.wants(); !wants || next != lowRecords+10 || rung != 1 {
		t.Errorf("wants %v from %d, rung %d times", wants, next, rung)
	}
}
