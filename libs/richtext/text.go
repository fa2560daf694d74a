package richtext

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// line is a line of text. It consists of runs, each with one format.
type line struct {
	depth  int    // depth of the list item
	marker string // the bullet or number of a list item
	runs   []run
}

type run struct {
	text                string
	bold, italic, exact bool
	href                string
}

// like reports whether two runs have the same format.
func (r run) like(other run) bool {
	r.text = other.text
	return r == other
}

// reader converts sanitised HTML to lines.
type reader struct {
	addresses           bool // argument of linesOf
	lines               []line
	lists               []int // the next number of each open list; 0 for a bullet list
	links               []link
	bold, italic, exact int // number of open elements; exact counts pre elements
}

type link struct{ href, shown string }

// linesOf returns the lines of sanitised HTML. Blocks become lines, and list items get their marker. If addresses is true, the
// address of a link follows its text, unless the text is the address.
func linesOf(safe string, addresses bool) []line {
	r := reader{addresses: addresses, lines: make([]line, 1)}
	tokens := html.NewTokenizer(strings.NewReader(safe))
	for {
		switch tokens.Next() {
		case html.ErrorToken: // the end; reading a string returns no other error
			return r.lines
		case html.TextToken:
			r.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			r.tag(tokens.Token(), 1)
		case html.EndTagToken:
			r.tag(tokens.Token(), -1)
		}
	}
}

// tag processes a start tag (step 1) or an end tag (step -1).
func (r *reader) tag(token html.Token, step int) {
	opens := step > 0
	switch token.Data {
	case "br":
		r.newLine()
	case "hr", "blockquote":
		r.endLine()
	case "b", "strong":
		r.bold = max(0, r.bold+step)
	case "i", "em":
		r.italic = max(0, r.italic+step)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		r.endLine()
		r.bold = max(0, r.bold+step)
	case "pre":
		r.endLine()
		r.exact = max(0, r.exact+step)
	case "p":
		if l := r.line(); !opens || l.marker == "" || len(l.runs) > 0 {
			r.endLine()
		}
	case "ul", "ol":
		r.endLine()
		switch {
		case !opens:
			r.lists = r.lists[:max(0, len(r.lists)-1)]
		case token.Data == "ul":
			r.lists = append(r.lists, 0)
		default:
			r.lists = append(r.lists, 1)
		}
	case "li":
		r.endLine()
		if opens {
			r.mark(r.line())
		}
	case "a":
		r.link(token, opens)
	}
}

func (r *reader) line() *line { return &r.lines[len(r.lines)-1] }

func (r *reader) newLine() { r.lines = append(r.lines, line{}) }

// endLine starts a new line unless the current line is empty.
func (r *reader) endLine() {
	if l := r.line(); l.marker != "" || len(l.runs) > 0 {
		r.newLine()
	}
}

// mark sets the marker of a list item.
func (r *reader) mark(l *line) {
	l.depth, l.marker = max(0, len(r.lists)-1), "- "
	if n := len(r.lists); n > 0 && r.lists[n-1] > 0 {
		l.marker = strconv.Itoa(r.lists[n-1]) + ". "
		r.lists[n-1]++
	}
}

func (r *reader) link(token html.Token, opens bool) {
	if opens {
		var href string
		for _, a := range token.Attr {
			if a.Key == "href" {
				href = a.Val
			}
		}
		r.links = append(r.links, link{href: href})
		return
	}
	n := len(r.links)
	if n == 0 {
		return
	}
	last := r.links[n-1]
	r.links = r.links[:n-1]
	shown := strings.TrimSpace(last.shown)
	if r.addresses && last.href != "" && shown != last.href && "mailto:"+shown != last.href {
		l := r.line()
		l.runs = append(l.runs, run{text: " (" + last.href + ")"})
	}
}

// text adds text to the lines. It folds white space as a browser does, except in preformatted text.
func (r *reader) text(text string) {
	if r.exact == 0 {
		r.run(folded(text))
		return
	}
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			r.newLine()
		}
		r.run(part)
	}
}

// folded replaces each sequence of white space with one blank.
func folded(text string) string {
	out := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		if strings.IndexByte(" \n\t\r\f", c) < 0 {
			out = append(out, c)
		} else if n := len(out); n == 0 || out[n-1] != ' ' {
			out = append(out, ' ')
		}
	}
	return string(out)
}

func (r *reader) run(text string) {
	l := r.line()
	if n := len(l.runs); r.exact == 0 && (n == 0 || strings.HasSuffix(l.runs[n-1].text, " ")) {
		text = strings.TrimPrefix(text, " ")
	}
	if text == "" {
		return
	}
	added := run{text: text, bold: r.bold > 0, italic: r.italic > 0, exact: r.exact > 0}
	if n := len(r.links); n > 0 {
		added.href = r.links[n-1].href
		r.links[n-1].shown += text
	}
	if n := len(l.runs); n > 0 && l.runs[n-1].like(added) {
		l.runs[n-1].text += text
		return
	}
	l.runs = append(l.runs, added)
}

// textOf converts sanitised HTML to plain text.
func textOf(safe string) string {
	var out strings.Builder
	for _, l := range linesOf(safe, true) {
		text := strings.Repeat("  ", l.depth) + l.marker
		for _, r := range l.runs {
			text += r.text
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return strings.Trim(out.String(), "\n ")
}
