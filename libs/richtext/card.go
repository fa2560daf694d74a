package richtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// CardText converts HTML that this package has rendered into the Markdown of the text blocks
// of an Adaptive Card: bold, italic, links and lists. A heading becomes a bold line, all other
// elements become text. CardText escapes characters of the text that have a meaning in
// Markdown. It omits emphasis that Markdown cannot express in its place, such as within a word.
func CardText(safe string) string {
	w := cardWriter{}
	walk(safe, &w)
	return joinCard(w.lines)
}

// CardPlain escapes plain text so that a text block of an Adaptive Card shows it unchanged. Each
// line becomes a paragraph.
func CardPlain(text string) string {
	var lines []cardLine
	for line := range strings.SplitSeq(normalBreaks(text), "\n") {
		lines = append(lines, cardLine{runs: []cardRun{{text: line}}})
	}
	return joinCard(lines)
}

// cardLine is a line of text: its list marker and its runs, each in one format.
type cardLine struct {
	marker string
	runs   []cardRun
}

type cardRun struct {
	text         string
	bold, italic bool
	href         string
}

type cardWriter struct {
	lines               []cardLine
	lists               textWriter // numbers the list items
	bold, italic, exact int
	hrefs               []string
	started             bool // the current line is open
}

func (w *cardWriter) line() *cardLine {
	if !w.started {
		w.lines = append(w.lines, cardLine{})
		w.started = true
	}
	return &w.lines[len(w.lines)-1]
}

func (w *cardWriter) text(text string) {
	if w.exact > 0 {
		for i, part := range strings.Split(text, "\n") {
			if i > 0 {
				w.started = false
			}
			w.run(strings.ReplaceAll(part, " ", "\u00a0")) // the card would fold other blanks
		}
		return
	}
	w.run(foldSpace(text))
}

func (w *cardWriter) run(text string) {
	if strings.Trim(text, " ") == "" && !w.started {
		return
	}
	r := cardRun{text: text, bold: w.bold > 0, italic: w.italic > 0}
	if n := len(w.hrefs); n > 0 {
		r.href = w.hrefs[n-1]
	}
	l := w.line()
	l.runs = append(l.runs, r)
}

func (w *cardWriter) open(token html.Token) {
	w.element(token.Data, 1)
	switch token.Data {
	case "a":
		w.hrefs = append(w.hrefs, attribute(token, "href"))
	case "ul":
		w.lists.lists = append(w.lists.lists, 0)
	case "ol":
		w.lists.lists = append(w.lists.lists, 1)
	case "li":
		marker := w.lists.marker()
		depth := max(0, len(w.lists.lists)-1)
		// Four blanks nest an item below an item with a bullet and below one with a number.
		w.line().marker = strings.Repeat("    ", depth) + strings.TrimLeft(marker, " ")
	case "p":
		if w.started && (len(w.line().runs) > 0 || w.line().marker == "") {
			w.started = false
		}
	case "br", "hr":
		w.started = false
	}
}

func (w *cardWriter) close(name string) {
	w.element(name, -1)
	switch name {
	case "a":
		w.hrefs = w.hrefs[:max(0, len(w.hrefs)-1)]
	case "ul", "ol":
		w.lists.lists = w.lists.lists[:max(0, len(w.lists.lists)-1)]
	case "p":
		w.started = false
	}
}

// element counts the open elements that set a format, and ends the line at a block.
func (w *cardWriter) element(name string, step int) {
	switch name {
	case "b", "strong":
		w.bold = max(0, w.bold+step)
	case "i", "em":
		w.italic = max(0, w.italic+step)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.started = false
		w.bold = max(0, w.bold+step)
	case "pre":
		w.started = false
		w.exact = max(0, w.exact+step)
	case "ul", "ol", "li", "blockquote":
		w.started = false
	}
}

// joinCard joins lines. List items follow each other. All other lines become paragraphs,
// because Markdown ignores a single line break.
func joinCard(lines []cardLine) string {
	var out strings.Builder
	items := false
	for _, l := range lines {
		text := l.text()
		if text == "" {
			continue
		}
		item := l.marker != ""
		switch {
		case out.Len() == 0:
		case item && items:
			out.WriteByte('\n')
		default:
			out.WriteString("\n\n")
		}
		out.WriteString(l.marker + text)
		items = item
	}
	return out.String()
}

func (l cardLine) text() string {
	var out strings.Builder
	for i, r := range l.runs {
		before, after := ' ', ' '
		if text := out.String(); text != "" {
			before, _ = utf8.DecodeLastRuneInString(text)
		}
		if i+1 < len(l.runs) && l.runs[i+1].text != "" {
			after, _ = utf8.DecodeRuneInString(l.runs[i+1].text)
		}
		out.WriteString(r.markdown(before, after))
	}
	return escapeStart(strings.Trim(out.String(), " "))
}

// markdown returns a run between two characters. White space goes outside of the signs of emphasis.
func (r cardRun) markdown(before, after rune) string {
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
	text := escapeCard(core)
	if href, ok := cardLink(r.href); ok {
		text = "[" + text + "](" + href + ")"
	}
	if apart(before) && apart(after) {
		if r.italic {
			text = "_" + text + "_"
		}
		if r.bold {
			text = "**" + text + "**"
		}
	}
	return lead + text + trail
}

// apart reports whether a sign of emphasis next to c is valid with any character on its other
// side (CommonMark, 6.2). c must not be a sign of emphasis itself.
func apart(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsPunct(c) && c != '*' && c != '_' && c != '\\'
}

// cardLink escapes an address for the brackets of a link.
func cardLink(href string) (string, bool) {
	scheme, _, _ := strings.Cut(href, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
	default:
		return "", false
	}
	var out strings.Builder
	for _, c := range []byte(href) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("()<>[]\\\"'`*{}|^", c) >= 0 {
			const digits = "0123456789ABCDEF"
			out.WriteString("%" + string(digits[c>>4]) + string(digits[c&15]))
			continue
		}
		out.WriteByte(c)
	}
	return out.String(), true
}

// escapeCard escapes the characters that have a meaning in Markdown within a line, and the braces
// of a card's date functions. It omits control characters. A tab becomes a blank.
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

// escapeStart escapes the characters that have a meaning in Markdown at the start of a line: a
// heading, a list, a rule. It leaves emphasis and links at the start of a line as they are.
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
