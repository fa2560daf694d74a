// Package richtext renders the texts of events as safe HTML and as plain text. A text is stored as it was sent, with
// the Format that defines how to read it. The Format is needed because both interfaces write the same records and use
// the same characters differently. In the legacy interface, the description "<b>" means these three characters,
// unless its _md flag is set. The App interface accepts formatted content (specification, "Rich text fields").
//
// All rendered HTML passes one allow-list at the end, so a fault in a renderer cannot put a
// script on a dashboard.
package richtext

import (
	"html"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
)

// Format defines how a stored text is read. It is part of stored records.
type Format string

const (
	Plain    Format = "plain"    // characters and line breaks (legacy without its _md flag)
	Markdown Format = "markdown" // CommonMark; raw HTML is removed (legacy with the flag)
	Rich     Format = "rich"     // App: a structured document, an HTML fragment or plain text; the function parse distinguishes them
)

// Check returns an Invalid fault without a field if a Rich text has more characters than limit or is an invalid structured
// document, such as one with an unsupported node. Plain text and HTML fragments have no other errors than their length, because
// unsupported HTML is not rendered.
func Check(text string, limit int) error {
	if utf8.RuneCountInString(text) > limit {
		return fault.New(fault.Invalid, "must be at most %d characters", limit)
	}
	value, is := isDocument(strings.TrimSpace(text))
	if !is {
		return nil
	}
	if _, bad := decode(value, 0); bad != nil {
		return fault.New(fault.Invalid, "must be a valid structured document: %s %s", bad.path, bad.text)
	}
	return nil
}

// HTML renders a text as HTML that is safe to embed. It renders a text that is invalid in its
// format literally.
func HTML(format Format, text string) string {
	if unsafe, ok := markup(format, text); ok {
		return clean(unsafe)
	}
	return plainHTML(text)
}

// PlainText renders a text without markup, for example for mail and SMS. Each paragraph and list
// item is a line, and the address of a link follows its text, unless the text is the address.
func PlainText(format Format, text string) string {
	if unsafe, ok := markup(format, text); ok {
		return textOf(clean(unsafe))
	}
	return strings.TrimSpace(visible(text))
}

// markup returns the HTML of a text before sanitising, and false if the text is plain text.
func markup(format Format, text string) (string, bool) {
	var out strings.Builder
	switch format {
	case Markdown:
		err := markdown().Convert([]byte(text), &out)
		return out.String(), err == nil
	case Rich:
		doc, ok := parse(strings.TrimSpace(text))
		if ok {
			doc.write(&out)
		}
		return out.String(), ok
	}
	return "", false
}

// parse returns the nodes of a Rich text, and false if it is plain text. An invalid document is plain text.
func parse(text string) (*node, bool) {
	if value, is := isDocument(text); is {
		doc, bad := decode(value, 0)
		return doc, bad == nil
	}
	if isFragment(text) {
		return parseFragment(text), true
	}
	return nil, false
}

// plainHTML renders a plain text with its paragraphs and line breaks.
func plainHTML(text string) string {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(visible(text)), "\n\n") {
		if paragraph = strings.Trim(paragraph, "\n"); paragraph == "" {
			continue
		}
		out.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(paragraph), "\n", "<br>") + "</p>")
	}
	return clean(out.String())
}

// visible returns a text with \n for every line break, without other control characters than tabs and without overrides of the
// direction of text. It keeps isolates, because an isolate that is not closed ends with its line or paragraph.
func visible(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\r':
			return '\n'
		case isHidden(c) || isOverride(c):
			return -1
		}
		return c
	}, text)
}

// clean returns HTML that is safe to embed. The second call of visible removes characters that were written as
// character references.
func clean(unsafe string) string {
	return strings.TrimSpace(visible(policy().Sanitize(visible(unsafe))))
}

// markdown and policy are built at their first use and never change. Many goroutines may use them.
var (
	markdown = sync.OnceValue(func() goldmark.Markdown { return goldmark.New() })
	policy   = sync.OnceValue(newPolicy)
)

// newPolicy returns the allow-list: text structure and links. It excludes styles, ids, and
// images, which would reveal each reader to the server of the image.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "strong", "em", "ul", "ol", "li",
		"h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}
