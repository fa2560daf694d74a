package channel

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// webhook posts the event with a signature of Standard Webhooks, as JSON or in the format of the endpoint.
type webhook struct {
	caller  *caller
	locales *locale.Locales
	states  *pageStates
}

func newWebhook(caller *caller, o Options) webhook {
	return webhook{caller, o.Locales, newPageStates(o.Status)}
}

// Send makes one attempt. The id is the same for all retries. The body is the same too, unless the endpoint, its dashboard, the
// components that messages may name or, with FormatStatuspage, the state of the dashboard change meanwhile. Each attempt has
// its own timestamp and signature.
func (w webhook) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	if message.To.Format == topic.FormatTemplate {
		return w.sendTemplate(ctx, message)
	}
	body, key, err := w.body(ctx, message)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	header, err := signedHeader(message, body)
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	result := w.caller.post(ctx, message.To.URL, header, body)
	result.Sent.Text = key
	return result
}

// signedHeader returns the headers of a request with the signature of its body.
func signedHeader(message dispatch.Message, body []byte) (http.Header, error) {
	timestamp := strconv.FormatInt(message.At.Unix(), 10)
	signature, err := sign(message.To.Secrets, message.DeliveryID, timestamp, body)
	return http.Header{
		"Content-Type":      {"application/json"},
		"Webhook-Id":        {message.DeliveryID},
		"Webhook-Timestamp": {timestamp},
		"Webhook-Signature": {signature},
	}, err
}

// body returns the body in the format of the endpoint, and the key of its text.
func (w webhook) body(ctx context.Context, message dispatch.Message) (body []byte, key string, err error) {
	change, to := message.Change, message.To
	switch to.Format {
	case topic.FormatSlack:
		l := localeOf(w.locales, message)
		key = "webhook " + string(to.Format) + " " + wordsKey(l, message) // differs from the key of the channel slack
		body, err = change.Rendered(key, func() ([]byte, error) {
			return renderCompatible(l, &change.EventChange, to.Dashboard, message.Components)
		})
		return body, key, err
	case topic.FormatStatuspage:
		state := w.states.present(ctx, &change.EventChange, to.Dashboard.ID)
		key = fmt.Sprintf("statuspage %v %s", state, textKey(message))
		body, err = change.Rendered(key, func() ([]byte, error) {
			return renderStatuspage(&change.EventChange, to.Dashboard, message.Components, state)
		})
		return body, key, err
	default:
		key = textKey(message)
		shared, err := sharedPayload(message)
		if err != nil {
			return nil, key, err
		}
		return bodyOf(message.DeliveryID, shared), key, nil
	}
}

// sharedPayload returns the payload without the id.
func sharedPayload(message dispatch.Message) ([]byte, error) {
	return message.Change.Rendered(textKey(message), func() ([]byte, error) {
		return render(&message.Change.EventChange, message.To.Dashboard, message.Components)
	})
}

// Limits implements dispatch.Paced.
func (w webhook) Limits(to *topic.Destination) []dispatch.Limit {
	if to.MinIntervalMs == 0 {
		return nil
	}
	return []dispatch.Limit{dispatch.OwnLimit(to, time.Duration(to.MinIntervalMs)*time.Millisecond)}
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
