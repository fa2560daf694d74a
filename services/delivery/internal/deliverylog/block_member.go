package deliverylog

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// memberFormat is the first byte of Block.Members. The members follow. A change of the packing, or of the columns in texts
// and numbers, must increase memberFormat, and the method each must still read all formats that were stored.
const memberFormat = 1

// blockMember holds the columns of a delivery that are not in Block.Common. texts and numbers list them for pack and each. It is
// packed by hand, because compressed JSON took a third more of the processor for a delivery, for two thirds of the bytes.
type blockMember struct {
	recipient, urlHash, urlDisplay string
	dashboard                      int64 // index in Block.Dashboards
	after                          int64 // milliseconds from Block.First to SentAt
	took                           int64 // Attempt.DurationMS
	ended                          int64 // milliseconds from SentAt to EndedAt
	status, maxAttempts            int64
	request, response, date        int64 // numbers in Block.Requests, Responses and Dates, from 1; 0: there is none
}

func (m *blockMember) texts() [3]*string {
	return [...]*string{&m.recipient, &m.urlHash, &m.urlDisplay}
}

func (m *blockMember) numbers() [9]*int64 {
	return [...]*int64{&m.dashboard, &m.after, &m.took, &m.ended, &m.status, &m.maxAttempts, &m.request, &m.response, &m.date}
}

// member returns the delivery as a member, and adds its values to the lists of the block.
func (b *Block) member(d *Delivery) blockMember {
	made := &d.Attempts[0]
	m := blockMember{
		recipient: d.Recipient, urlHash: d.URLHash, urlDisplay: d.URLDisplay, dashboard: place(&b.Dashboards, d.DashboardID) - 1,
		after: d.SentAt.UnixMilli() - b.First.UnixMilli(), took: made.DurationMS, ended: d.EndedAt.UnixMilli() - d.SentAt.UnixMilli(),
		status: int64(made.HTTPStatus), maxAttempts: int64(d.MaxAttempts),
	}
	if d.Request != 0 {
		m.request = place(&b.Requests, d.Request)
	}
	if d.Response != nil {
		shared, date := *d.Response, ""
		shared.Header, date = cutDate(d.Response.Header)
		m.response = place(&b.Responses, shared)
		if date != "" {
			m.date = place(&b.Dates, date)
		}
	}
	return m
}

// row returns the member as a row.
func (b *Block) row(m *blockMember) Delivery {
	at := b.First.Add(time.Duration(m.after) * time.Millisecond)
	ended := at.Add(time.Duration(m.ended) * time.Millisecond)
	d := Delivery(b.Common)
	d.ID, d.Recipient, d.Status, d.EndedAt = topic.DeliveryID(d.ChangeID, m.recipient), m.recipient, StatusDelivered, &ended
	d.Logged = Logged{
		DashboardID: b.Dashboards[m.dashboard], URLHash: m.urlHash, URLDisplay: m.urlDisplay, MaxAttempts: int(m.maxAttempts), SentAt: at,
	}
	d.Attempts = []Attempt{{At: at, DurationMS: m.took, HTTPStatus: int(m.status)}}
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

// pack appends the texts, and the numbers as varints.
func (m *blockMember) pack(out []byte) []byte {
	for _, text := range m.texts() {
		out = packText(out, *text)
	}
	for _, number := range m.numbers() {
		out = binary.AppendVarint(out, *number)
	}
	return out
}

// The forms of a text: an id or a digest as bytes, or the text with its length. The number of the last form is added to
// the length.
const (
	formID = iota
	formDigest
	formText
	digestDigits = 64
)

func packText(out []byte, text string) []byte {
	if raw, packed := hexBytes(text, digestDigits); packed {
		return append(append(out, formDigest), raw...)
	}
	if bare := strings.ReplaceAll(text, "-", ""); len(text) == 36 && dashed(bare) == text {
		if raw, packed := hexBytes(bare, len(bare)); packed {
			return append(append(out, formID), raw...)
		}
	}
	return append(binary.AppendUvarint(out, uint64(len(text))+formText), text...)
}

// hexBytes decodes a text of hexadecimal digits without capital letters. It returns false for any other text, or if the text
// does not have the length.
func hexBytes(text string, length int) ([]byte, bool) {
	if len(text) != length || strings.ToLower(text) != text {
		return nil, false
	}
	raw, err := hex.DecodeString(text)
	return raw, err == nil
}

// dashed returns the digits of an id with the dashes of a UUID.
func dashed(digits string) string {
	if len(digits) != 32 {
		return ""
	}
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// each calls visit for each member. It returns an error if the members cannot be read.
func (b *Block) each(visit func(*blockMember)) error {
	in := unpacker{rest: b.Members}
	if format := in.bytes(1); in.broken || format[0] != memberFormat {
		return b.unreadable()
	}
	for len(in.rest) > 0 {
		var m blockMember
		for _, text := range m.texts() {
			*text = in.text()
		}
		for _, number := range m.numbers() {
			*number = in.number()
		}
		if in.broken || uint64(m.dashboard) >= uint64(len(b.Dashboards)) || uint64(m.request) > uint64(len(b.Requests)) || //nolint:gosec // a negative number is too large
			uint64(m.response) > uint64(len(b.Responses)) || uint64(m.date) > uint64(len(b.Dates)) { //nolint:gosec // as above
			return b.unreadable()
		}
		visit(&m)
	}
	return nil
}

func (b *Block) unreadable() error {
	return fault.New(fault.Internal, "The stored deliveries %s cannot be read. Another version of the program may have stored them.", b.ID)
}

// unpacker reads the texts and numbers that pack has written. After the first error, broken is true.
type unpacker struct {
	rest   []byte
	broken bool
}

func (u *unpacker) bytes(n uint64) []byte {
	if u.broken || n > uint64(len(u.rest)) {
		u.broken, u.rest = true, nil
		return nil
	}
	out := u.rest[:n]
	u.rest = u.rest[n:]
	return out
}

func (u *unpacker) number() int64 {
	value, n := binary.Varint(u.rest)
	if n <= 0 {
		u.broken, n = true, 0
	}
	u.rest = u.rest[n:]
	return value
}

func (u *unpacker) text() string {
	form, n := binary.Uvarint(u.rest)
	if n <= 0 {
		u.broken, n = true, 0
	}
	u.rest = u.rest[n:]
	switch form {
	case formID:
		return dashed(hex.EncodeToString(u.bytes(16)))
	case formDigest:
		return hex.EncodeToString(u.bytes(digestDigits / 2))
	default:
		return string(u.bytes(form - formText))
	}
}
