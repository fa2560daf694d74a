package richtext

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// writer receives the parts of an HTML text in order.
type writer interface {
	text(text string)
	open(token html.Token)
	close(name string)
}

// walk passes the parts of sanitised HTML to w.
func walk(safe string, w writer) {
	tokens := html.NewTokenizer(strings.NewReader(safe))
	for {
		switch tokens.Next() {
		case html.ErrorToken: // the end; reading a string returns no other error
			return
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

// textOf converts sanitised HTML to plain text. Blocks become lines, and list items get their
// bullet or number. The address of a link follows its text unless the text is the address.
func textOf(safe string) string {
	w := textWriter{}
	walk(safe, &w)
	return w.finish()
}

type textWriter struct {
	out   strings.Builder
	lists []int // the next number of each open list; 0 for a bullet list
	links []link
	exact int // open pre elements
}

type link struct {
	href string
	from int // the position of its text in out
}

// text folds white space like a browser, except in preformatted text.
func (w *textWriter) text(text string) {
	if w.exact == 0 {
		text = foldSpace(text)
		if before := w.out.String(); before == "" || strings.HasSuffix(before, "\n") || strings.HasSuffix(before, " ") {
			text = strings.TrimPrefix(text, " ")
		}
	}
	w.out.WriteString(text)
}

func foldSpace(text string) string {
	var out strings.Builder
	space := false
	for _, r := range text {
		if r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == '\f' {
			if !space {
				out.WriteByte(' ')
			}
			space = true
			continue
		}
		space = false
		out.WriteRune(r)
	}
	return out.String()
}

// line ends the current line unless it is empty.
func (w *textWriter) line() {
	if w.out.Len() > 0 && !strings.HasSuffix(w.out.String(), "\n") {
		w.out.WriteString("\n")
	}
}

func (w *textWriter) open(token html.Token) {
	switch token.Data {
	case "br":
		w.out.WriteString("\n")
	case "ul":
		w.line()
		w.lists = append(w.lists, 0)
	case "ol":
		w.line()
		w.lists = append(w.lists, 1)
	case "li":
		w.line()
		w.out.WriteString(w.marker())
	case "pre":
		w.line()
		w.exact++
	case "a":
		w.links = append(w.links, link{href: attribute(token, "href"), from: w.out.Len()})
	case "p":
		if !w.atMarker() {
			w.line()
		}
	case "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr":
		w.line()
	}
}

func (w *textWriter) close(name string) {
	switch name {
	case "ul", "ol":
		w.line()
		if len(w.lists) > 0 {
			w.lists = w.lists[:len(w.lists)-1]
		}
	case "pre":
		w.line()
		w.exact = max(0, w.exact-1)
	case "a":
		w.closeLink()
	case "p", "li", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote":
		w.line()
	}
}

func (w *textWriter) closeLink() {
	if len(w.links) == 0 {
		return
	}
	last := w.links[len(w.links)-1]
	w.links = w.links[:len(w.links)-1]
	if shown := strings.TrimSpace(w.out.String()[last.from:]); last.href != "" && shown != last.href {
		w.out.WriteString(" (" + last.href + ")")
	}
}

func (w *textWriter) marker() string {
	if len(w.lists) == 0 {
		return "- "
	}
	indent := strings.Repeat("  ", len(w.lists)-1)
	last := &w.lists[len(w.lists)-1]
	if *last == 0 {
		return indent + "- "
	}
	number := strconv.Itoa(*last)
	*last++
	return indent + number + ". "
}

// atMarker reports whether the text ends with the bullet or number of a list item.
func (w *textWriter) atMarker() bool {
	text := w.out.String()
	return strings.HasSuffix(text, "- ") || strings.HasSuffix(text, ". ")
}

func (w *textWriter) finish() string {
	lines := strings.Split(w.out.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n ")
}

func attribute(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
