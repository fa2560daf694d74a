package transfer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/pause"
)

const (
	perMinute    = 300              // requests, so that half of the default plan's rate remains for others
	tries        = 6                // attempts of a request to which the platform does not respond
	firstPause   = time.Second      // before the second try; it doubles
	longestPause = 15 * time.Minute // longest wait that a response may ask for
)

// Paced returns a Sender that sends at most 300 requests a minute through s. It waits if the platform asks to wait. It
// repeats a request to which there was no response, or 502, 503 or 504: each request of this package may be repeated. A
// request in flight is not interrupted when its context ends.
func Paced(s Sender) Sender { return &paced{sender: s} }

type paced struct {
	sender Sender
	sent   [perMinute]time.Time // times of the last requests, in a circle
	next   int
}

// Send implements Sender.
func (p *paced) Send(ctx context.Context, r Request, out any) error {
	wait := firstPause
	for try := 1; ; {
		if err := pause.Wait(ctx, time.Until(p.sent[p.next].Add(time.Minute))); err != nil {
			return err
		}
		p.sent[p.next] = time.Now()
		p.next = (p.next + 1) % perMinute
		err := p.sender.Send(context.WithoutCancel(ctx), r, out)
		refused, is := errors.AsType[*Refused](err)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case is && refused.Wait > 0 && refused.Wait <= longestPause && (refused.Status == http.StatusForbidden || refused.Status == http.StatusTooManyRequests):
			if err := pause.Wait(ctx, refused.Wait); err != nil {
				return err
			}
			continue
		case is && refused.Status < http.StatusBadGateway || try == tries:
			return err
		}
		if err := pause.Wait(ctx, wait); err != nil {
			return err
		}
		try++
		wait *= 2
	}
}
