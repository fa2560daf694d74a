package legacy

import (
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Meta is the head of a list's envelope.
type Meta struct {
	Limit      int64   `json:"limit"`
	Next       *string `json:"next"`
	Offset     int64   `json:"offset"`
	Previous   *string `json:"previous"`
	TotalCount int64   `json:"total_count"`
}

// Envelope is a list's answer. Objects must not be nil.
type Envelope struct {
	Meta    Meta  `json:"meta"`
	Objects []any `json:"objects"`
}

// Page is the slice of a list that a request asks for.
type Page struct {
	Limit  int64
	Offset int64
	others string // the other parameters, encoded, each followed by "&"
}

// furthest bounds the offset that is handed to a store: no list is as long, and sums
// with it do not overflow.
const furthest = 1 << 40

// ReadPage reads limit and offset of a query string. Too large a limit is cut to
// maximum, 0 means maximum; what is no number from 0 up is an Invalid fault.
func ReadPage(rawQuery string, defaultLimit, maximum int) (Page, error) {
	return parseParams(rawQuery).page(defaultLimit, maximum)
}

func (p params) page(defaultLimit, maximum int) (Page, error) {
	limit, err := p.count("limit", int64(defaultLimit))
	if err != nil {
		return Page{}, err
	}
	offset, err := p.count("offset", 0)
	if err != nil {
		return Page{}, err
	}
	if limit == 0 || limit > int64(maximum) {
		limit = int64(maximum)
	}
	return Page{Limit: limit, Offset: offset, others: p.encodeWithout("limit", "offset")}, nil
}

func (p params) count(name string, absent int64) (int64, error) {
	text, given := p.last(name)
	if !given {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "Invalid %s '%s': a whole number from 0 up is needed.", name, printable(text))
	}
	return n, nil
}

// Meta is the envelope's head for this page of a list of total objects at path.
func (p Page) Meta(path string, total int64) Meta {
	meta := Meta{Limit: p.Limit, Offset: p.Offset, TotalCount: total}
	if p.Offset < total-p.Limit {
		meta.Next = p.link(path, p.Offset+p.Limit)
	}
	if p.Offset >= p.Limit {
		meta.Previous = p.link(path, p.Offset-p.Limit)
	}
	return meta
}

func (p Page) link(path string, offset int64) *string {
	link := path + "?" + p.others + "limit=" + strconv.FormatInt(p.Limit, 10) + "&offset=" + strconv.FormatInt(offset, 10)
	return &link
}

// storeOffset is Offset within what stores take.
func (p Page) storeOffset() int { return int(min(p.Offset, furthest)) }
