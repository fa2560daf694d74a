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
	// MaxQuick exceeds the time of each attempt whose delivery is in a block.
	MaxQuick = 200 * time.Millisecond
	// BlockSpan exceeds the time between the first and the last SentAt of a block.
	BlockSpan    = 250 * time.Millisecond
	blockMembers = 256
	// blockBytes is the limit for the bodies of the responses in a block, without the last one. Readers hold several blocks in
	// memory.
	blockBytes = 128 << 10
	markDate   = "\x00date\x00" // in a stored request or response, in place of the date
)

// Block is one stored record of deliveries of one change that succeeded at the first attempt, shortly after another. Each
// member is a delivery and its log, exactly like a row: Select returns the members as rows. A delivery has a row or is the
// member of a block.
type Block struct {
	ID         string `json:"id"`
	Common     `json:",inline"`
	URLBucket  int        `json:"urlBucket"`  // BucketOf the URL hash of each member
	First      time.Time  `json:"first"`      // the earliest SentAt
	Last       time.Time  `json:"last"`       // the latest SentAt
	Size       int        `json:"size"`       // number of members
	Dashboards []string   `json:"dashboards"` // the values of the members, each once; the next three lists too
	Requests   []int64    `json:"requests,omitempty"`
	Responses  []Response `json:"responses,omitempty"`
	Dates      []string   `json:"dates,omitempty"`
	URLs       string     `json:"urls,omitempty"` // for HasURL
	Recipients string     `json:"recipients"`     // for Wanted.MayBeIn
	Members    []byte     `json:"members"`        // packed by blockMember
}

// Common holds the columns that all members of a block have in common. The other columns are empty.
type Common Delivery

// InBlock reports whether the new delivery can be stored in a block: the first attempt succeeded quickly.
func (d *Delivery) InBlock() bool {
	return d.Status == StatusDelivered && len(d.Attempts) == 1 && d.Log == 0 && d.ReplayOf == "" && d.Recipient != "" &&
		d.EndedAt.Sub(d.SentAt) < MaxQuick
}

// blockKey has the values that all members of a block have in common.
type blockKey struct {
	change    string
	channel   topic.Channel
	service   topic.RecipientService
	partition int
	urlBucket int
}

// BlocksOf returns blocks of the new deliveries that succeeded quickly at the first attempt.
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

// blockSize returns how many of the deliveries are in the first block.
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
	b.Common.ID, b.Recipient, b.Logged, b.Attempts, b.EndedAt = "", "", Logged{}, nil, nil // row sets them
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

// place returns the number of the value in the list, from 1. It appends the value if the list does not have it.
func place[T comparable](list *[]T, value T) int64 {
	at := slices.Index(*list, value)
	if at < 0 {
		at = len(*list)
		*list = append(*list, value)
	}
	return int64(at + 1)
}

// cutDate replaces the date in the lines of a header, so that responses that differ in the date only are equal.
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
func shortHash(text string) uint32 { return uint32(Hash(text)) } //nolint:gosec // the low bits

// HasURL reports whether a member of a block with Block.URLs may have the URL. The result true may be wrong.
func HasURL(urls, urlHash string) bool {
	wanted := shortHash(urlHash)
	return hasShort(urls, func(hash uint32) bool { return hash == wanted })
}

// Wanted are recipients by their short hash.
type Wanted map[uint32][]string

// NewWanted returns the recipients.
func NewWanted(recipients []string) Wanted {
	w := make(Wanted, len(recipients))
	for _, r := range recipients {
		hash := shortHash(r)
		w[hash] = append(w[hash], r)
	}
	return w
}

// MayBeIn reports whether one of the recipients may be a member of a block with Block.Recipients. The result true
// may be wrong.
func (w Wanted) MayBeIn(recipients string) bool {
	return hasShort(recipients, func(hash uint32) bool { return w[hash] != nil })
}

// hasShort reports whether right accepts one of the packed hashes. It also returns true if the hashes cannot be read.
func hasShort(packed string, right func(uint32) bool) bool {
	hashes, err := base64.RawStdEncoding.DecodeString(packed)
	for ; len(hashes) >= 4 && err == nil; hashes = hashes[4:] {
		if right(binary.BigEndian.Uint32(hashes)) {
			return true
		}
	}
	return err != nil
}

// Select returns the members that the filter selects as rows, in the order of their SentAt. It ignores EventID and Status,
// which all members have in common.
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

// Rows returns the members with the recipients as rows.
func (b *Block) Rows(recipients Wanted) ([]Delivery, error) {
	var rows []Delivery
	err := b.each(func(m *blockMember) {
		if slices.Contains(recipients[shortHash(m.recipient)], m.recipient) {
			rows = append(rows, b.row(m))
		}
	})
	return rows, err
}
