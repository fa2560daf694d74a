package legacy

import (
	"net/url"
	"slices"
	"strings"
)

// params are the query parameters of a request, with the names in the order of their first appearance. The links to
// other pages keep this order, which net/url loses. A badly escaped text stays as it is; net/url drops it.
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
	if all.values.Has("api_key") { // it and the username beside it do not authenticate, and must not get into links
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
