package outcome

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// Counters have the marks of the last keptMarks failures, and of all failures that ended at most keptFor before the
	// newest failure. They have at most maxMarks marks.
	keptMarks = 64
	keptFor   = time.Minute
	maxMarks  = 4096

	markSize = 16
	sign     = 1 << 63 // sign bit of an int64, inverted so that times before 1970 come first
)

// marks are the counted failures of one endpoint, ordered by their end. A mark is the time of the end in milliseconds
// and a digest of the delivery's id. Marks are bytes, so that Counters are read and written fast.
type marks []byte

func markOf(o topic.Outcome) []byte {
	digest := sha256.Sum256([]byte(o.DeliveryID))
	return append(binary.BigEndian.AppendUint64(nil, uint64(o.At.UnixMilli())^sign), digest[:markSize-8]...)
}

func (m marks) len() int { return len(m) / markSize }

func (m marks) at(i int) []byte { return m[i*markSize : (i+1)*markSize] }

// ended returns the end of the i-th failure.
func (m marks) ended(i int) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(m.at(i)) ^ sign)).UTC()
}

// has reports whether there is a mark of the same delivery.
func (m marks) has(mark []byte) bool {
	for i := range m.len() {
		if bytes.Equal(m.at(i)[8:], mark[8:]) {
			return true
		}
	}
	return false
}

// add returns the marks with another mark at its place in the order, which is usually the end.
func (m marks) add(mark []byte) marks {
	i := m.len()
	for i > 0 && bytes.Compare(m.at(i-1), mark) > 0 {
		i--
	}
	return slices.Insert(m, i*markSize, mark...)
}

// spare reports whether the oldest mark can be removed.
func (m marks) spare() bool {
	n := m.len()
	return n > maxMarks || n > keptMarks && m.ended(0).Before(m.ended(n-1).Add(-keptFor))
}
