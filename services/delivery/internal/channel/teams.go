package channel

import (
	"context"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// teamsGap is the least time between two requests to one URL: a workflow takes four a
// second, and they do not arrive quite as evenly as they leave.
const teamsGap = 260 * time.Millisecond

// teams posts an Adaptive Card to a workflow's URL, which accepts it with 202.
type teams struct{ caller *caller }

// Send posts the card. It is the same for all who hear of the same components of one dashboard.
func (t teams) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	body, err := message.Change.Rendered("teams "+textKey(message), func() ([]byte, error) {
		return renderCard(&message.Change.EventChange, message.To.Dashboard, message.Components)
	})
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	return t.caller.post(ctx, message.To.URL, http.Header{
		"Content-Type": {"application/json"},
		"User-Agent":   {userAgent},
	}, body)
}

// Pace implements dispatch.Paced: a URL's, whoever subscribed it.
func (t teams) Pace(to *topic.Destination) (string, time.Duration) {
	return string(topic.Teams) + " " + to.URLHash, teamsGap
}
