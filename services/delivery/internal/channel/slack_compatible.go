package channel

import (
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const (
	// compatibleTotal is the maximum number of characters of all texts of a message. Older releases of Mattermost accept
	// 4,000. Rocket.Chat accepts 5,000 by default.
	compatibleTotal = 4_000
	compatibleTitle = 256
	compatibleLine  = 200 // a text in one line
)

// compatibleMessage is the body for chat programs that accept the messages of Slack's legacy webhooks, such as Mattermost
// and Rocket.Chat.
type compatibleMessage struct {
	Text        string                 `json:"text"`
	Attachments []compatibleAttachment `json:"attachments"`
}

// compatibleAttachment has a bar with the color beside it. Text and Fields are Markdown. Title is Markdown if TitleLink is empty.
type compatibleAttachment struct {
	Fallback  string            `json:"fallback"` // shown in notifications
	Color     string            `json:"color"`
	Title     string            `json:"title"`
	TitleLink string            `json:"title_link,omitempty"`
	Text      string            `json:"text"`
	Fields    []compatibleField `json:"fields,omitempty"`
}

type compatibleField struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Short bool   `json:"short"`
}

// compatibleMarkup never changes.
var compatibleMarkup = cardMarkup{rich: richtext.MarkdownText, plain: richtext.MarkdownPlain}

// renderCompatible returns the body for a dashboard and components. If the texts are too long, fitCard shortens the texts.
func renderCompatible(l *locale.Locale, change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	content := cardOf(l, change, change.Notify[topic.Webhook], dashboard, components)
	summary := headline(l, change, dashboard.Timezone)
	if change.Kind == topic.EndpointTest {
		summary = content.title
	}
	summary = richtext.MarkdownPlain(oneLine(content.dashboard+" · "+summary, compatibleLine))
	color := "#" + cardColor(cardStyle("", change))
	return fitCard(compatibleTotal, compatibleMessage.size, func(keep int) compatibleMessage {
		attachment := composeAttachment(content, keep)
		attachment.Fallback, attachment.Color = summary, color
		return compatibleMessage{summary, []compatibleAttachment{attachment}}
	})
}

func composeAttachment(content card, keep int) compatibleAttachment {
	out := compatibleAttachment{TitleLink: content.link.url}
	out.Title, _ = prosePart{plain: locale.OneLine(content.title)}.limited(-1, compatibleTitle, titleMarkup(out.TitleLink != ""))
	out.Text = richtext.MarkdownPlain(oneLine(strings.Join(content.status, " · "), compatibleLine))
	for _, section := range content.sections {
		text := section.text.within(keep, compatibleMarkup)
		switch {
		case text == "":
		case section.name == "":
			out.Text += "\n\n" + text
		default:
			out.Fields = append(out.Fields, compatibleField{Title: richtext.MarkdownPlain(oneLine(section.name, compatibleLine)), Value: text})
		}
	}
	return out
}

// titleMarkup returns the markup of a title. A title that is a link is not Markdown, but Mattermost converts <!channel> in it
// to a mention.
func titleMarkup(linked bool) cardMarkup {
	if !linked {
		return compatibleMarkup
	}
	return cardMarkup{plain: func(text string) string {
		return strings.ReplaceAll(richtext.Unmentioned(richtext.Shown(text)), "<", "<\u200b")
	}}
}

// size returns the number of characters of all texts.
func (m compatibleMessage) size(_ []byte) int {
	n := characters(m.Text)
	for _, attachment := range m.Attachments {
		n += characters(attachment.Fallback) + characters(attachment.Title) + characters(attachment.TitleLink) + characters(attachment.Text)
		for _, field := range attachment.Fields {
			n += characters(field.Title) + characters(field.Value)
		}
	}
	return n
}
