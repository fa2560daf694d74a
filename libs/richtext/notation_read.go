package richtext

import "strings"

// marker is the beginning of a list item.
type marker struct {
	kind   string // bulletList or orderedList
	first  bool   // a list may begin with the marker: it is a bullet or the number 1
	indent int    // number of blanks before the marker
	width  int    // length of the line before the content of the item
}

// markerOf returns the marker of a line, and false if the line has none.
func markerOf(line string) (marker, bool) {
	rest := strings.TrimLeft(line, " ")
	m := marker{kind: "bulletList", first: true, indent: len(line) - len(rest)}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	sign := strings.TrimLeft(rest, "0123456789")
	switch {
	case digits == 0 && (strings.HasPrefix(sign, "-") || strings.HasPrefix(sign, "*")):
	case digits > 0 && digits < 10 && strings.HasPrefix(sign, "."):
		m.kind, m.first = "orderedList", rest[:digits] == "1"
	default:
		return marker{}, false
	}
	m.width = m.indent + digits + 2
	return m, len(sign) == 1 || sign[1] == ' ' || sign[1] == '\t'
}

// startsList reports whether a line begins a list at the depth. A list that is so deep that it cannot contain text is text
// itself.
func startsList(line string, depth int) bool {
	m, is := markerOf(line)
	return is && m.first && depth+3 <= maxDepth
}

func isBlank(line string) bool { return strings.Trim(line, " \t") == "" }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// readBlocks returns the blocks of lines. depth is the depth of these blocks in the document.
func readBlocks(lines []string, depth int) (blocks []*node) {
	for at := 0; at < len(lines); {
		switch {
		case isBlank(lines[at]):
			at++
		case startsList(lines[at], depth):
			var list *node
			list, at = readList(lines, at, depth)
			blocks = append(blocks, list)
		default:
			end := at + 1
			for end < len(lines) && !isBlank(lines[end]) && !startsList(lines[end], depth) {
				end++
			}
			blocks = append(blocks, &node{kind: "paragraph", content: readInline(signsOf(lines[at:end]))})
			at = end
		}
	}
	return blocks
}

// readList returns the list that begins at the line with the index at, and the index of the line after the list.
func readList(lines []string, at, depth int) (*node, int) {
	m, _ := markerOf(lines[at])
	list := &node{kind: m.kind}
	for {
		body := []string{lines[at][min(m.width, len(lines[at])):]}
		at++
		for at < len(lines) {
			next := nextLine(lines, at)
			if next == len(lines) || indentOf(lines[next]) < m.indent+2 {
				break
			}
			for ; at < next; at++ {
				body = append(body, "")
			}
			body = append(body, lines[at][min(indentOf(lines[at]), m.width):])
			at++
		}
		list.content = append(list.content, &node{kind: "listItem", content: readBlocks(body, depth+2)})
		next := nextLine(lines, at)
		if next == len(lines) || next-at > 1 {
			return list, at
		}
		follows, is := markerOf(lines[next])
		if !is || follows.kind != list.kind {
			return list, at
		}
		m, at = follows, next
	}
}

// nextLine returns the index of the first line from at on that is not blank. It returns len(lines) if there is none.
func nextLine(lines []string, at int) int {
	for at < len(lines) && isBlank(lines[at]) {
		at++
	}
	return at
}

// sign is a character of a paragraph. A line break is the character '\n'.
type sign struct {
	char    rune
	escaped bool // a backslash precedes the character, which has no special meaning
}

func (s sign) is(char rune) bool { return s.char == char && !s.escaped }

// isSpace reports whether the sign is white space that is not escaped.
func (s sign) isSpace() bool { return s.is(' ') || s.is('\t') || s.is('\n') }

// escapable reports whether a backslash removes the special meaning of the character.
func escapable(char rune) bool {
	return char == ' ' || char == '\t' || char > ' ' && char < 0x7f && !isLetterOrDigit(char)
}

func isLetterOrDigit(char rune) bool {
	return '0' <= char && char <= '9' || 'a' <= char && char <= 'z' || 'A' <= char && char <= 'Z'
}

// signsOf returns the characters of the lines of a paragraph, without white space at the ends of lines.
func signsOf(lines []string) (signs []sign) {
	for i, line := range lines {
		if i > 0 {
			signs = append(signs, sign{char: '\n'})
		}
		begin := len(signs)
		chars := []rune(strings.TrimLeft(line, " \t"))
		for j := 0; j < len(chars); j++ {
			switch {
			case chars[j] == '\\' && j+1 == len(chars): // omitted
			case chars[j] == '\\' && escapable(chars[j+1]):
				j++
				signs = append(signs, sign{chars[j], true})
			default:
				signs = append(signs, sign{char: chars[j]})
			}
		}
		for len(signs) > begin && signs[len(signs)-1].isSpace() {
			signs = signs[:len(signs)-1]
		}
	}
	return signs
}

// linkSpan is a link in a paragraph. shut is the index of the bracket ] after its text, end the index of the bracket ) after
// its address.
type linkSpan struct {
	shut, end int
	href      string
}

// maxAddress is the maximum number of characters of an address in the notation, including the bracket after the address.
const maxAddress = 2048

// linksIn returns the links of a paragraph by the index of their first bracket.
func linksIn(signs []sign) map[int]linkSpan {
	links := map[int]linkSpan{}
	for i := 0; i < len(signs); i++ {
		if !signs[i].is('[') {
			continue
		}
		shut := i + 1
		for shut < len(signs) && !signs[shut].is(']') && !signs[shut].is('[') {
			shut++
		}
		if shut+1 >= len(signs) || !signs[shut].is(']') || shut == i+1 || !signs[shut+1].is('(') {
			i = shut - 1 // no link begins before the next bracket
			continue
		}
		if end, href := addressIn(signs, shut+2); end > 0 {
			links[i] = linkSpan{shut, end, href}
			i = end
		}
	}
	return links
}

// addressIn returns the address that begins at the index at, and the index of the bracket after the address. It returns 0 if
// there is no address. An opening square bracket ends the search, so that the time to read many brackets is proportional to their number.
func addressIn(signs []sign, at int) (end int, href string) {
	var address strings.Builder
	for depth, i := 0, at; i < len(signs) && i < at+maxAddress; i++ {
		switch s := signs[i]; {
		case s.isSpace() || s.is('['):
			return 0, ""
		case s.is(')') && depth == 0:
			if href = address.String(); linkable(href) {
				return i, href
			}
			return 0, ""
		case s.is('('):
			depth++
		case s.is(')'):
			depth--
		}
		address.WriteRune(signs[i].char)
	}
	return 0, ""
}
