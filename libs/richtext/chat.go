package richtext

import (
	"strings"
	"unicode"
)

// ChatText returns the HTML for a text in a card of Google Chat. safe is HTML that this package has rendered. The result has
// bold, italic, links and line breaks. A list item becomes a line with its bullet or number. A heading becomes a bold line,
// all other elements become text.
func ChatText(safe string) string { return joinChat(linesOf(safe, false)) }

// ChatPlain trims and escapes plain text, so that a text in a card of Google Chat shows no character as HTML.
func ChatPlain(text string) string {
	return strings.ReplaceAll(escapeChat(strings.TrimSpace(visible(text))), "\n", "<br>")
}

// ChatUnmarked replaces the characters that are markup in a message of Google Chat outside of a card by similar characters,
// because Chat has no escape for them. So the text contains no formatting, no link whose text differs from its address, and
// no mention.
func ChatUnmarked(text string) string { return chatLookalikes.Replace(visible(text)) }

// The replacers never change.
var (
	chatLookalikes = strings.NewReplacer("<", "‹", ">", "›", "*", "∗", "_", "＿", "~", "∼", "`", "ˋ")
	chatEntities   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\t", " ")
)

// joinChat joins the lines that have text. A list item follows the item before it after one line break. An empty line separates
// all other lines.
func joinChat(lines []line) string {
	var out strings.Builder
	listed := false
	for _, l := range lines {
		text := l.chat()
		if text == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("<br>")
			if !listed || l.marker == "" {
				out.WriteString("<br>")
			}
		}
		listed = l.marker != ""
		marker := l.marker
		if marker == "- " {
			marker = "• "
		}
		out.WriteString(strings.Repeat("\u00a0\u00a0\u00a0\u00a0", l.depth) + marker + text)
	}
	return out.String()
}

func (l line) chat() string {
	var out strings.Builder
	for _, r := range l.runs {
		out.WriteString(r.chat())
	}
	return strings.Trim(out.String(), " ")
}

func (r run) chat() string {
	text := escapeChat(r.text)
	if r.exact {
		text = strings.ReplaceAll(text, " ", "\u00a0") // a card of Google Chat would merge ordinary blanks
	}
	if strings.TrimSpace(text) == "" {
		return text
	}
	if r.italic {
		text = "<i>" + text + "</i>"
	}
	if r.bold {
		text = "<b>" + text + "</b>"
	}
	if linkable(r.href) {
		text = `<a href="` + escapeChat(cardLink(r.href)) + `">` + text + "</a>"
	}
	return text
}

// escapeChat escapes the characters that have a meaning in HTML. It omits control characters except line breaks. A
// tab becomes a blank.
func escapeChat(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' {
			return -1
		}
		return c
	}, chatEntities.Replace(text))
}
