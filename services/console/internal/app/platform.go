package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// importTimeout is the time limit of a call of an import, which may write 200 events.
const importTimeout = 15 * time.Second

// Platform sends the requests of an import for the member. Package transfer creates the requests.
type Platform struct{ Caller *Caller }

// Send implements transfer.Sender.
func (p Platform) Send(ctx context.Context, r transfer.Request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	content, err := p.Caller.send(ctx, request{service: serviceOf(r.Path), method: r.Method, path: r.Path, query: r.Query, version: r.Version, body: r.Body})
	if failed := As(err); failed != nil && !failed.Unavailable() {
		text := failed.Message
		if failed.Field != "" {
			text = failed.Field + ": " + text
		}
		return &transfer.Refused{Status: failed.Status, Text: text, Wait: failed.Wait}
	}
	if err != nil || out == nil || len(content) == 0 {
		return err
	}
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("decode the response to %s %s: %w", r.Method, r.Path, err)
	}
	return nil
}

// serviceOf returns the service that has the operations below a path.
func serviceOf(path string) string {
	for prefix, service := range map[string]string{"/app/subscribers": subscribers, "/app/integrations": integrations, "/app/organization": identity} {
		if strings.HasPrefix(path, prefix) {
			return service
		}
	}
	return events
}
