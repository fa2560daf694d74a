package channel

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

const (
	// slackGap is the minimum time between two requests to one URL. Slack accepts one message a second. The 20 ms above
	// one second allow for different transmission times.
	slackGap = 1020 * time.Millisecond

	// Maximum numbers of characters. Slack refuses longer texts.
	slackHeader  = 150
	slackSection = 3_000
	slackTotal   = 12_000 // all texts of a message
	slackLine    = 200    // a text that Slack shows in one line; Slack allows more
)

// slackMessage is the body of a request to an incoming webhook of Slack.
type slackMessage struct {
	Text        string       `json:"text"` // shown in notifications
	Blocks      []slackBlock `json:"blocks"`
	UnfurlLinks bool         `json:"unfurl_links"`
	UnfurlMedia bool         `json:"unfurl_media"`
}

// slackBlock is a header, a section or a context. A header and a section have a text, a context has elements.
type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Elements []slackText `json:"elements,omitempty"`
}

// slackText is a text object. In a plain_text nothing is markup. In a verbatim mrkdwn, formatting is markup, but links and
// mentions are markup only between < and >.
type slackText struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Emoji    *bool  `json:"emoji,omitempty"` // false in an object plain_text, so that :words: stay as they are
	Verbatim bool   `json:"verbatim,omitempty"`
}

// slackMarkup never changes.
var slackMarkup = cardMarkup{rich: richtext.SlackText, plain: richtext.SlackPlain}

// renderSlack returns the body for a dashboard and components. If the texts are too long, fitCard shortens the texts.
func renderSlack(l *locale.Locale, change *topic.EventChange, dashboard topic.Dashboard, components []topic.Component) ([]byte, error) {
	content := cardOf(l, change, change.Notify[topic.Slack], dashboard, components)
	summary := headline(l, change, dashboard.Timezone)
	if change.Kind == topic.EndpointTest {
		summary = content.title
	}
	text := richtext.SlackEscape(oneLine(content.dashboard+" · "+summary, slackLine))
	return fitCard(slackTotal, slackMessage.size, func(keep int) slackMessage {
		return slackMessage{Text: text, Blocks: composeSlack(content, keep)}
	})
}

func composeSlack(content card, keep int) []slackBlock {
	var out slackBlocks
	out.add("section", prosePart{plain: content.message}, keep, slackSection)
	out.add("header", prosePart{plain: oneLine(content.title, slackHeader)}, -1, slackHeader)
	out.add("context", prosePart{plain: oneLine(strings.Join(append([]string{content.dashboard}, content.status...), " · "), 2*slackLine)}, -1, slackSection)
	for _, section := range content.sections {
		if text, _ := section.text.limited(keep, slackSection, slackMarkup); text == "" {
			continue
		}
		if section.name != "" {
			out.mark("*" + richtext.SlackEscape(oneLine(section.name, slackLine)) + "*")
		}
		out.add("section", section.text, keep, slackSection)
	}
	if link := content.link; link.url != "" {
		out.mark("<" + richtext.SlackEscape(strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E").Replace(link.url)) + "|" + richtext.SlackEscape(link.title) + ">")
	}
	return out
}

type slackBlocks []slackBlock

// add adds a block with a text, unless the text is empty.
func (b *slackBlocks) add(kind string, part prosePart, keep, limit int) {
	text, rich := part.limited(keep, limit, slackMarkup)
	object := slackText{Type: "plain_text", Text: text, Emoji: new(false)}
	switch {
	case text == "":
		return
	case rich:
		object = slackText{Type: "mrkdwn", Text: text, Verbatim: true}
	}
	if kind == "context" {
		*b = append(*b, slackBlock{Type: kind, Elements: []slackText{object}})
		return
	}
	*b = append(*b, slackBlock{Type: kind, Text: &object})
}

// mark adds a section with a text in Slack's markup, which the caller has escaped.
func (b *slackBlocks) mark(text string) {
	*b = append(*b, slackBlock{Type: "section", Text: &slackText{Type: "mrkdwn", Text: text, Verbatim: true}})
}

// size returns the number of characters of all texts.
func (m slackMessage) size(_ []byte) int {
	n := characters(m.Text)
	for _, block := range m.Blocks {
		if block.Text != nil {
			n += characters(block.Text.Text)
		}
		for _, element := range block.Elements {
			n += characters(element.Text)
		}
	}
	return n
}

// refineSlack sets CodeGone if the webhook or its channel no longer exists.
func refineSlack(_ context.Context, result *dispatch.Result) {
	if result.HTTPStatus != http.StatusNotFound {
		return
	}
	switch strings.TrimSpace(string(result.Received.Body)) {
	case "no_service", "channel_not_found":
		result.Code = deliverylog.CodeGone
	}
}
