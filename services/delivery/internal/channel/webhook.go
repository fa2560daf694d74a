package channel

import (
	"context"
	"net/http"
	"strconv"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// webhook posts the event as JSON with a signature of Standard Webhooks.
type webhook struct{ caller *caller }

// Send makes one attempt. The id and the body are the same for all retries. Each attempt has its own timestamp
// and signature.
func (w webhook) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	key := textKey(message)
	shared, err := message.Change.Rendered(key, func() ([]byte, error) {
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
	result := w.caller.post(ctx, message.To.URL, http.Header{
		"Content-Type":      {"application/json"},
		"Webhook-Id":        {message.DeliveryID},
		"Webhook-Timestamp": {timestamp},
		"Webhook-Signature": {signature},
	}, body)
	result.Sent.Text = key
	return result
}

// textKey returns a key that is the same for recipients of the same dashboard and components. They get the same text.
func textKey(message dispatch.Message) string {
	key := message.To.Dashboard.ID
	if len(message.Components) < len(message.Change.Event.Components) {
		for _, c := range message.Components {
			key += " " + c.ID
		}
	}
	return key
}
