package richtext

import (
	"reflect"
	"strconv"
	"strings"
)

// noteBlocks returns the lines of blocks in the notation. depth is the depth of the blocks in the document.
func noteBlocks(blocks []*node, depth int) (lines []string) {
	for i, block := range blocks {
		if i > 0 {
			lines = append(lines, make([]string, emptyLines(blocks[i-1], block))...)
		}
		if !block.isList() {
			lines = append(lines, noteParagraph(block.content, depth)...)
			continue
		}
		for j, item := range block.content {
			marker := "- "
			if block.kind == "orderedList" {
				marker = strconv.Itoa(j+1) + ". "
			}
			for k, line := range append(noteBlocks(item.content, depth+2), make([]string, max(0, 1-len(item.content)))...) {
				switch {
				case k == 0:
					line = strings.TrimRight(marker, " ") + strings.Repeat(" ", min(1, len(line))) + line
				case line != "":
					line = strings.Repeat(" ", len(marker)) + line
				}
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// emptyLines returns the number of empty lines between two blocks.
func emptyLines(former, next *node) int {
	switch {
	case former.isList() && former.kind == next.kind:
		return 2
	case !former.isList() && next.isList():
		return 0
	}
	return 1
}

// noteParagraph returns the lines of a paragraph. It first escapes few characters. If readBlocks returns another paragraph for
// these lines, it escapes all characters that may have a meaning.
func noteParagraph(content []*node, depth int) []string {
	plain := inlineWriter{content: content}
	lines := plain.write()
	want := []*node{{kind: "paragraph", content: content}}
	if reflect.DeepEqual(readBlocks(lines, depth), want) {
		return lines
	}
	full := inlineWriter{content: content, escapes: true}
	return full.write()
}

// inlineWriter writes the nodes of a paragraph in the notation.
type inlineWriter struct {
	content []*node
	escapes bool // escape each character that may have a meaning
	lines   []string
	line    strings.Builder
	style   node // the styles and the link that are open
	inside  node // the open styles that were opened within the present link
}

func (w *inlineWriter) write() []string {
	for i, n := range w.content {
		if n.kind == "hardBreak" {
			next := w.textAfter(i)
			w.become(node{bold: w.style.bold && next.bold, italic: w.style.italic && next.italic, href: n.href})
			w.endLine()
			continue
		}
		w.becomeFor(i)
	}
	w.become(node{})
	w.endLine()
	return w.lines
}

// textAfter returns the next text after the node with the index i. If there is none, it returns a node without style.
func (w *inlineWriter) textAfter(i int) *node {
	for _, n := range w.content[i+1:] {
		if n.kind == "text" {
			return n
		}
	}
	return &node{}
}

// becomeFor writes the text with the index i, and before it the change of style. It escapes white space beside asterisks and
// at the ends of lines.
func (w *inlineWriter) becomeFor(i int) {
	n, after := w.content[i], &node{kind: "hardBreak"}
	if i+1 < len(w.content) {
		after = w.content[i+1]
	}
	former := w.style
	w.become(*n)
	opens := n.bold && !former.bold || n.italic && !former.italic
	closes := n.bold && !after.bold || n.italic && !after.italic
	w.text(n.text, w.line.Len() == 0 || opens, after.kind == "hardBreak" || closes)
}

// become writes the signs that close and open styles and links, so that the style and the link of next are open. A style that
// was opened within a link and ends with the link is closed within the link.
func (w *inlineWriter) become(next node) {
	former := w.style
	if ends := former.href != "" && former.href != next.href; ends {
		closed := former
		closed.bold = former.bold && (next.bold || !w.inside.bold)
		closed.italic = former.italic && (next.italic || !w.inside.italic)
		w.stars(former, closed)
		w.line.WriteString("](" + w.escapeAddress(former.href) + ")")
		former, w.inside = closed, node{}
	}
	w.stars(former, next)
	switch {
	case next.href == "":
	case former.href != next.href:
		w.line.WriteString("[")
	default:
		w.inside.bold = next.bold && (w.inside.bold || !former.bold)
		w.inside.italic = next.italic && (w.inside.italic || !former.italic)
	}
	w.style = node{bold: next.bold, italic: next.italic, href: next.href}
}

// stars writes the asterisks between two styles.
func (w *inlineWriter) stars(former, next node) {
	n := 0
	if former.bold != next.bold {
		n = 2
	}
	if former.italic != next.italic {
		n++
	}
	w.line.WriteString(strings.Repeat("*", n))
}

// text writes the characters of a text. It escapes white space at the start if escapeFirst is true, and at the end if
// escapeLast is true.
func (w *inlineWriter) text(text string, escapeFirst, escapeLast bool) {
	chars := []rune(text)
	for i, char := range chars {
		last := i+1 == len(chars)
		space := char == ' ' || char == '\t'
		switch {
		case space && (i == 0 && escapeFirst || last && escapeLast),
			w.escapes && strings.ContainsRune(`\*[]`, char),
			char == '\\' && (last || escapable(chars[i+1])):
			w.line.WriteRune('\\')
		}
		w.line.WriteRune(char)
	}
}

func (w *inlineWriter) escapeAddress(href string) string {
	var out strings.Builder
	for _, char := range href {
		if char == '\\' || char == ' ' || char == '\t' || w.escapes && strings.ContainsRune("()[", char) {
			out.WriteRune('\\')
		}
		out.WriteRune(char)
	}
	return out.String()
}

// endLine ends a line. An empty line becomes a backslash. If a line begins like a list item, its marker is escaped.
func (w *inlineWriter) endLine() {
	line := w.line.String()
	w.line.Reset()
	if line == "" {
		line = `\`
	}
	if _, is := markerOf(line); is {
		at := len(line) - len(strings.TrimLeft(line, "0123456789"))
		line = line[:at] + `\` + line[at:]
	}
	w.lines = append(w.lines, line)
}
