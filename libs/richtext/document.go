package richtext

import (
	"encoding/json"
	"errors"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// maxDepth is the highest nesting of a structured document. Three nested lists fit.
const maxDepth = 24

// node is a node of a structured document: doc, paragraph, bulletList, orderedList,
// listItem, hardBreak or text.
type node struct {
	Type    string     `json:"type"`
	Text    string     `json:"text"`
	Marks   []mark     `json:"marks"`
	Content []node     `json:"content"`
	Attrs   attributes `json:"attrs"`
}

// mark is a format of a text node: bold, italic or link.
type mark struct {
	Type  string     `json:"type"`
	Attrs attributes `json:"attrs"`
}

type attributes struct {
	Href string `json:"href"`
}

// children returns the nodes that a node of the kind may contain. Other kinds are not supported:
// the specification excludes headings, block quotes and code blocks, and names no others.
func children(kind string) (allowed []string, known bool) {
	blocks := []string{"paragraph", "bulletList", "orderedList"}
	switch kind {
	case "doc", "listItem":
		return blocks, true
	case "paragraph":
		return []string{"text", "hardBreak"}, true
	case "bulletList", "orderedList":
		return []string{"listItem"}, true
	case "text", "hardBreak":
		return nil, true
	}
	return nil, false
}

// isDocument reports whether JSON text is an object of the type doc.
func isDocument(text string) bool {
	var head struct {
		Type string `json:"type"`
	}
	return json.Unmarshal([]byte(text), &head) == nil && head.Type == "doc"
}

// parse reads a structured document. It returns an error that names the first node, mark or
// link that is not supported.
func parse(text string) (node, error) {
	var doc node
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&doc); err != nil {
		return doc, fault.Wrap(fault.Invalid, err, "the structured document cannot be read")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return doc, fault.New(fault.Invalid, "something follows the structured document")
	}
	if doc.Type != "doc" {
		return doc, fault.New(fault.Invalid, "a structured document is a node of the type doc")
	}
	return doc, doc.check(0)
}

func (n node) check(depth int) error {
	allowed, known := children(n.Type)
	switch {
	case !known:
		return fault.New(fault.Invalid, "the node %q is not supported", short(n.Type))
	case depth > maxDepth:
		return fault.New(fault.Invalid, "the structured document is nested too deeply")
	case n.Type == "text" && n.Text == "":
		return fault.New(fault.Invalid, "a text node has no text")
	case n.Type != "text" && len(n.Marks) > 0:
		return fault.New(fault.Invalid, "only text nodes have marks")
	}
	for _, m := range n.Marks {
		if err := m.check(); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if err := child.check(depth + 1); err != nil {
			return err
		}
		if !slices.Contains(allowed, child.Type) {
			return fault.New(fault.Invalid, "a %s cannot hold a %s", n.Type, child.Type)
		}
	}
	return nil
}

func (m mark) check() error {
	switch m.Type {
	case "bold", "italic":
		return nil
	case "link":
		scheme, _, _ := strings.Cut(m.Attrs.Href, ":")
		if slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(scheme)) {
			return nil
		}
		return fault.New(fault.Invalid, "a link needs an href that starts with http:, https: or mailto:")
	}
	return fault.New(fault.Invalid, "the mark %q is not supported", short(m.Type))
}

// html returns the HTML of a checked document.
func (n node) html() string {
	var out strings.Builder
	n.write(&out)
	return out.String()
}

func (n node) write(out *strings.Builder) {
	tag := map[string]string{"paragraph": "p", "bulletList": "ul", "orderedList": "ol", "listItem": "li"}[n.Type]
	switch {
	case n.Type == "hardBreak":
		out.WriteString("<br>")
	case n.Type == "text":
		n.writeText(out)
	case tag != "":
		out.WriteString("<" + tag + ">")
		defer out.WriteString("</" + tag + ">")
	}
	for _, child := range n.Content {
		child.write(out)
	}
}

func (n node) writeText(out *strings.Builder) {
	var after string
	for _, m := range n.Marks {
		switch m.Type {
		case "bold":
			out.WriteString("<strong>")
			after = "</strong>" + after
		case "italic":
			out.WriteString("<em>")
			after = "</em>" + after
		case "link":
			out.WriteString(`<a href="` + html.EscapeString(m.Attrs.Href) + `">`)
			after = "</a>" + after
		}
	}
	out.WriteString(html.EscapeString(n.Text) + after)
}

// short shortens a client's text for a message.
func short(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return text
}
