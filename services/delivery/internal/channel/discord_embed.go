package channel

import (
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// Discord refuses longer texts. It also refuses more than 6,000 characters in all, but the sum of these limits is smaller.
const (
	discordTitle       = 256
	discordDescription = 4_096
	discordLine        = 200 // a text in one line; Discord allows more
)

// discordMessage is the body of a request to a webhook of Discord: one embed, which mentions nobody.
type discordMessage struct {
	Embeds          []discordEmbed `json:"embeds"`
	AllowedMentions struct {
		Parse []string `json:"parse"`
	} `json:"allowed_mentions"`
}

type discordEmbed struct {
	Title       string       `json:"title,omitempty"`
	URL         string       `json:"url,omitempty"`
	Description string       `json:"description"`
	Color       int64        `json:"color"`
	Footer      *discordText `json:"footer,omitempty"`
}

type discordText struct {
	Text string `json:"text"`
}

// discordMarkup never changes.
var discordMarkup = cardMarkup{rich: richtext.DiscordText, plain: richtext.DiscordPlain}

// renderDiscord returns the body for a dashboard and components. If the texts are too long, fitCard shortens the texts.
func renderDiscord(l *locale.Locale, change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	wording := change.Notify[topic.Discord]
	content := cardOf(l, change, wording, dashboard, components)
	style := cardStyle(wording.Color, change)
	return fitCard(discordDescription, discordMessage.size, func(keep int) discordMessage {
		message := discordMessage{Embeds: []discordEmbed{composeEmbed(content, keep)}}
		message.Embeds[0].Color = embedColor(style)
		message.AllowedMentions.Parse = []string{}
		return message
	})
}

func composeEmbed(content card, keep int) discordEmbed {
	out := discordEmbed{URL: content.link.url}
	out.Title, _ = prosePart{plain: locale.OneLine(content.title)}.limited(-1, discordTitle, discordMarkup)
	if footer := oneLine(content.dashboard, discordLine); footer != "" { // Discord shows no Markdown in a footer
		out.Footer = &discordText{richtext.Unmentioned(footer)}
	}
	parts := []string{richtext.DiscordPlain(oneLine(strings.Join(content.status, " · "), discordLine))}
	if content.message != "" {
		parts = append([]string{prosePart{plain: content.message}.within(keep, discordMarkup)}, parts...)
	}
	for _, section := range content.sections {
		text := section.text.within(keep, discordMarkup)
		switch {
		case text == "":
			continue
		case section.name != "":
			text = "**" + richtext.DiscordPlain(oneLine(section.name, discordLine)) + "**\n" + text
		}
		parts = append(parts, text)
	}
	if link := content.link; link.url != "" {
		parts = append(parts, "["+richtext.DiscordPlain(link.title)+"](<"+link.url+">)")
	}
	out.Description = strings.Join(parts, "\n\n")
	return out
}

// size returns the number of characters of the description, the only text that grows with the event.
func (m discordMessage) size(_ []byte) int { return characters(m.Embeds[0].Description) }

// embedColor returns the color of the bar beside an embed for a style of cardStyle.
func embedColor(style string) int64 {
	color, _ := strconv.ParseInt(cardColor(style), 16, 32)
	return color // 0, which Discord shows as its own gray, for emphasis
}

// cardColor returns the six hexadecimal digits of the color for a style of cardStyle, and "" for emphasis.
func cardColor(style string) string {
	return map[string]string{"good": "2e7d32", "warning": "ed8b00", "attention": "c62828", "accent": "1565c0"}[style]
}
