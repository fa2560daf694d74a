package endpoint

import (
	"bytes"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

const (
	// A member of a group keeps the marks of at least keptSuccesses successes, and of all in the last keptFor before the
	// newest of them, but of at most maxSuccesses. An outcome that arrives later than that does not count.
	keptSuccesses = 4
	maxSuccesses  = 32
)

// member is an endpoint in a Healthy, with the marks of its last successes.
type member struct {
	id    uuid.UUID
	marks marks
}

// members are the members of a group in the order of their ids: for each the id, the number of its marks, and the marks.
// They are bytes, because groups are read and written in bulk.
type members []byte

const memberSize = len(uuid.UUID{}) + 1 // without marks

func (m members) list() []member {
	list := make([]member, 0, len(m)/(memberSize+markSize)+1)
	for len(m) >= memberSize {
		n := memberSize + int(m[memberSize-1])*markSize
		list = append(list, member{uuid.UUID(m[:memberSize-1]), marks(m[memberSize:n:n])})
		m = m[n:]
	}
	return list
}

func (m members) len() (n int) {
	for len(m) >= memberSize {
		m = m[memberSize+int(m[memberSize-1])*markSize:]
		n++
	}
	return n
}

func pack(list []member) members {
	size := 0
	for i := range list {
		size += memberSize + len(list[i].marks)
	}
	packed := make(members, 0, size)
	for i := range list {
		packed = append(append(packed, list[i].id[:]...), byte(list[i].marks.len()))
		packed = append(packed, list[i].marks...)
	}
	return packed
}

// place returns the place of an endpoint in the list, and whether the list has it.
func place(list []member, id string) (at int, found bool) {
	wanted, err := uuid.Parse(id)
	if err != nil {
		return 0, false
	}
	return slices.BinarySearchFunc(list, wanted, func(m member, id uuid.UUID) int { return bytes.Compare(m.id[:], id[:]) })
}

// succeed notes successes. A repeated one changes nothing.
func (m *member) succeed(outcomes []topic.Outcome) {
	for _, o := range outcomes {
		mark := markOf(o)
		if m.marks.has(mark) || m.marks.len() >= keptSuccesses && bytes.Compare(mark[:8], m.marks.at(0)[:8]) < 0 {
			continue
		}
		for m.marks = m.marks.add(mark); m.spare(); m.marks = m.marks[markSize:] {
		}
	}
}

// spare reports whether the oldest mark need not be kept.
func (m *member) spare() bool {
	n := m.marks.len()
	return n > maxSuccesses || n > keptSuccesses && m.marks.ended(0).Before(m.marks.ended(n-1).Add(-keptFor))
}

// absorb adds the marks of the endpoint in its group.
func (c *Counters) absorb(successes marks) {
	n := successes.len()
	if n == 0 {
		return
	}
	for i := range n {
		if mark := successes.at(i); !c.Counted.has(mark) {
			c.keep(mark)
		}
	}
	c.succeededAt(successes.ended(n - 1))
	if first := successes.ended(0); n >= keptSuccesses && c.CountFrom.Before(first) {
		c.CountFrom = first
	}
}
