package richtext

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// SlackText returns a text in the notation of Slack (mrkdwn) with bold, italic, links and lists. safe is HTML that this
// package has rendered. A heading becomes a bold line, all other elements become text. The result mentions nobody.
func SlackText(safe string) string { return slackDialect().join(linesOf(safe, false)) }

// SlackPlain returns plain text for a text object of Slack of the type plain_text: the result of Shown, trimmed, with blanks
// instead of tabs.
func SlackPlain(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(Shown(text), "\t", " "))
}

// SlackEscape escapes the characters that can start a mention or a link in a text of Slack.
func SlackEscape(text string) string { return slackEntities.Replace(Shown(text)) }

// DiscordText returns a text in the Markdown of Discord with bold, italic, links and lists. safe is HTML that this package
// has rendered. A heading becomes a bold line, all other elements become text. The result mentions nobody.
func DiscordText(safe string) string { return discordDialect().join(linesOf(safe, false)) }

// DiscordPlain escapes Markdown and mentions in a text, and trims it.
func DiscordPlain(text string) string { return plainLines(text, discordSigns) }

// MarkdownText returns a text in the Markdown of chat programs that accept the messages of Slack, such as Mattermost and
// Rocket.Chat, with bold, italic, links and lists. safe is HTML that this package has rendered. A heading becomes a bold line,
// all other elements become text. The result mentions nobody.
func MarkdownText(safe string) string { return markdownDialect().join(linesOf(safe, false)) }

// MarkdownPlain escapes the Markdown of MarkdownText and mentions in a text, and trims it.
func MarkdownPlain(text string) string { return plainLines(text, markdownSigns) }

// Unmentioned writes a space without width after each @, so that no name in the text is notified.
func Unmentioned(text string) string { return strings.ReplaceAll(text, "@", "@\u200b") }

func plainLines(text, signs string) string {
	lines := strings.Split(strings.TrimSpace(Shown(text)), "\n")
	for i, line := range lines {
		lines[i] = escapeStart(escapeSigns(strings.Trim(line, " \t"), signs))
	}
	return strings.Join(lines, "\n")
}

// Shown returns a text without control characters except line breaks and tabs, and without the marks that change the
// direction of text. Such marks can make an address look like another one.
func Shown(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '\u061c' && unicode.Is(unicode.Bidi_Control, c) { // U+061C is the first such mark
			return -1
		}
		return c
	}, visible(text))
}

// The replacers never change.
var (
	slackEntities   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	slackLookalikes = strings.NewReplacer("*", "∗", "_", "＿", "~", "∼", "`", "ˋ")
)

func slackDialect() dialect {
	return dialect{"*", "_", "• ", escapeSlack, func(line string) string { return line }, func(href, shown string, d dialect) string {
		return "<" + slackEntities.Replace(cardLink(href)) + "|" + strings.ReplaceAll(d.escape(trueText(href, shown)), "|", "¦") + ">"
	}}
}

// escapeSlack replaces the signs of emphasis by similar characters, because Slack has no escape for them.
func escapeSlack(text string) string {
	return slackLookalikes.Replace(SlackEscape(strings.ReplaceAll(text, "\t", " ")))
}

func discordDialect() dialect {
	return dialect{"**", "*", "- ", escapeDiscord, escapeStart, func(href, shown string, d dialect) string {
		return "[" + d.escape(trueText(href, shown)) + "](" + cardLink(href) + ")"
	}}
}

// The signs that have a meaning within a line. Mattermost makes a mention of <!channel>, and an image of ! before a link.
const (
	discordSigns  = "\\`*_~|[]<>"
	markdownSigns = discordSigns + "!"
)

func escapeDiscord(text string) string  { return escapeSigns(Shown(text), discordSigns) }
func escapeMarkdown(text string) string { return escapeSigns(Shown(text), markdownSigns) }

func markdownDialect() dialect {
	return dialect{"**", "_", "- ", escapeMarkdown, escapeStart, func(href, shown string, d dialect) string {
		target := cardLink(href)
		if !strings.HasPrefix(target, "mailto:") {
			target = strings.ReplaceAll(target, "@", "%40")
		}
		return "[" + d.escape(trueText(href, shown)) + "](" + target + ")"
	}}
}

// escapeSigns returns text with a backslash before each of the signs, and a space without width after each @. A tab becomes
// a blank. text is a result of Shown.
func escapeSigns(text, signs string) string {
	var out strings.Builder
	for _, c := range text {
		switch {
		case c == '\t':
			c = ' '
		case strings.ContainsRune(signs, c):
			out.WriteByte('\\')
		}
		out.WriteRune(c)
		if c == '@' {
			out.WriteRune('\u200b')
		}
	}
	return out.String()
}

// looksLikeAddress matches a text that a reader can mistake for an address: a name with a dot, with or without a scheme. It
// never changes.
var looksLikeAddress = regexp.MustCompile(`^(?i:[a-z][a-z0-9+.-]*:)?(?://)?([^\s/?#@]+@)?([\pL\pN-]+(?:\.[\pL\pN-]+)+)(?::\d+)?(?:[/?#]\S*)?$`)

// trueText returns the text of a link: shown, without the characters that Shown removes. It returns href instead if shown looks
// like an address of another host, or has no visible characters.
func trueText(href, shown string) string {
	shown = Shown(shown)
	found := looksLikeAddress.FindStringSubmatch(strings.Trim(shown, " \u00a0\u200b.,;:!"))
	switch {
	case strings.TrimSpace(shown) == "":
		return href
	case found == nil:
		return shown
	}
	target, err := url.Parse(href)
	if err != nil {
		return href
	}
	host := target.Hostname()
	if target.Scheme == "mailto" {
		_, host, _ = strings.Cut(target.Opaque, "@")
		host, _, _ = strings.Cut(host, "?")
	}
	if bare(found[2]) != bare(host) {
		return href
	}
	return shown
}

// bare returns a host in lower case without www.
func bare(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }
