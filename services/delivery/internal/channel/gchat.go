package channel

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// gchatGap is the minimum time between two messages to a space. A space accepts 60 messages a minute from all senders
// together. The 20 ms above one second allow for different transmission times.
const gchatGap = 1020 * time.Millisecond

// gchat posts a card to a space of Google Chat.
type gchat struct {
	caller  *caller
	locales *locale.Locales
}

// Send makes one attempt. Recipients with the same dashboard, components, locale and time zone share the rendered card.
func (g gchat) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	l := localeOf(g.locales, message)
	key := "gchat " + wordsKey(l, message)
	body, err := message.Change.Rendered(key, func() ([]byte, error) {
		return renderChat(l, &message.Change.EventChange, message.To.Dashboard, message.Components)
	})
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	result := g.caller.post(ctx, chatURL(message.To.URL, message.DeliveryID), http.Header{"Content-Type": {"application/json"}}, body)
	result.Sent.Text = key
	return result
}

// Gap implements dispatch.Paced. All endpoints of a space share the limit.
func (gchat) Gap() time.Duration { return gchatGap }

// chatURL returns an endpoint's URL with messageReplyOption and requestId. messageReplyOption makes the message a reply
// in the thread that the body names, or starts this thread. Google posts only one message for each requestId, and all
// retries of a delivery use the same requestId. chatURL removes ownParameter parameters from the URL and does not
// change any other parameter.
func chatURL(address, delivery string) string {
	if address == "" {
		return ""
	}
	path, query, _ := strings.Cut(address, "?")
	var parameters []string
	for parameter := range strings.SplitSeq(query, "&") {
		if parameter != "" && !ownParameter(parameter) {
			parameters = append(parameters, parameter)
		}
	}
	parameters = append(parameters, "messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD", "requestId="+url.QueryEscape(delivery))
	return path + "?" + strings.Join(parameters, "&")
}

// ownParameter reports whether the parameter sets the thread, the reply option or the request id, which are Bellbuoy's
// own. Google also accepts names such as request_id.
func ownParameter(parameter string) bool {
	name, _, _ := strings.Cut(parameter, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "threadkey", "messagereplyoption", "requestid":
		return true
	}
	return false
}
