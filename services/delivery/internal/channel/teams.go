package channel

import (
	"context"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// teamsGap is the minimum time between two requests to one URL. A Teams workflow accepts four requests a second. The 10
// ms above a quarter of a second allow for different transmission times.
const teamsGap = 260 * time.Millisecond

// teams posts an Adaptive Card to the URL of a Teams workflow.
type teams struct {
	caller  *caller
	locales *locale.Locales
}

// Send makes one attempt. Recipients with the same dashboard, components, locale and time zone share the rendered card.
func (t teams) Send(ctx context.Context, message dispatch.Message) dispatch.Result {
	l := localeOf(t.locales, message)
	key := "teams " + wordsKey(l, message)
	body, err := message.Change.Rendered(key, func() ([]byte, error) {
		return renderCard(l, &message.Change.EventChange, message.To.Dashboard, message.Components)
	})
	if err != nil {
		return dispatch.Result{Code: codeUnsendable}
	}
	result := t.caller.post(ctx, message.To.URL, http.Header{"Content-Type": {"application/json"}}, body)
	result.Sent.Text = key
	return result
}

// Gap implements dispatch.Paced. All endpoints with the same URL share the limit.
func (teams) Gap() time.Duration { return teamsGap }
