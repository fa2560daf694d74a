package command

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// importTimeout is the time limit of a request, which may import 200 events.
const importTimeout = 2 * time.Minute

// appSender sends requests of the App interface to a platform.
type appSender struct{ platform }

// Send implements transfer.Sender.
func (s appSender) Send(ctx context.Context, r transfer.Request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	path := r.Path
	if len(r.Query) > 0 {
		path += "?" + r.Query.Encode()
	}
	response, content, err := s.exchange(ctx, appKey(), r.Method, path, r.Version, r.Body)
	if err != nil {
		return err
	}
	if response.StatusCode < http.StatusMultipleChoices {
		if out == nil || len(content) == 0 {
			return nil
		}
		return s.decode(content, out)
	}
	refused := &transfer.Refused{Status: response.StatusCode, Text: refusal(appKey(), r.Method, r.Path, response, content).Error()}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		refused.Wait = time.Duration(seconds) * time.Second
	}
	return refused
}
