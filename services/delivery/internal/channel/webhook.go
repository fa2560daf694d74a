package channel

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// webhook is the generic webhook: the event as JSON, signed as Standard Webhooks.
type webhook struct{ caller *caller }

// Send posts the delivery. The id and the body are the same over retries, the timestamp
// and with it the signature are each attempt's own.
func (w webhook) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	shared, err := message.Change.Rendered(textKey(message), func() ([]byte, error) {
		return render(&message.Change.EventChange, message.To.Dashboard, message.Components)
	})
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	body := bodyOf(message.DeliveryID, shared)
	timestamp := strconv.FormatInt(message.At.Unix(), 10)
	signature, err := sign(message.To.Secrets, message.DeliveryID, timestamp, body)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	return w.caller.post(ctx, message.To.URL, http.Header{
		"Content-Type":      {"application/json"},
		"User-Agent":        {userAgent},
		"Webhook-Id":        {message.DeliveryID},
		"Webhook-Timestamp": {timestamp},
		"Webhook-Signature": {signature},
	}, body)
}

// textKey tells apart what receivers of one change are told: by dashboard and components.
func textKey(message dispatch.Message) string {
	if len(message.Components) == len(message.Change.Event.Components) {
		return message.To.Dashboard.ID
	}
	return message.To.Dashboard.ID + " " + strings.Join(ids(message.Components), " ")
}

func ids(components []topic.Component) []string {
	out := make([]string, len(components))
	for i, c := range components {
		out[i] = c.ID
	}
	return out
}
