package richtext

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The notation is how people type a Rich text: **bold**, *italic*, [text](address), and lists of lines that begin with
// "- " or "1. ". An empty line separates paragraphs. A line break is a hardBreak. The lines of a list item after the first
// are indented by at least two blanks. Two empty lines separate two lists of the same kind. A backslash removes the
// special meaning of the next character. A backslash at the end of a line is omitted. So a line with only a backslash is a
// line without text that does not separate paragraphs.
//
// Decision: this is a part of CommonMark with simpler rules, because each structured document must have a notation that
// Document converts to the same structured document. CommonMark cannot express bold text with a blank at its end, for example.

// Document returns the structured document of a text in the notation. Every text is valid notation: characters that are not
// valid formatting are text.
func Document(notation string) string {
	lines := strings.Split(visible(notation), "\n")
	for i, line := range lines {
		lines[i] = strings.Repeat("    ", len(line)-len(strings.TrimLeft(line, "\t"))) + strings.TrimLeft(line, "\t")
	}
	doc := node{kind: "doc", content: readBlocks(lines, 1)}
	return doc.json()
}

// Notation returns a Rich text in the notation. exact is false if Document returns another document for the notation. This
// happens only for a link whose address is very long or has control characters.
func Notation(text string) (notation string, exact bool) {
	text = strings.TrimSpace(text)
	doc, formatted := parse(text)
	if !formatted {
		doc = plainNode(text)
	}
	doc = doc.normal()
	notation = strings.Join(noteBlocks(doc.content, 1), "\n")
	return notation, Document(notation) == doc.json()
}

// plainNode returns the nodes of a plain text, with the paragraphs and line breaks of plainHTML.
func plainNode(text string) *node {
	doc := &node{kind: "doc"}
	for paragraph := range strings.SplitSeq(visible(text), "\n\n") {
		if paragraph = strings.Trim(paragraph, "\n"); paragraph == "" {
			continue
		}
		block := &node{kind: "paragraph"}
		for i, line := range strings.Split(paragraph, "\n") {
			if i > 0 {
				block.content = append(block.content, &node{kind: "hardBreak"})
			}
			block.content = append(block.content, &node{kind: "text", text: line})
		}
		doc.content = append(doc.content, block)
	}
	return doc
}

// normal returns a node that is shown in the same way: without empty texts, line breaks and control characters in texts,
// styles of line breaks, and lists without items. Successive texts of one style are one text.
func (n *node) normal() *node {
	out := &node{kind: n.kind}
	for _, child := range n.content {
		switch child.kind {
		case "text":
			text := &node{kind: "text", text: strings.ReplaceAll(visible(child.text), "\n", " "), bold: child.bold, italic: child.italic, href: child.href}
			if last := len(out.content) - 1; last >= 0 && out.content[last].like(text) {
				out.content[last].text += text.text
			} else if text.text != "" {
				out.content = append(out.content, text)
			}
		case "hardBreak":
			out.content = append(out.content, &node{kind: "hardBreak", href: child.href})
		default:
			if child = child.normal(); len(child.content) > 0 || !child.isList() {
				out.content = append(out.content, child)
			}
		}
	}
	return out
}

func (n *node) isList() bool { return n.kind == "bulletList" || n.kind == "orderedList" }

// like reports whether two nodes are texts of the same style and with the same link.
func (n *node) like(other *node) bool {
	return n.kind == "text" && other.kind == "text" && n.bold == other.bold && n.italic == other.italic && n.href == other.href
}

// jsonNode is a node in a structured document.
type jsonNode struct {
	Type    string     `json:"type"`
	Text    string     `json:"text,omitempty"`
	Marks   []jsonMark `json:"marks,omitempty"`
	Content []jsonNode `json:"content,omitempty"`
}

type jsonMark struct {
	Type  string            `json:"type"`
	Attrs map[string]string `json:"attrs,omitempty"`
}

// json returns the JSON of the structured document n, a node of the kind doc.
func (n *node) json() string {
	document := struct {
		Type    string     `json:"type"`
		Content []jsonNode `json:"content"`
	}{"doc", append([]jsonNode{}, n.encode().Content...)}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(document) // strings: cannot fail
	return strings.TrimSuffix(out.String(), "\n")
}

func (n *node) encode() jsonNode {
	out := jsonNode{Type: n.kind, Text: n.text}
	if n.bold {
		out.Marks = append(out.Marks, jsonMark{Type: "bold"})
	}
	if n.italic {
		out.Marks = append(out.Marks, jsonMark{Type: "italic"})
	}
	if n.href != "" {
		out.Marks = append(out.Marks, jsonMark{"link", map[string]string{"href": n.href}})
	}
	for _, child := range n.content {
		out.Content = append(out.Content, child.encode())
	}
	return out
}
