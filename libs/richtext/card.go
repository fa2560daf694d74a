package richtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CardText returns the Markdown for a text block of an Adaptive Card. safe is HTML that this
// package has rendered. The Markdown has bold, italic, links and lists. A heading becomes a bold
// line, all other elements become text. CardText escapes characters of the text that have a meaning
// in Markdown. It omits emphasis that Markdown cannot express in its place, such as within a word.
func CardText(safe string) string { return cardDialect().join(linesOf(safe, false)) }

// CardPlain escapes plain text, so that a text block of an Adaptive Card shows no character as
// Markdown. Each line that is not blank becomes a paragraph.
func CardPlain(text string) string {
	var lines []line
	for part := range strings.SplitSeq(visible(text), "\n") {
		lines = append(lines, line{runs: []run{{text: part}}})
	}
	return cardDialect().join(lines)
}

// dialect is the notation of a chat program for formatted text.
type dialect struct {
	bold, italic string // the signs of emphasis, before and after the text
	bullet       string // marker of an item in a bullet list
	escape       func(text string) string
	escapeStart  func(line string) string
	link         func(href, shown string, d dialect) string
}

func cardDialect() dialect {
	return dialect{"**", "_", "- ", escapeCard, escapeStart, func(href, shown string, d dialect) string {
		return "[" + d.escape(shown) + "](" + cardLink(href) + ")"
	}}
}

// join joins the lines that have text. A list item follows the item before it after one line break.
// All other lines become paragraphs, because Markdown ignores a single line break.
func (d dialect) join(lines []line) string {
	var out strings.Builder
	level := -1 // the depth of the previous item; -1 if there is none
	for _, l := range lines {
		text := d.line(l)
		if text == "" {
			continue
		}
		switch {
		case out.Len() == 0:
		case l.marker != "" && level >= 0:
			out.WriteByte('\n')
		default:
			out.WriteString("\n\n")
		}
		if l.marker == "" {
			level = -1
		} else {
			level = min(l.depth, level+1) // the parent item has no line if it has no text
		}
		// An indentation of four blanks nests an item, both in a bullet list and in a numbered list.
		marker := l.marker
		if marker == "- " {
			marker = d.bullet
		}
		out.WriteString(strings.Repeat("    ", max(0, level)) + marker + text)
	}
	return out.String()
}

func (d dialect) line(l line) string {
	var out strings.Builder
	before := ' '
	for i, r := range l.runs {
		after := ' '
		if i+1 < len(l.runs) {
			after, _ = utf8.DecodeRuneInString(l.runs[i+1].text)
		}
		if r.exact {
			r.text = strings.ReplaceAll(r.text, " ", "\u00a0") // an Adaptive Card would merge ordinary blanks
		}
		text := d.run(r, before, after)
		before, _ = utf8.DecodeLastRuneInString(text)
		out.WriteString(text)
	}
	return d.escapeStart(strings.Trim(out.String(), " "))
}

// run returns a run in the notation. before and after are the characters next to the run. White space at the ends of the run
// is outside of the signs of emphasis in the result.
func (d dialect) run(r run, before, after rune) string {
	core := strings.Trim(r.text, " \u00a0")
	if core == "" {
		return r.text
	}
	start := strings.Index(r.text, core)
	lead, trail := r.text[:start], r.text[start+len(core):]
	if lead != "" {
		before = ' '
	}
	if trail != "" {
		after = ' '
	}
	text := d.escape(core)
	switch {
	case text == "":
		return lead + trail
	case linkable(r.href):
		text = d.link(r.href, core, d)
	}
	if apart(before) && apart(after) {
		if r.italic {
			text = d.italic + text + d.italic
		}
		if r.bold {
			text = d.bold + text + d.bold
		}
	}
	return lead + text + trail
}

// apart reports whether a sign of emphasis next to c is valid with any character on its other side
// (CommonMark, 6.2). It returns false if c is a backslash or itself a sign of emphasis.
func apart(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsPunct(c) && c != '*' && c != '_' && c != '\\'
}

// cardLink percent-encodes the characters of an address that could end the address or the link in a notation, and all
// characters that are not printable ASCII.
func cardLink(href string) string {
	var out strings.Builder
	for _, c := range []byte(href) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("()<>[]\\\"'`*{}|^", c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}

// escapeCard escapes the characters that have a meaning in Markdown within a line, and the braces of
// date functions in a card. It omits control characters. A tab becomes a blank.
func escapeCard(text string) string {
	var out strings.Builder
	for _, c := range text {
		switch {
		case c == '\t':
			c = ' '
		case unicode.IsControl(c):
			continue
		case strings.ContainsRune("\\`*_[]<>&~|{}!", c):
			out.WriteByte('\\')
		}
		out.WriteRune(c)
	}
	return out.String()
}

// escapeStart escapes the characters that have a meaning in Markdown at the start of a line: a heading, a list, a
// rule. It does not change emphasis and links at the start of a line.
func escapeStart(line string) string {
	if line == "" {
		return ""
	}
	switch line[0] {
	case '#', '+', '-', '=':
		return "\\" + line
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if rest := line[digits:]; digits > 0 && rest != "" && (rest[0] == '.' || rest[0] == ')') {
		return line[:digits] + "\\" + rest
	}
	return line
}
