package endpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/bodytemplate"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxHidden     = 10   // maximum number of headers, and of secrets, of a template
	maxHiddenName = 64   // characters
	maxHiddenText = 1024 // characters of a value
	// minSecret is the length of the shortest secret. The delivery log does not hide shorter texts in responses.
	minSecret = 4
)

// setTemplate changes the template of an endpoint. in may be nil. With topic.FormatTemplate, it returns an error if in
// is nil and there is no template yet. With another format, it removes the template, and returns an error if in is not
// nil.
func (e *Endpoint) setTemplate(in *TemplateInput, box seal.Box, now time.Time) (err error) {
	switch {
	case e.Format != topic.FormatTemplate && in != nil:
		return fault.Field("template", "needs the format template")
	case e.Format != topic.FormatTemplate:
		e.Template = nil
	case in != nil:
		e.Template, err = in.apply(e.Template, box, e.ID, now)
	case e.Template == nil:
		return fault.Field("template", "is required with the format template")
	}
	return err
}

// Template is the request that is sent to a webhook with topic.FormatTemplate.
type Template struct {
	Method   string                `json:"method" audit:"method"` // POST or PUT
	IDInPath bool                  `json:"idInPath,omitempty" audit:"idInPath"`
	Headers  map[string]HiddenText `json:"headers,omitempty" audit:"headers"` // by canonical name
	Secrets  map[string]HiddenText `json:"secrets,omitempty" audit:"secrets"`
	Body     string                `json:"body" audit:"body"`
}

// HiddenText is a text that no response of the App interface contains. The audit log shows when it was set.
type HiddenText struct {
	Sealed string    `json:"sealed"` // sealed by seal.Box for the endpoint's id
	SetAt  time.Time `json:"setAt" audit:"setAt"`
}

// TemplateInput changes a Template. A field that is nil does not change the stored value. A header or secret that is nil is
// removed.
type TemplateInput struct {
	Method           *string
	IDInPath         *bool
	Headers, Secrets map[string]*string
	Body             *string
}

// opened has the decrypted texts of a Template, by name.
type opened struct{ headers, secrets map[string]string }

// apply returns t with the changes of in, or a fault if the changed template is not valid. t may be nil. owner is the id of
// the endpoint. An unchanged text keeps its sealed form.
func (in TemplateInput) apply(t *Template, box seal.Box, owner string, now time.Time) (*Template, error) {
	out := Template{Method: http.MethodPost}
	if t != nil {
		out = *t
	}
	texts, _ := out.open(box, owner) // a text that was sealed with another BELLBUOY_SECRET can be replaced
	optional.Assign(&out.Method, in.Method)
	optional.Assign(&out.IDInPath, in.IDInPath)
	optional.Assign(&out.Body, in.Body)
	if out.Method != http.MethodPost && out.Method != http.MethodPut {
		return nil, fault.Field("template.method", "must be POST or PUT")
	}
	headers, err := canonical(in.Headers)
	if err != nil {
		return nil, err
	}
	set := func(hidden map[string]HiddenText, texts map[string]string, sent map[string]*string) map[string]HiddenText {
		hidden = maps.Clone(hidden)
		for name, text := range sent {
			switch former, known := texts[name]; {
			case text == nil:
				delete(hidden, name)
				delete(texts, name)
			case !known || former != *text:
				if hidden == nil {
					hidden = make(map[string]HiddenText)
				}
				hidden[name], texts[name] = HiddenText{box.Seal(*text, owner), now}, *text
			}
		}
		return hidden
	}
	if err := checkSecrets(in.Secrets); err != nil {
		return nil, err
	}
	out.Headers = set(out.Headers, texts.headers, headers)
	out.Secrets = set(out.Secrets, texts.secrets, in.Secrets)
	return &out, out.check(texts)
}

// known returns an error if the address is on another host than the endpoint before the change, and the changed template t
// has a hidden text that is not in the input. Otherwise a member who does not know the texts could send them to a host of
// theirs. in may be nil.
func (in *TemplateInput) known(before Endpoint, t *Template, address Address) error {
	if t == nil || address == (Address{}) || address.isHostOf(before) {
		return nil
	}
	var sent TemplateInput
	if in != nil {
		sent = *in
	}
	headers, err := canonical(sent.Headers)
	if err != nil {
		return err
	}
	var unknown []string
	for _, texts := range []struct {
		hidden map[string]HiddenText
		sent   map[string]*string
	}{{t.Headers, headers}, {t.Secrets, sent.Secrets}} {
		for _, name := range Names(texts.hidden) {
			if texts.sent[name] == nil {
				unknown = append(unknown, name)
			}
		}
	}
	if len(unknown) > 0 {
		return fault.Field("url", "is on another host, which needs the values of the template again: send %s with it, or null for each that it does not need", strings.Join(unknown, ", "))
	}
	return nil
}

// check returns a fault if the template has too many headers or secrets, or if its body is missing, is no valid template, or
// uses a secret that texts does not have.
func (t *Template) check(texts opened) error {
	for name, hidden := range map[string]map[string]HiddenText{"template.headers": t.Headers, "template.secrets": t.Secrets} {
		if len(hidden) > maxHidden {
			return fault.Field(name, "must be at most %d", maxHidden)
		}
	}
	if t.Body == "" {
		return fault.Field("template.body", "is required")
	}
	checked, err := bodytemplate.Parse(t.Body)
	if err == nil {
		err = checked.CheckSecrets(func(name string) bool { _, is := texts.secrets[name]; return is })
	}
	if err == nil {
		err = checked.CheckSamples(texts.secrets)
	}
	if err != nil {
		return fault.Field("template.body", "%s", err)
	}
	return nil
}

// open returns the texts of the template. If a text cannot be decrypted, it is empty, and open returns an error together
// with all texts.
func (t *Template) open(box seal.Box, owner string) (texts opened, err error) {
	open := func(hidden map[string]HiddenText) map[string]string {
		out := make(map[string]string, len(hidden))
		for name, text := range hidden {
			var failed error
			if out[name], failed = box.Open(text.Sealed, owner); failed != nil {
				err = fmt.Errorf("open the template of endpoint %s: %w", owner, failed)
			}
		}
		return out
	}
	texts = opened{open(t.Headers), open(t.Secrets)}
	return texts, err
}

// destination returns the template with its texts as JSON, and "" without a template.
func (t *Template) destination(box seal.Box, owner string) (string, error) {
	if t == nil {
		return "", nil
	}
	texts, err := t.open(box, owner)
	if err != nil {
		return "", err
	}
	out, err := json.Marshal(topic.Template{Method: t.Method, IDInPath: t.IDInPath, Headers: texts.headers, Secrets: texts.secrets, Body: t.Body})
	return string(out), err
}

// Names returns the names of hidden texts, sorted.
func Names(hidden map[string]HiddenText) []string {
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(hidden))))
}

// token matches the name of a header (RFC 9110, 5.1). secretName matches the name of a secret. The two never change.
var (
	token      = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	secretName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
)

// canonical returns the headers by canonical name, or a fault if a name or value is not allowed.
func canonical(headers map[string]*string) (map[string]*string, error) {
	const field = "template.headers"
	out := make(map[string]*string, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		key := textproto.CanonicalMIMEHeaderKey(name)
		value := headers[name]
		_, twice := out[key]
		switch {
		case !token.MatchString(name) || len(name) > maxHiddenName:
			return nil, fault.Field(field, "must have names of 1 to %d characters that a header allows, which %q is not", maxHiddenName, richtext.Shorten(name, maxHiddenName))
		case isRefused(key):
			return nil, fault.Field(field, "must not set %s, which Bellbuoy sets or which concerns the connection", key)
		case twice:
			return nil, fault.Field(field, "must name %s once", key)
		case value == nil:
		case *value == "" || len(*value) > maxHiddenText || strings.ContainsFunc(*value, func(c rune) bool { return c < ' ' || c > '~' }) || strings.TrimSpace(*value) != *value:
			return nil, fault.Field(field, "must have values of 1 to %d visible ASCII characters without a space at an end, which that of %s is not", maxHiddenText, key)
		}
		out[key] = value
	}
	return out, nil
}

// isRefused reports whether operators may not set the header.
func isRefused(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", // hop by hop
		"Host", "Content-Length", "Expect", "User-Agent", "Baggage", "Forwarded":
		return true
	}
	return slices.ContainsFunc([]string{"Trace", "Proxy-", "Webhook-", "X-Forwarded-"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// checkSecrets checks the names and values of secrets.
func checkSecrets(secrets map[string]*string) error {
	const field = "template.secrets"
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if !secretName.MatchString(name) || len(name) > maxHiddenName {
			return fault.Field(field, "must have names of 1 to %d letters, digits, dots, hyphens and underscores, which %q is not", maxHiddenName, richtext.Shorten(name, maxHiddenName))
		}
		if text := secrets[name]; text != nil {
			if n := utf8.RuneCountInString(*text); n < minSecret || n > maxHiddenText {
				return fault.Field(field, "must have values of %d to %d characters, which that of %s is not", minSecret, maxHiddenText, name)
			}
		}
	}
	return nil
}
