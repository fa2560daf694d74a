package legacy

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Meta is the meta object of a list.
type Meta struct {
	Limit      int64   `json:"limit"`
	Next       *string `json:"next"`
	Offset     int64   `json:"offset"`
	Previous   *string `json:"previous"`
	TotalCount int64   `json:"total_count"`
}

// Envelope is the response to a list. Objects must not be nil.
type Envelope struct {
	Meta    Meta  `json:"meta"`
	Objects []any `json:"objects"`
}

// Page is the part of a list that a request selects.
type Page struct {
	Limit  int64
	Offset int64
	others string // the other parameters, encoded, each followed by "&"
}

const (
	defaultLimit = 20   // objects in a list if the request has no limit
	maxLimit     = 1000 // maximum number of objects in a list
)

// furthest is the largest offset that is passed to a store. No list is as long, and sums with it do not overflow.
const furthest = 1 << 40

// ReadPage returns the page that a query string selects. A limit of 0 or above maximum means maximum. A limit or
// offset that is not a whole number of at least 0 is an Invalid fault.
func ReadPage(rawQuery string, defaultLimit, maximum int) (Page, error) {
	p := parseParams(rawQuery)
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
	values := p.values[name]
	if len(values) == 0 {
		return absent, nil
	}
	text := values[len(values)-1] // the last of repeated parameters counts
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid("%s: must be a whole number of at least 0, not '%s'", name, printable(text))
	}
	return n, nil
}

// Meta returns the meta object for this page of the list at path, which has total objects.
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

// params are the query parameters of a request, with the names in the order of their first appearance. The links to
// other pages have the same order; net/url would lose it. A wrongly escaped text is used as it is; net/url would drop
// it.
type params struct {
	names  []string
	values url.Values
}

func parseParams(rawQuery string) params {
	all := params{values: url.Values{}}
	for pair := range strings.SplitSeq(rawQuery, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = unescape(name)
		if !all.values.Has(name) {
			all.names = append(all.names, name)
		}
		all.values.Add(name, unescape(value))
	}
	if all.values.Has("api_key") { // this interface does not authenticate by api_key and username, and they must not appear in links
		all.names = slices.DeleteFunc(all.names, func(name string) bool { return name == "api_key" || name == "username" })
	}
	return all
}

func unescape(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		plain = text
	}
	return strings.ToValidUTF8(plain, "\uFFFD")
}

// encodeWithout returns the parameters except the named ones, each followed by "&".
func (p params) encodeWithout(names ...string) string {
	var text strings.Builder
	for _, name := range p.names {
		if slices.Contains(names, name) {
			continue
		}
		for _, value := range p.values[name] {
			text.WriteString(url.QueryEscape(name) + "=" + url.QueryEscape(value) + "&")
		}
	}
	return text.String()
}
