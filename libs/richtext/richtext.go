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

// Encoding is the encoding of a Rich text.
type Encoding string

const (
	Text       Encoding = "text"
	Structured Encoding = "structured" // a JSON document node
	Fragment   Encoding = "fragment"   // simple HTML
)

// Detect returns the encoding of a Rich text. A text that starts like a structured document but is
// none is plain text, and is rendered literally.
func Detect(text string) Encoding {
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "{") && isDocument(trimmed):
		return Structured
	case len(trimmed) > 2 && trimmed[0] == '<' && isLetter(trimmed[1]) && trimmed[len(trimmed)-1] == '>':
		return Fragment
	}
	return Text
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// HTML renders a text as HTML that is safe to embed. It renders a text that is invalid in its
// format literally.
func HTML(format Format, text string) string {
	switch format {
	case Markdown:
		var out bytes.Buffer
		if err := markdown().Convert([]byte(text), &out); err != nil {
			return plainHTML(text)
		}
		return clean(out.String())
	case Rich:
		switch Detect(text) {
		case Structured:
			if doc, err := parse(text); err == nil {
				return clean(doc.html())
			}
		case Fragment:
			return clean(text)
		}
	}
	return plainHTML(text)
}

// PlainText renders a text for mail parts, SMS and logs: without markup, one line per
// paragraph and list item, and each link followed by its address.
func PlainText(format Format, text string) string {
	if format == Plain || format == Rich && Detect(text) == Text {
		return strings.TrimSpace(normalBreaks(text))
	}
	return textOf(HTML(format, text))
}

// plainHTML renders a plain text with its paragraphs and line breaks.
func plainHTML(text string) string {
	text = strings.TrimSpace(normalBreaks(text))
	if text == "" {
		return ""
	}
	var out strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
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
