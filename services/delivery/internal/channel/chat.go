package channel

import (
	"context"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// chat posts a message to a URL of a chat program.
type chat struct {
	chatKind
	channel topic.Channel
	caller  *caller
	locales *locale.Locales
}

// chatKind has the values that differ between the chat programs.
type chatKind struct {
	// gap is the minimum time between two requests to endpoints with the same URL or topic.Destination.Paced.
	gap time.Duration
	// hostGap is the minimum time between two requests to all endpoints of the channel together; 0: no limit.
	hostGap time.Duration
	render  renderer
	// address returns the URL of the request of a delivery; nil: the URL of the endpoint.
	address func(endpoint, delivery string) string
	// refine sets more fields of the result by the response; nil: the fields that the HTTP status determines are enough.
	refine func(ctx context.Context, result *dispatch.Result)
}

// renderer returns the body of a request. If the texts are too long, it shortens them.
type renderer func(*locale.Locale, *topic.EventChange, topic.Dashboard, []topic.Component) ([]byte, error)

// addChats adds the chat programs to the table.
func addChats(table map[topic.Channel]dispatch.Channel, caller *caller, o Options) {
	for channel, kind := range map[topic.Channel]chatKind{
		topic.Teams:   {gap: teamsGap, render: renderCard},
		topic.GChat:   {gap: gchatGap, render: renderChat, address: chatURL},
		topic.Slack:   {gap: slackGap, render: renderSlack, refine: refineSlack},
		topic.Discord: {gap: discordGap, hostGap: discordHostGap, render: renderDiscord, refine: newDiscord(o.Log).refine},
	} {
		table[channel] = chat{kind, channel, caller, o.Locales}
	}
}

// Send makes one attempt. Recipients with the same dashboard, components, locale and time zone share the rendered body.
func (c chat) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	l := localeOf(c.locales, message)
	key := string(c.channel) + " " + wordsKey(l, message)
	body, err := message.Change.Rendered(key, func() ([]byte, error) {
		return c.render(l, &message.Change.EventChange, message.To.Dashboard, message.Components)
	})
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	address := message.To.URL
	if c.address != nil {
		address = c.address(address, message.DeliveryID)
	}
	result := c.caller.post(ctx, address, http.Header{"Content-Type": {"application/json"}}, body)
	if c.refine != nil {
		c.refine(ctx, &result)
	}
	result.Sent.Text = key
	return result
}

// Limits implements dispatch.Paced.
func (c chat) Limits(to *topic.Destination) []dispatch.Limit {
	own := dispatch.OwnLimit(to, c.gap)
	if c.hostGap == 0 {
		return []dispatch.Limit{own}
	}
	return []dispatch.Limit{own, {Key: c.Bucket(), Gap: c.hostGap}}
}

// Bucket implements dispatch.Shared.
func (c chat) Bucket() string {
	if c.hostGap == 0 {
		return ""
	}
	return "host of " + string(c.channel)
}
