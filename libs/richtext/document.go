package richtext

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// maxDepth is the highest nesting of a structured document. Eleven nested lists fit.
const maxDepth = 24

// node is a node of a structured document. Every Rich text with formatting is rendered from such nodes.
type node struct {
	kind         string
	text         string // the characters of a text
	bold, italic bool   // the style of a text
	href         string // the target of a text or a line break within a link
	content      []*node
}

// kindOf returns the HTML element of a kind of node, and the kinds of node that the kind may contain. known is false for all
// other kinds: the specification excludes headings, block quotes and code blocks, and names no others.
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

// problem is an error in a structured document, with the path of the wrong member.
type problem struct{ path, text string }

// below returns the problem with step in front of its path. step is the path of the node or member to which the path of p
// is relative.
func (p *problem) below(step string) *problem {
	if p.path != "" && p.path[0] != '[' {
		step += "."
	}
	return &problem{step + p.path, p.text}
}

func wrong(path, format string, args ...any) *problem {
	return &problem{path, fmt.Sprintf(format, args...)}
}

// isDocument returns the decoded JSON of a structured document: an object of the type doc. It returns false for other text,
// also for other JSON.
func isDocument(text string) (doc map[string]any, is bool) {
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &doc) != nil {
		return nil, false
	}
	return doc, doc["type"] == "doc"
}

// decode returns the node of a JSON value. depth is the depth of the node in the document. decode ignores the attributes of
// nodes, because editors add attributes that are not needed, such as the start of a list or an empty alignment.
func decode(value any, depth int) (*node, *problem) {
	members, ok := value.(map[string]any)
	if !ok {
		return nil, wrong("", "must be an object")
	}
	kind, _ := members["type"].(string)
	_, allowed, known := kindOf(kind)
	switch {
	case !known:
		return nil, wrong("type", "must be a supported node: paragraph, bulletList, orderedList, listItem, hardBreak or text")
	case depth > maxDepth:
		return nil, wrong("", "must not be nested deeper than %d nodes", maxDepth)
	case kind == "text" && members["text"] == nil:
		return nil, wrong("text", "is required")
	case kind == "doc" && members["content"] == nil:
		return nil, wrong("content", "is required")
	}
	n := &node{kind: kind}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		var bad *problem
		switch value := members[member]; {
		case member == "type":
		case member == "attrs":
			_, bad = decodeObject(value)
		case member == "text" && kind == "text":
			if n.text, ok = value.(string); !ok {
				bad = wrong("", "must be a string")
			}
		case member == "marks" && allowed == nil:
			bad = n.decodeMarks(value)
		case member == "content" && allowed != nil:
			bad = n.decodeContent(value, allowed, depth)
		default:
			bad = wrong("", "is not a member of the node %s", kind)
		}
		if bad != nil {
			return nil, bad.below(member)
		}
	}
	return n, nil
}

// decodeObject returns the members of an object. Null is an object without members.
func decodeObject(value any) (map[string]any, *problem) {
	members, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, wrong("", "must be an object")
	}
	return members, nil
}

func (n *node) decodeContent(value any, allowed []string, depth int) *problem {
	items, ok := value.([]any)
	if !ok {
		return wrong("", "must be an array")
	}
	for i, item := range items {
		child, bad := decode(item, depth+1)
		if bad == nil && !slices.Contains(allowed, child.kind) {
			bad = wrong("type", "must be %s below the node %s", strings.Join(allowed, " or "), n.kind)
		}
		if bad != nil {
			return bad.below(fmt.Sprintf("[%d]", i))
		}
		n.content = append(n.content, child)
	}
	return nil
}

func (n *node) decodeMarks(value any) *problem {
	items, ok := value.([]any)
	if !ok && value != nil {
		return wrong("", "must be an array")
	}
	for i, item := range items {
		if bad := n.decodeMark(item); bad != nil {
			return bad.below(fmt.Sprintf("[%d]", i))
		}
	}
	return nil
}

func (n *node) decodeMark(value any) *problem {
	members, bad := decodeObject(value)
	if bad != nil {
		return bad
	}
	attrs, bad := decodeObject(members["attrs"])
	if bad != nil {
		return bad.below("attrs")
	}
	switch members["type"] {
	case "bold":
		n.bold = true
	case "italic":
		n.italic = true
	case "link":
		href, _ := attrs["href"].(string)
		if !linkable(href) {
			return wrong("attrs.href", "must be an address with http, https or mailto")
		}
		n.href = href
	default:
		return wrong("type", "must be a supported mark: bold, italic or link")
	}
	return nil
}

// linkable reports whether a link may have the address.
func linkable(href string) bool {
	address, err := url.Parse(href)
	if err != nil {
		return false
	}
	switch address.Scheme {
	case "http", "https":
		return address.Hostname() != ""
	case "mailto":
		return address.Opaque != ""
	}
	return false
}

// write writes the HTML of a node. Successive nodes with the same address become one link.
func (n *node) write(out *strings.Builder) {
	switch n.kind {
	case "hardBreak":
		out.WriteString("<br>")
		return
	case "text":
		out.WriteString(emphasized(html.EscapeString(n.text), n.bold, n.italic))
		return
	}
	tag, _, _ := kindOf(n.kind)
	if tag != "" {
		out.WriteString("<" + tag + ">")
		defer out.WriteString("</" + tag + ">")
	}
	href := ""
	for _, child := range n.content {
		relink(out, href, child.href)
		href = child.href
		child.write(out)
	}
	relink(out, href, "")
}

// relink closes the link to the address from and opens a link to the address to, unless both are equal. An empty address means
// no link.
func relink(out *strings.Builder, from, to string) {
	if from == to {
		return
	}
	if from != "" {
		out.WriteString("</a>")
	}
	if to != "" {
		out.WriteString(`<a href="` + html.EscapeString(to) + `">`)
	}
}

func emphasized(markup string, bold, italic bool) string {
	if italic {
		markup = "<em>" + markup + "</em>"
	}
	if bold {
		markup = "<strong>" + markup + "</strong>"
	}
	return markup
}
