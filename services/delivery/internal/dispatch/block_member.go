package dispatch

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// memberFormat is the first byte of Block.Members. The members follow.
const memberFormat = 1

// blockMember is a delivery in Block.Members: its texts, then its numbers as varints.
type blockMember struct {
	recipient, urlHash, urlDisplay string
	dashboard                      int   // index in Block.Dashboards
	after                          int64 // milliseconds from Block.First to SentAt
	took                           int64 // Attempt.DurationMS
	ended                          int64 // milliseconds from SentAt to EndedAt
	status, maxAttempts            int
	request, response, date        int // number in Block.Requests, Responses and Dates, from 1; 0: none
}

func (m *blockMember) pack(out []byte) []byte {
	for _, text := range []string{m.recipient, m.urlHash, m.urlDisplay} {
		out = packText(out, text)
	}
	for _, number := range []int64{int64(m.dashboard), m.after, m.took, m.ended, int64(m.status), int64(m.maxAttempts),
		int64(m.request), int64(m.response), int64(m.date)} {
		out = binary.AppendVarint(out, number)
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

// hexBytes decodes a text of digits and small letters with the length.
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
		m := blockMember{recipient: in.text(), urlHash: in.text(), urlDisplay: in.text()}
		var numbers [9]int64
		for i := range numbers {
			numbers[i] = in.number()
		}
		m.dashboard, m.after, m.took, m.ended = int(numbers[0]), numbers[1], numbers[2], numbers[3]
		m.status, m.maxAttempts = int(numbers[4]), int(numbers[5])
		m.request, m.response, m.date = int(numbers[6]), int(numbers[7]), int(numbers[8])
		if in.broken || uint(m.dashboard) >= uint(len(b.Dashboards)) || uint(m.request) > uint(len(b.Requests)) || //nolint:gosec // a negative number is too large
			uint(m.response) > uint(len(b.Responses)) || uint(m.date) > uint(len(b.Dates)) { //nolint:gosec // as above
			return b.unreadable()
		}
		visit(&m)
	}
	return nil
}

func (b *Block) unreadable() error {
	return fault.New(fault.Internal, "The stored deliveries %s cannot be read. A later version of the program may have stored them.", b.ID)
}

// unpacker reads what pack has written. It is broken after the first error.
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
