package dispatch

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// BlockSpan is longer than the time between the first and the last SentAt of a block.
	BlockSpan    = 250 * time.Millisecond
	blockMembers = 256
	// blockBytes bounds the bodies of the responses in a block, but for one. Readers hold several blocks in memory.
	blockBytes = 128 << 10
	markDate   = "\x00date\x00" // in a stored request or response, in place of the date
)

// Block is one stored record of deliveries of one change that succeeded at the first attempt, shortly after another. Each
// member is a delivery and its log, exactly like a row: Select returns the members as rows. A delivery has a row or is the
// member of a block.
type Block struct {
	ID           string                 `json:"id"`
	Organization string                 `json:"organization"`
	Channel      topic.Channel          `json:"channel"`
	Service      topic.RecipientService `json:"keeper,omitempty"`
	EventID      string                 `json:"eventId,omitempty"`
	EventKind    topic.Kind             `json:"eventKind"`
	ChangeID     string                 `json:"changeId"`
	Sequence     int64                  `json:"sequence"`
	Partition    int                    `json:"partition"`
	URLBucket    int                    `json:"urlBucket"` // BucketOf the URL hash of each member
	First        time.Time              `json:"first"`     // the earliest SentAt
	Last         time.Time              `json:"last"`      // the latest
	Size         int                    `json:"size"`
	Dashboards   []string               `json:"dashboards"` // of the members, each once; the members refer to the four lists
	Requests     []int64                `json:"requests,omitempty"`
	Responses    []Response             `json:"responses,omitempty"`
	Dates        []string               `json:"dates,omitempty"`
	URLs         string                 `json:"urls,omitempty"` // for HasURL
	Recipients   string                 `json:"recipients"`     // for Wanted.MayBeIn
	Members      []byte                 `json:"members"`        // see blockMember
}

// inBlock reports whether the new delivery can be stored in a block: the first attempt succeeded quickly.
func (d *Delivery) inBlock() bool {
	return d.Status == StatusDelivered && len(d.Attempts) == 1 && d.Log == 0 && d.ReplayOf == "" && d.Recipient != "" &&
		d.EndedAt.Sub(d.SentAt) < fastTime
}

// blockKey is what the members of a block have in common.
type blockKey struct {
	change    string
	channel   topic.Channel
	service   topic.RecipientService
	partition int
	urlBucket int
}

// BlocksOf returns blocks of those of the new deliveries that succeeded quickly at the first attempt.
func BlocksOf(results []*Delivery) []Block {
	groups := make(map[blockKey][]*Delivery)
	for _, d := range results {
		if !d.inBlock() {
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
			blocks = append(blocks, newBlock(key, group[:n]))
			group = group[n:]
		}
	}
	return blocks
}

// blockSize returns how many of the deliveries are in the first block.
func blockSize(group []*Delivery) int {
	bytes, last := 0, ""
	for n, d := range group {
		if d.Response != nil && d.Response.Body != last { // most bodies are equal
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
func newBlock(key blockKey, rows []*Delivery) Block {
	first := rows[0]
	b := Block{
		ID: uuid.Must(uuid.NewV7()).String(), Organization: first.Organization, Channel: key.channel, Service: key.service,
		EventID: first.EventID, EventKind: first.EventKind, ChangeID: key.change, Sequence: first.Sequence,
		Partition: key.partition, URLBucket: key.urlBucket, First: first.SentAt, Last: rows[len(rows)-1].SentAt, Size: len(rows),
	}
	b.Members = append(make([]byte, 0, 1+120*len(rows)), memberFormat)
	var urls, recipients []byte
	for _, d := range rows {
		made := &d.Attempts[0]
		m := blockMember{
			recipient: d.Recipient, urlHash: d.URLHash, urlDisplay: d.URLDisplay, dashboard: place(&b.Dashboards, d.DashboardID) - 1,
			after: d.SentAt.UnixMilli() - b.First.UnixMilli(), took: made.DurationMS, ended: d.EndedAt.UnixMilli() - d.SentAt.UnixMilli(),
			status: made.HTTPStatus, maxAttempts: d.MaxAttempts,
		}
		if d.Request != 0 {
			m.request = place(&b.Requests, d.Request)
		}
		if d.Response != nil {
			header, date := cutDate(d.Response.Header)
			m.response = place(&b.Responses, Response{Header: header, Body: d.Response.Body})
			if date != "" {
				m.date = place(&b.Dates, date)
			}
		}
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
func place[T comparable](list *[]T, value T) int {
	at := slices.Index(*list, value)
	if at < 0 {
		at = len(*list)
		*list = append(*list, value)
	}
	return at + 1
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

// HasURL reports whether a member of a block with the URLs may have the URL. It may be wrong if it returns true.
func HasURL(urls, urlHash string) bool {
	wanted := shortHash(urlHash)
	return hasShort(urls, func(hash uint32) bool { return hash == wanted })
}

// Wanted are recipients by their short hash.
type Wanted map[uint32][]string

// newWanted returns the recipients.
func newWanted(recipients []string) Wanted {
	w := make(Wanted, len(recipients))
	for _, r := range recipients {
		hash := shortHash(r)
		w[hash] = append(w[hash], r)
	}
	return w
}

// MayBeIn reports whether one of the recipients may be a member of a block with Block.Recipients. It may be wrong if it
// returns true.
func (w Wanted) MayBeIn(recipients string) bool {
	return hasShort(recipients, func(hash uint32) bool { return w[hash] != nil })
}

// hasShort reports whether one of the packed hashes is right, or whether they cannot be read.
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
func (b *Block) Select(filter LogFilter) ([]Delivery, error) {
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

// row returns the member as a row.
func (b *Block) row(m *blockMember) Delivery {
	at := b.First.Add(time.Duration(m.after) * time.Millisecond)
	ended := at.Add(time.Duration(m.ended) * time.Millisecond)
	d := Delivery{
		ID: topic.DeliveryID(b.ChangeID, m.recipient), Organization: b.Organization, Channel: b.Channel, Service: b.Service, Recipient: m.recipient,
		EventID: b.EventID, EventKind: b.EventKind, ChangeID: b.ChangeID, Sequence: b.Sequence, DashboardID: b.Dashboards[m.dashboard],
		URLHash: m.urlHash, URLDisplay: m.urlDisplay, MaxAttempts: m.maxAttempts, SentAt: at, Status: StatusDelivered,
		Attempts: []Attempt{{At: at, DurationMS: m.took, HTTPStatus: m.status}}, EndedAt: &ended, Partition: b.Partition,
	}
	if m.request > 0 {
		d.Request = b.Requests[m.request-1]
	}
	if m.response > 0 {
		response := b.Responses[m.response-1]
		if m.date > 0 {
			response.Header = strings.Replace(response.Header, markDate, b.Dates[m.date-1], 1)
		}
		d.Response = &response
	}
	return d
}
