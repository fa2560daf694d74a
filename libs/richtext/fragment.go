package richtext

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// isFragment reports whether a text is an HTML fragment: it starts with a tag of HTML, or contains a line break
// element or an HTML element with an end tag. Plain text may contain "<none>", "a < b", or "<b>" without an end tag.
func isFragment(text string) bool {
	tokens := html.NewTokenizer(strings.NewReader(text))
	var opened []string
	for first := true; ; {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken: // the end; reading a string returns no other error
			return false
		case html.TextToken:
			first = first && strings.TrimSpace(string(tokens.Text())) == ""
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, _ := tokens.TagName()
			tag := string(name)
			switch {
			case slices.Contains(opened, tag):
				if kind == html.EndTagToken {
					return true
				}
			case effectOf(tag) != notHTML && kind != html.EndTagToken:
				if first || tag == "br" {
					return true
				}
				opened = append(opened, tag)
			}
			first = false
		}
	}
}

// effect is the effect of an HTML element on the text in a fragment.
type effect int

const (
	notHTML effect = iota
	inline         // no effect
	block          // separates paragraphs
	list
	item
	bold
	italic
	anchor
	lineBreak
	hidden // its text is not shown
)

func effectOf(tag string) effect {
	switch tag {
	case "ul", "ol":
		return list
	case "li":
		return item
	case "b", "strong":
		return bold
	case "i", "em":
		return italic
	case "a":
		return anchor
	case "br":
		return lineBreak
	case "script", "style", "iframe", "noembed", "noframes", "noscript", "xmp", "plaintext":
		return hidden
	case "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "hr", "table", "thead", "tbody", "tfoot", "tr", "td", "th",
		"caption", "dl", "dt", "dd", "section", "article", "aside", "header", "footer", "main", "nav", "figure", "figcaption", "address",
		"center", "form", "fieldset", "details", "html", "head", "body", "frameset", "textarea", "title", "dialog", "marquee", "menu":
		return block
	case "span", "font", "u", "s", "del", "ins", "strike", "mark", "small", "big", "sub", "sup", "code", "kbd", "samp", "tt", "cite", "q",
		"abbr", "img", "svg", "math", "object", "embed", "video", "audio", "source", "input", "button", "select", "option", "label", "base",
		"link", "meta", "template", "frame", "applet", "canvas", "image", "isindex", "keygen", "bgsound", "layer":
		return inline
	}
	return notHTML
}

// fragment reads an HTML fragment into the nodes of a structured document.
type fragment struct {
	open         []*node // the open blocks, from the document to the innermost one
	bold, italic int     // number of open elements
	href         string
}

// parseFragment returns the text of an HTML fragment with its supported formatting. Unsupported blocks become
// paragraphs. Hidden elements are omitted with their text. Other unsupported elements become their text. parseFragment reads
// the fragment once, so its time is proportional to the length.
func parseFragment(text string) *node {
	f := fragment{open: []*node{{kind: "doc"}}}
	tokens := html.NewTokenizer(strings.NewReader(text))
	for hiding := false; ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return f.open[0]
		case html.TextToken:
			if !hiding {
				f.text(string(tokens.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			hiding = effectOf(token.Data) == hidden
			f.tag(token, true)
		case html.EndTagToken:
			hiding = false
			f.tag(tokens.Token(), false)
		}
	}
}

func (f *fragment) tag(token html.Token, opens bool) {
	step := -1
	if opens {
		step = 1
	}
	switch effectOf(token.Data) {
	case bold:
		f.bold = max(0, f.bold+step)
	case italic:
		f.italic = max(0, f.italic+step)
	case anchor:
		f.href = ""
		for _, a := range token.Attr {
			if href := strings.TrimSpace(a.Val); opens && a.Key == "href" && linkable(href) {
				f.href = href
			}
		}
	case lineBreak:
		f.add(&node{kind: "hardBreak", href: f.href})
	case block:
		f.leave("paragraph")
	case item:
		f.item(opens)
	case list:
		f.list(token.Data, opens)
	}
}

func (f *fragment) block() *node { return f.open[len(f.open)-1] }

// enter starts a block within the innermost open block.
func (f *fragment) enter(kind string) {
	n := &node{kind: kind}
	f.block().content = append(f.block().content, n)
	f.open = append(f.open, n)
}

// leave ends the innermost block if it is of one of the kinds.
func (f *fragment) leave(kinds ...string) {
	if slices.Contains(kinds, f.block().kind) {
		f.open = f.open[:len(f.open)-1]
	}
}

func (f *fragment) inList() bool { return strings.HasSuffix(f.block().kind, "List") }

// text adds text. It ignores white space between blocks.
func (f *fragment) text(text string) {
	if f.block().kind != "paragraph" && strings.TrimSpace(text) == "" {
		return
	}
	f.add(&node{kind: "text", text: text, bold: f.bold > 0, italic: f.italic > 0, href: f.href})
}

// add adds a text or a line break. Outside of a paragraph, add starts a paragraph.
func (f *fragment) add(n *node) {
	if f.inList() {
		f.enter("listItem")
	}
	if f.block().kind != "paragraph" {
		f.enter("paragraph")
	}
	f.block().content = append(f.block().content, n)
}

// item starts or ends a list item. The start of an item ends the previous item. Outside of a list, an item becomes a
// paragraph.
func (f *fragment) item(opens bool) {
	f.leave("paragraph")
	f.leave("listItem")
	if opens && f.inList() {
		f.enter("listItem")
	}
}

// list starts or ends a list. A list that is nested too deep continues the list around it.
func (f *fragment) list(tag string, opens bool) {
	f.leave("paragraph")
	if !opens {
		f.leave("listItem")
		f.leave("bulletList", "orderedList")
		return
	}
	if len(f.open) > maxDepth-4 { // a list item with a list, its item and a paragraph still fit
		return
	}
	if f.inList() {
		f.enter("listItem")
	}
	if tag == "ol" {
		f.enter("orderedList")
	} else {
		f.enter("bulletList")
	}
}
