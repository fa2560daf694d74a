package deliverylog

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	mask = "***"
	// minSecret is the length of the shortest secret that logs hide. A shorter secret would also match parts of other words.
	minSecret = 4
	// longWord is a length for parts of a URL that have only small letters. A part of this length or longer counts as a
	// secret, a shorter one as a word.
	longWord = 16
)

// secrets are texts that a log must not show. Each secret precedes the texts that were cut out of it.
type secrets []string

// add appends the texts that are long enough.
func (s secrets) add(texts ...string) secrets {
	for _, text := range texts {
		if len(text) >= minSecret {
			s = append(s, text)
		}
	}
	return s
}

// hide replaces the secrets in the text. It also finds a secret that is encoded for a URL, JSON or HTML.
func (s secrets) hide(text string) string {
	for _, secret := range s {
		if !strings.Contains(text, longestRun(secret)) { // the usual case; every spelling contains this run
			continue
		}
		for _, form := range spellings(secret) {
			text = strings.ReplaceAll(text, form, mask)
		}
	}
	return text
}

// secretsOf returns the texts that logs hide in requests and responses: the address, the links, the code and the secrets of
// the destination, the signatures and credentials in the request, and sent.Hidden.
func secretsOf(to *topic.Destination, sent *Sent) secrets {
	out := make(secrets, 0, 24)
	for _, signature := range sent.Header["Webhook-Signature"] {
		out = out.add(signature)
		for version := range strings.FieldsSeq(signature) {
			_, value, _ := strings.Cut(version, ",")
			out = out.add(value)
		}
	}
	for _, name := range []string{"Authorization", "Cookie"} {
		for _, value := range sent.Header[name] {
			_, credentials, _ := strings.Cut(value, " ")
			out = out.add(value, credentials)
		}
	}
	for _, secret := range to.Secrets {
		out = out.add(secret, strings.TrimPrefix(secret, "whsec_"))
	}
	for _, link := range []string{to.Unsubscribe, to.Manage, to.Link} {
		_, query, _ := strings.Cut(link, "?")
		out = out.add(link).addValues(query)
	}
	return out.add(to.Address, strings.TrimPrefix(to.Address, "+"), to.Code).add(sent.Hidden...)
}

// addURL appends the parts of an endpoint's URL that logs hide in responses: everything after the host, each value of
// the query, each segment of the path, and each run of letters and digits. It omits segments and runs that are words,
// such as "hooks".
func (s secrets) addURL(address string) secrets {
	_, rest, _ := strings.Cut(address, "://")
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		return s
	}
	path, query, _ := strings.Cut(rest[at:], "?")
	s = s.add(rest[at:], path, query).addValues(query)
	for segment := range strings.SplitSeq(path, "/") {
		if !isWord(segment) {
			s = s.add(segment)
		}
	}
	decoded, err := url.PathUnescape(rest[at:])
	if err != nil {
		decoded = rest[at:]
	}
	for part := range strings.FieldsFuncSeq(decoded, func(r rune) bool { return r < 128 && !plain(byte(r)) }) {
		if !isWord(part) {
			s = s.add(part)
		}
	}
	return s
}

// isWord reports whether the part of a URL counts as a word and not as a secret.
func isWord(part string) bool {
	return len(part) < longWord && strings.IndexFunc(part, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// addValues appends the values of a query. A parameter without "=" counts as a value.
func (s secrets) addValues(query string) secrets {
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, found := strings.Cut(parameter, "=")
		if !found {
			value = name
		}
		s = s.add(value)
	}
	return s
}

// anyURL matches a URL. The first group is the scheme and the host. The second group is the rest, which may contain a
// token. A user name before the host is part of the second group.
var anyURL = regexp.MustCompile(`(?i)\b(https?:(?:\\?/){2}[^\s/?#@"'<>\\]*)([^\s"'<>]*)`)

// hideURLs replaces the part after the host in each URL in a text of a receiver. It replaces a URL with a user name as a whole.
func hideURLs(text string) string {
	if !strings.Contains(text, ":/") && !strings.Contains(text, `:\`) { // the usual case
		return text
	}
	return anyURL.ReplaceAllStringFunc(text, func(found string) string {
		parts := anyURL.FindStringSubmatch(found)
		switch {
		case strings.HasPrefix(parts[2], "@"):
			return mask
		case len(strings.Trim(parts[2], `/\`)) == 0:
			return found
		}
		return parts[1] + "/" + mask
	})
}

// longestRun returns the longest part of the text in which no encoding changes a character.
func longestRun(text string) string {
	var longest string
	start := 0
	for i := range len(text) + 1 {
		if i == len(text) || !plain(text[i]) {
			if i-start > len(longest) {
				longest = text[start:i]
			}
			start = i + 1
		}
	}
	return longest
}

func plain(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// spellings returns the secret in each encoding that hide finds, the longest first.
func spellings(secret string) []string {
	forms := []string{secret}
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		if decoded, err := decode(secret); err == nil {
			forms = append(forms, decoded, url.QueryEscape(decoded), url.PathEscape(decoded), url.QueryEscape(secret))
		}
	}
	for _, form := range forms[:len(forms):len(forms)] {
		quoted, _ := json.Marshal(form) // every string can be encoded
		inner := string(quoted[1 : len(quoted)-1])
		forms = append(forms, inner, strings.ReplaceAll(inner, "/", `\/`), strings.ReplaceAll(form, "/", `\/`), html.EscapeString(form))
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(forms, func(form string) bool { return len(form) < minSecret })
}
