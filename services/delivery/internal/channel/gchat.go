package channel

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// gchat posts a message to a space of Google Chat.
type gchat struct{ caller *caller }

// Send makes one attempt.
func (g gchat) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	body, err := json.Marshal(map[string]string{"text": headline(&message.Change.EventChange)})
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	return g.caller.post(ctx, message.To.URL, http.Header{"Content-Type": {"application/json"}}, body)
}
