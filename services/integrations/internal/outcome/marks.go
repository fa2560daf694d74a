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
	// Counters keep the marks of at least keptMarks failures, and of all failures that ended in the last keptFor before
	// the newest of them, but of at most maxMarks.
	keptMarks = 64
	keptFor   = time.Minute
	maxMarks  = 4096

	markSize = 16
	sign     = 1 << 63 // sign bit of an int64, inverted so that times before 1970 come first
)

// marks are the counted failures of one endpoint: for each the milliseconds of its end and a digest of the delivery's id,
// in this order. They are bytes, because counters are read and written in bulk.
type marks []byte

func markOf(o topic.Outcome) []byte {
	digest := sha256.Sum256([]byte(o.DeliveryID))
	return append(binary.BigEndian.AppendUint64(nil, uint64(o.At.UnixMilli())^sign), digest[:markSize-8]...)
}

func (m marks) len() int { return len(m) / markSize }

func (m marks) at(i int) []byte { return m[i*markSize : (i+1)*markSize] }

// ended returns the end of a failure.
func (m marks) ended(i int) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(m.at(i)) ^ sign)).UTC()
}

// has reports whether the marks have the delivery of mark.
func (m marks) has(mark []byte) bool {
	for i := range m.len() {
		if bytes.Equal(m.at(i)[8:], mark[8:]) {
			return true
		}
	}
	return false
}

// add inserts a mark in its place, which usually is the last.
func (m marks) add(mark []byte) marks {
	i := m.len()
	for i > 0 && bytes.Compare(m.at(i-1), mark) > 0 {
		i--
	}
	return slices.Insert(m, i*markSize, mark...)
}

// spare reports whether the oldest mark need not be kept.
func (m marks) spare() bool {
	n := m.len()
	return n > maxMarks || n > keptMarks && m.ended(0).Before(m.ended(n-1).Add(-keptFor))
}
