// Package richtext renders the texts of events as safe HTML and as plain text. A text is
// stored as it was sent, with the Format that defines how to read it, because both interfaces
// write the same records and use the same characters differently: a legacy description "<b>" is
// three characters unless its _md flag is set, and the App interface accepts formatted content
// (specification, "Rich text fields").
//
// All rendered HTML passes one allow-list at the end, so a fault in a renderer cannot put a
// script on a dashboard.
package richtext

import (
	"bytes"
	"html"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
)

// Format defines how a stored text is read. It is part of stored records.
type Format string

const (
	Plain    Format = "plain"    // characters and line breaks (legacy without its _md flag)
	Markdown Format = "markdown" // CommonMark; raw HTML is removed (legacy with the flag)
	Rich     Format = "rich"     // App: a structured document, an HTML fragment or plain text, which Detect distinguishes
)

// HTML renders a text as HTML that is safe to embed. It renders a text that is invalid in its
// format literally.
func HTML(format Format, text string) string {
	if unsafe, ok := markup(format, text); ok {
		return clean(unsafe)
	}
	return plainHTML(text)
}

// PlainText renders a text for mail parts, SMS and logs: without markup, one line per
// paragraph and list item, and each link followed by its address.
func PlainText(format Format, text string) string {
	if unsafe, ok := markup(format, text); ok {
		return textOf(clean(unsafe))
	}
	return strings.TrimSpace(normalBreaks(text))
}

// markup returns the HTML of a text before sanitising, and false if the text is plain text. A Rich text that
// starts like a structured document but is none is plain text.
func markup(format Format, text string) (string, bool) {
	trimmed := strings.TrimSpace(text)
	switch {
	case format == Markdown:
		var out bytes.Buffer
		err := markdown().Convert([]byte(text), &out)
		return out.String(), err == nil
	case format == Rich && strings.HasPrefix(trimmed, "{"):
		rendered, err := parse(trimmed)
		return rendered, err == nil
	case format == Rich && len(trimmed) > 2 && trimmed[0] == '<' && isLetter(trimmed[1]) && trimmed[len(trimmed)-1] == '>':
		return text, true
	}
	return "", false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// plainHTML renders a plain text with its paragraphs and line breaks.
func plainHTML(text string) string {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(normalBreaks(text)), "\n\n") {
		if paragraph = strings.Trim(paragraph, "\n"); paragraph == "" {
			continue
		}
		out.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(paragraph), "\n", "<br>") + "</p>")
	}
	return clean(out.String())
}

func normalBreaks(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

func clean(unsafe string) string { return strings.TrimSpace(policy().Sanitize(unsafe)) }

// Both are built on first use and never changed. Many goroutines may use them.
var (
	markdown = sync.OnceValue(func() goldmark.Markdown { return goldmark.New() })
	policy   = sync.OnceValue(newPolicy)
)

// newPolicy returns the allow-list: text structure and links. It excludes styles, ids, and
// images, which would reveal each reader to the server of the image.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "strong", "b", "em", "i", "u", "s", "del", "ul", "ol", "li",
		"h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}
