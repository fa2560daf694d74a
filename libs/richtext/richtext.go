// Package richtext turns the texts of events into what people are shown: safe HTML
// and plain text. A text is stored as it was sent, with the Format that says how to
// read it, because both interfaces write the same records and mean different things
// by the same characters: a legacy description "<b>" is three characters unless its
// _md flag is set, while the App accepts formatted content (specification, "Rich text
// fields").
//
// Everything rendered passes one allow-list at the end, whatever it was made from,
// so a flaw in a renderer cannot become a script on a dashboard.
package richtext

import (
	"bytes"
	"html"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
)

// Format says how a stored text is read. Its text is part of stored records.
type Format string

const (
	Plain    Format = "plain"    // characters and line breaks (legacy without its _md flag)
	Markdown Format = "markdown" // CommonMark; raw HTML in it is dropped (legacy with the flag)
	Rich     Format = "rich"     // the App's: a structured document, an HTML fragment or plain text, told apart by Detect
)

// Encoding is what a Rich text turns out to be.
type Encoding string

const (
	Text       Encoding = "text"
	Structured Encoding = "structured" // a JSON document node
	Fragment   Encoding = "fragment"   // simple HTML
)

// Detect tells which of the App's accepted encodings a text is in. A text that starts
// like a structured document but is none is plain text, and appears literally.
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

// HTML renders a text as HTML that is safe to embed. It never fails: what cannot be
// read as its format says appears as the characters it is.
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

// PlainText renders a text for mail parts, SMS and logs: no markup, a line per
// paragraph and list item, links followed by their address.
func PlainText(format Format, text string) string {
	if format == Plain || format == Rich && Detect(text) == Text {
		return strings.TrimSpace(normalBreaks(text))
	}
	return textOf(HTML(format, text))
}

// plainHTML keeps a plain text's paragraphs and line breaks.
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

// The two are built on first use and never changed; both are safe for many goroutines.
var (
	markdown = sync.OnceValue(func() goldmark.Markdown { return goldmark.New() })
	policy   = sync.OnceValue(newPolicy)
)

// newPolicy is the allow-list: text structure and links. No images, which would tell
// their server who reads, no styles, no ids.
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
