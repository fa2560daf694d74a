package deliverylog

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// MaxQuick limits the time of the attempt of a delivery in a block. Every such attempt took less.
	MaxQuick = 200 * time.Millisecond
	// BlockSpan limits the time between the first and the last SentAt in a block. The actual time is shorter.
	BlockSpan    = 250 * time.Millisecond
	blockMembers = 256
	// blockBytes limits the total size of the response bodies in a block, because readers load several blocks into
	// memory at the same time. A body equal to the body before it is not counted. The body of the first member may
	// exceed the limit.
	blockBytes = 128 << 10
	markDate   = "\x00date\x00" // replaces the date in a stored request or response
)

// Block is one stored record of several deliveries of one change. The deliveries succeeded at their first attempts, at
// nearly the same time. Each member is a delivery and its log, exactly like a row. Select returns the members as rows.
// A delivery is stored either as a row or as a member of a block.
type Block struct {
	ID         string `json:"id"`
	Common     `json:",inline"`
	URLBucket  int        `json:"urlBucket"`  // BucketOf the URL hash of each member
	First      time.Time  `json:"first"`      // the earliest SentAt
	Last       time.Time  `json:"last"`       // the latest SentAt
	Size       int        `json:"size"`       // number of members
	Dashboards []string   `json:"dashboards"` // each value of the members once; the same holds for the next three lists
	Requests   []int64    `json:"requests,omitempty"`
	Responses  []Response `json:"responses,omitempty"`
	Dates      []string   `json:"dates,omitempty"`
	URLs       string     `json:"urls,omitempty"` // for HasURL
	Recipients string     `json:"recipients"`     // for Wanted.MayBeIn
	Members    []byte     `json:"members"`        // the members, packed by blockMember.pack
}

// Common contains the columns whose values are the same for all members of a block. The other columns are empty.
type Common Delivery

// InBlock reports whether the new delivery is stored in a block: it is no replay, it has a recipient, its first attempt
// succeeded, and it ended less than MaxQuick after SentAt.
func (d *Delivery) InBlock() bool {
	return d.Status == StatusDelivered && len(d.Attempts) == 1 && d.Log == 0 && d.ReplayOf == "" && d.Recipient != "" &&
		d.EndedAt.Sub(d.SentAt) < MaxQuick
}

// blockKey has the values that must be the same for all members of a block. Outcomes uses it without urlBucket.
type blockKey struct {
	change    string
	channel   topic.Channel
	service   topic.RecipientService
	partition int
	urlBucket int
}

// BlocksOf returns blocks with those results for which InBlock is true. It ignores the other results.
func BlocksOf(results []*Delivery) []Block {
	groups := make(map[blockKey][]*Delivery)
	for _, d := range results {
		if !d.InBlock() {
			continue
		}
		key := blockKey{d.ChangeID, d.Channel, d.Service, d.Partition, BucketOf(d.URLHash)}
		groups[key] = append(groups[key], d)
	}
	blocks := make([]Block, 0, len(groups))
	for key, group := range groups {
		slices.SortFunc(group, func(a, b *Delivery) int { return a.SentAt.Compare(b.SentAt) })
		for len(group) > 0 {
			n := blockSize(group)
			blocks = append(blocks, newBlock(key.urlBucket, group[:n]))
			group = group[n:]
		}
	}
	return blocks
}

// blockSize returns how many of the first deliveries of group go into one block.
func blockSize(group []*Delivery) int {
	bytes, last := 0, ""
	for n, d := range group {
		if d.Response != nil && d.Response.Body != last { // most deliveries have equal bodies
			last = d.Response.Body
			bytes += len(last)
		}
		if n > 0 && (n == blockMembers || bytes > blockBytes || d.SentAt.Sub(group[0].SentAt) >= BlockSpan) {
			return n
		}
	}
	return len(group)
}

// newBlock returns the block of the deliveries, which are in the order of their SentAt.
func newBlock(urlBucket int, rows []*Delivery) Block {
	b := Block{
		ID: topic.NewID(), Common: Common(*rows[0]), URLBucket: urlBucket,
		First: rows[0].SentAt, Last: rows[len(rows)-1].SentAt, Size: len(rows),
	}
	b.Common.ID, b.Recipient, b.Logged, b.Attempts, b.EndedAt = "", "", Logged{}, nil, nil // Block.row sets them
	b.Members = append(make([]byte, 0, 1+120*len(rows)), memberFormat)
	var urls, recipients []byte
	for _, d := range rows {
		m := b.member(d)
		b.Members = m.pack(b.Members)
		if d.URLHash != "" {
			urls = binary.BigEndian.AppendUint32(urls, shortHash(d.URLHash))
		}
		recipients = binary.BigEndian.AppendUint32(recipients, shortHash(d.Recipient))
	}
	b.URLs, b.Recipients = base64.RawStdEncoding.EncodeToString(urls), base64.RawStdEncoding.EncodeToString(recipients)
	return b
}

// place returns the position of the value in the list, counted from 1. It appends the value if the list does not
// contain it.
func place[T comparable](list *[]T, value T) int64 {
	at := slices.Index(*list, value)
	if at < 0 {
		at = len(*list)
		*list = append(*list, value)
	}
	return int64(at + 1)
}

// cutDate replaces the value of the header field Date by markDate, so that responses that differ only in the date are
// equal. It returns the header and the date.
func cutDate(header string) (without, date string) {
	const name = "Date: "
	from := strings.Index(header, name)
	if from < 0 || from > 0 && header[from-1] != '\n' {
		return header, ""
	}
	from += len(name)
	date, rest, _ := strings.Cut(header[from:], "\n")
	return header[:from] + markDate + "\n" + rest, date
}

// shortHash returns 32 bits of the hash of a text.
func shortHash(text string) uint32 { return uint32(Hash(text)) } //nolint:gosec // keep the low 32 bits

// HasURL reports whether a member of a block may have the URL. urls is Block.URLs. The result false is always right.
// The result true may be wrong, because URLs contains short hashes.
func HasURL(urls, urlHash string) bool {
	wanted := shortHash(urlHash)
	return hasShort(urls, func(hash uint32) bool { return hash == wanted })
}

// Wanted is a set of recipients, by their short hashes.
type Wanted map[uint32][]string

// NewWanted returns the set of the recipients.
func NewWanted(recipients []string) Wanted {
	w := make(Wanted, len(recipients))
	for _, r := range recipients {
		hash := shortHash(r)
		w[hash] = append(w[hash], r)
	}
	return w
}

// MayBeIn reports whether a member of a block may have one of the recipients. The parameter is Block.Recipients. The
// result false is always right. The result true may be wrong, because Recipients contains short hashes.
func (w Wanted) MayBeIn(recipients string) bool {
	return hasShort(recipients, func(hash uint32) bool { return w[hash] != nil })
}

// hasShort reports whether right returns true for one of the packed hashes. It also returns true if packed cannot be
// decoded.
func hasShort(packed string, right func(uint32) bool) bool {
	hashes, err := base64.RawStdEncoding.DecodeString(packed)
	for ; len(hashes) >= 4 && err == nil; hashes = hashes[4:] {
		if right(binary.BigEndian.Uint32(hashes)) {
			return true
		}
	}
	return err != nil
}

// Select returns the members that match the filter, as rows, ordered by SentAt. It ignores filter.EventID and
// filter.Status, because all members have the same event and status.
func (b *Block) Select(filter Filter) ([]Delivery, error) {
	from, to := filter.From.UnixMilli(), filter.To.UnixMilli()
	var rows []Delivery
	err := b.each(func(m *blockMember) {
		at := b.First.UnixMilli() + m.after
		if at < from || !filter.To.IsZero() && at >= to || filter.URLHash != "" && m.urlHash != filter.URLHash ||
			filter.DashboardID != "" && b.Dashboards[m.dashboard] != filter.DashboardID {
			return
		}
		rows = append(rows, b.row(m))
	})
	return rows, err
}

// Rows returns the members whose recipient is in recipients, as rows.
func (b *Block) Rows(recipients Wanted) ([]Delivery, error) {
	var rows []Delivery
	err := b.each(func(m *blockMember) {
		if slices.Contains(recipients[shortHash(m.recipient)], m.recipient) {
			rows = append(rows, b.row(m))
		}
	})
	return rows, err
}
