package richtext

import (
	"encoding/json"
	"errors"
	"html"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// maxDepth is the highest nesting of a structured document. Three nested lists fit.
const maxDepth = 24

// node is a node of a structured document.
type node struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Marks   []mark `json:"marks"`
	Content []node `json:"content"`
}

// mark is a format of a text node.
type mark struct {
	Type  string `json:"type"`
	Attrs struct {
		Href string `json:"href"`
	} `json:"attrs"`
}

// kindOf returns the HTML element of a kind of node, and the nodes that it may contain. Other kinds are not
// supported: the specification excludes headings, block quotes and code blocks, and names no others.
func kindOf(name string) (tag string, content []string, known bool) {
	blocks := []string{"paragraph", "bulletList", "orderedList"}
	switch name {
	case "doc":
		return "", blocks, true
	case "listItem":
		return "li", blocks, true
	case "paragraph":
		return "p", []string{"text", "hardBreak"}, true
	case "bulletList":
		return "ul", []string{"listItem"}, true
	case "orderedList":
		return "ol", []string{"listItem"}, true
	case "text", "hardBreak":
		return "", nil, true
	}
	return "", nil, false
}

// parse returns the HTML of a structured document.
func parse(text string) (string, error) {
	var doc node
	var out strings.Builder
	err := json.Unmarshal([]byte(text), &doc)
	if err == nil && (doc.Type != "doc" || !doc.write(&out, 0)) {
		err = errors.New("a node, mark or link is not supported")
	}
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "The structured document cannot be read.")
	}
	return out.String(), nil
}

// write writes the HTML of a node. It returns false if the node or its content is not supported.
func (n node) write(out *strings.Builder, depth int) bool {
	tag, content, known := kindOf(n.Type)
	if !known || depth > maxDepth || n.Type == "text" && n.Text == "" || n.Type != "text" && len(n.Marks) > 0 {
		return false
	}
	switch {
	case n.Type == "hardBreak":
		out.WriteString("<br>")
	case n.Type == "text":
		return n.writeText(out)
	case tag != "":
		out.WriteString("<" + tag + ">")
		defer out.WriteString("</" + tag + ">")
	}
	return !slices.ContainsFunc(n.Content, func(child node) bool {
		return !slices.Contains(content, child.Type) || !child.write(out, depth+1)
	})
}

func (n node) writeText(out *strings.Builder) bool {
	text := html.EscapeString(n.Text)
	for _, m := range slices.Backward(n.Marks) {
		switch {
		case m.Type == "bold":
			text = "<strong>" + text + "</strong>"
		case m.Type == "italic":
			text = "<em>" + text + "</em>"
		case m.Type == "link" && linkable(m.Attrs.Href):
			text = `<a href="` + html.EscapeString(m.Attrs.Href) + `">` + text + "</a>"
		default:
			return false
		}
	}
	out.WriteString(text)
	return len(n.Content) == 0
}

// linkable reports whether a link may have the address.
func linkable(href string) bool {
	scheme, _, _ := strings.Cut(href, ":")
	return slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(scheme))
}
