package richtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// CardText turns HTML that this package has rendered into the Markdown that text blocks
// of an Adaptive Card understand: bold, italic, links and lists. Everything else becomes
// text, headings bold lines, and what a character of the text would mean in Markdown is escaped.
// Emphasis that Markdown cannot express where it stands (within a word, say) is left out.
func CardText(safe string) string {
	w := cardWriter{}
	tokens := html.NewTokenizer(strings.NewReader(safe))
	for {
		switch tokens.Next() {
		case html.ErrorToken: // the end; a string has no other error
			return joinCard(w.lines)
		case html.TextToken:
			w.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			w.open(tokens.Token())
		case html.EndTagToken:
			name, _ := tokens.TagName()
			w.close(string(name))
		}
	}
}

// CardPlain escapes plain text so that a text block of an Adaptive Card shows it as it is,
// a line each.
func CardPlain(text string) string {
	var lines []cardLine
	for line := range strings.SplitSeq(normalBreaks(text), "\n") {
		lines = append(lines, cardLine{runs: []cardRun{{text: line}}})
	}
	return joinCard(lines)
}

// cardLine is a line of the text: its list marker, and runs of one format each.
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
	lists               textWriter // numbers the items
	bold, italic, exact int
	hrefs               []string
	started             bool // the current line may be added to
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
			w.run(strings.ReplaceAll(part, " ", "\u00a0")) // others would be folded where it is shown
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
	switch token.Data {
	case "b", "strong":
		w.bold++
	case "i", "em":
		w.italic++
	case "a":
		w.hrefs = append(w.hrefs, attribute(token, "href"))
	case "ul":
		w.started = false
		w.lists.lists = append(w.lists.lists, 0)
	case "ol":
		w.started = false
		w.lists.lists = append(w.lists.lists, 1)
	case "li":
		w.started = false
		marker := w.lists.marker()
		depth := max(0, len(w.lists.lists)-1)
		// Four blanks put an item into the one above whether that has a bullet or a number.
		w.line().marker = strings.Repeat("    ", depth) + strings.TrimLeft(marker, " ")
	case "p":
		if w.started && (len(w.line().runs) > 0 || w.line().marker == "") {
			w.started = false
		}
	case "pre":
		w.started = false
		w.exact++
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.started = false
		w.bold++
	case "br", "hr", "blockquote":
		w.started = false
	}
}

func (w *cardWriter) close(name string) {
	switch name {
	case "b", "strong":
		w.bold = max(0, w.bold-1)
	case "i", "em":
		w.italic = max(0, w.italic-1)
	case "a":
		w.hrefs = w.hrefs[:max(0, len(w.hrefs)-1)]
	case "ul", "ol":
		w.started = false
		w.lists.lists = w.lists.lists[:max(0, len(w.lists.lists)-1)]
	case "pre":
		w.started = false
		w.exact = max(0, w.exact-1)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.started = false
		w.bold = max(0, w.bold-1)
	case "p", "li", "blockquote":
		w.started = false
	}
}

// joinCard puts lines together: items of a list one below the other, anything else as
// paragraphs, for a single line break means nothing in Markdown.
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

// markdown writes a run between two characters. White space goes outside of the signs of emphasis.
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

// apart reports a character next to which signs of emphasis are understood as such, whatever is
// on their other side (CommonMark, 6.2); another sign of emphasis is none.
func apart(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsPunct(c) && c != '*' && c != '_' && c != '\\'
}

// cardLink makes an address safe between the brackets of a link.
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

// escapeCard takes the meaning from what Markdown would read within a line, and from the braces with
// which a card asks for dates. Control characters are left out, a tabulator becomes a blank.
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

// escapeStart takes the meaning from what Markdown would read at the start of a line: a heading, a list,
// a rule. A line that starts with emphasis or a link starts with a sign that is meant.
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
