package legacy

import (
	"net/url"
	"slices"
	"strings"
)

// params are the query parameters of a request in the order of their first appearance, each with all its values. The
// links to other pages keep this order, which net/url loses. A badly escaped text stays as it is; net/url drops it.
type params []param

type param struct {
	name   string
	values []string
}

func parseParams(rawQuery string) params {
	var all params
	for pair := range strings.SplitSeq(rawQuery, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescape(name), unescape(value)
		if i := all.index(name); i >= 0 {
			all[i].values = append(all[i].values, value)
			continue
		}
		all = append(all, param{name: name, values: []string{value}})
	}
	return all.withoutCredentials()
}

func unescape(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		plain = text
	}
	return strings.ToValidUTF8(plain, "\uFFFD")
}

// withoutCredentials removes an api_key and the username beside it. They do not authenticate, and must not get into
// links.
func (p params) withoutCredentials() params {
	if p.index("api_key") < 0 {
		return p
	}
	return slices.DeleteFunc(p, func(one param) bool { return one.name == "api_key" || one.name == "username" })
}

func (p params) index(name string) int {
	return slices.IndexFunc(p, func(one param) bool { return one.name == name })
}

// last returns the last value of a parameter, which counts if the parameter is repeated.
func (p params) last(name string) (string, bool) {
	i := p.index(name)
	if i < 0 {
		return "", false
	}
	return p[i].last(), true
}

func (p params) all(name string) []string {
	if i := p.index(name); i >= 0 {
		return p[i].values
	}
	return nil
}

func (p param) last() string { return p.values[len(p.values)-1] }

// encodeWithout returns the parameters except the named ones, each followed by "&".
func (p params) encodeWithout(names ...string) string {
	var text strings.Builder
	for _, one := range p {
		if slices.Contains(names, one.name) {
			continue
		}
		for _, value := range one.values {
			text.WriteString(url.QueryEscape(one.name) + "=" + url.QueryEscape(value) + "&")
		}
	}
	return text.String()
}
