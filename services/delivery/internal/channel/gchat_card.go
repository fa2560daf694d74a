package channel

import (
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const (
	chatLimit = 32_000 // bytes of a whole body
	chatTitle = 200    // bytes of a text that Chat shows in one or two lines
)

// chatMessage is the body of a request to a space: one card in the thread of the event.
type chatMessage struct {
	Fallback string      `json:"fallbackText"` // shown in notifications
	Cards    []chatCards `json:"cardsV2"`
	Thread   struct {
		Key string `json:"threadKey"`
	} `json:"thread"`
}

type chatCards struct {
	ID   string   `json:"cardId"`
	Card chatCard `json:"card"`
}

type chatCard struct {
	Header struct {
		Title    string `json:"title"`
		Subtitle string `json:"subtitle"`
	} `json:"header"`
	Sections []chatSection `json:"sections"`
}

type chatSection struct {
	Header  string       `json:"header,omitempty"`
	Widgets []chatWidget `json:"widgets"`
}

// chatWidget is a text or a list of buttons.
type chatWidget struct {
	Text    *chatText    `json:"textParagraph,omitempty"`
	Buttons *chatButtons `json:"buttonList,omitempty"`
}

type chatText struct {
	Text string `json:"text"` // limited HTML
}

type chatButtons struct {
	Buttons []chatButton `json:"buttons"`
}

type chatButton struct {
	Text    string `json:"text"`
	OnClick struct {
		OpenLink struct {
			URL string `json:"url"`
		} `json:"openLink"`
	} `json:"onClick"`
}

// chatMarkup never changes.
var chatMarkup = cardMarkup{rich: richtext.ChatText, plain: richtext.ChatPlain}

// renderChat returns the body for a dashboard and components. If the body is too long, fitCard shortens the texts. Tests of
// endpoints have their own thread.
func renderChat(l *locale.Locale, change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	content := cardOf(l, change, change.Notify[topic.GChat], dashboard, components)
	summary, thread := headline(l, change, dashboard.Timezone), change.Event.ID
	if change.Kind == topic.EndpointTest {
		summary, thread = content.title, change.ID
	}
	return fitCard(chatLimit, bytesOf, func(keep int) chatMessage {
		var message chatMessage
		message.Fallback = chatLine(content.dashboard + " · " + summary)
		message.Thread.Key = thread
		message.Cards = []chatCards{{ID: "event", Card: composeChat(content, keep)}}
		return message
	})
}

func composeChat(content card, keep int) chatCard {
	var out chatCard
	out.Header.Title, out.Header.Subtitle = chatLine(content.dashboard), chatLine(strings.Join(content.status, " · "))
	title := prosePart{plain: content.title}.within(keep, chatMarkup)
	head := []chatWidget{{Text: &chatText{"<b>" + title + "</b>"}}}
	if content.message != "" {
		text := prosePart{plain: content.message}.within(keep, chatMarkup)
		head = append([]chatWidget{{Text: &chatText{text}}}, head...)
	}
	out.Sections = append(out.Sections, chatSection{Widgets: head})
	for _, section := range content.sections {
		if text := section.text.within(keep, chatMarkup); text != "" {
			out.Sections = append(out.Sections, chatSection{richtext.ChatPlain(section.name), []chatWidget{{Text: &chatText{text}}}})
		}
	}
	if link := content.link; link.url != "" {
		button := chatButton{Text: link.title}
		button.OnClick.OpenLink.URL = link.url
		out.Sections = append(out.Sections, chatSection{Widgets: []chatWidget{{Buttons: &chatButtons{[]chatButton{button}}}}})
	}
	return out
}

// chatLine returns a text in one line, shortened and without markup.
func chatLine(text string) string { return richtext.ChatUnmarked(cut(locale.OneLine(text), chatTitle)) }
