package inbound

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// keepResponse is how long a request with a repeated webhook-id gets the first response.
	keepResponse = 24 * time.Hour
	// maxRefusals is the maximum number of refused requests with a key that a process logs in a minute. The id of a key is no
	// secret, so anybody can send requests with it.
	maxRefusals = 20

	retention  = 30 * 24 * time.Hour
	pruneSlice = 1000 // rows deleted in one call, so that other writes continue in between
)

// Log is the log of a received request, or of a step that Complete has completed. Of the body, it contains only the action
// and the externalId.
type Log struct {
	ID             string    `json:"id"`
	OrganizationID string    `json:"organizationId"`
	ReceivedAt     time.Time `json:"receivedAt"`
	KeyID          string    `json:"keyId"`
	RemoteIP       string    `json:"remoteIp"`
	Format         string    `json:"format"` // format that the path names; empty: the message was signed as Standard Webhooks require
	Source         string    `json:"source"`
	Action         string    `json:"action"`
	ExternalID     string    `json:"externalId"`
	EventID        string    `json:"eventId"`
	Result         string    `json:"result"`
	HTTPStatus     int       `json:"httpStatus"`
	Error          string    `json:"error"` // why the request failed, was ignored or waits
	// WebhookID is the id of a message that was applied. A repeated message with this id gets this log as its response for
	// keepResponse. WebhookID is empty for an error and for a message without an id. It becomes empty if the same id is
	// applied again after keepResponse.
	WebhookID string `json:"webhookId"`
}

func (s *Inbound) newLog(key Key, in Request) Log {
	return Log{
		ID: topic.NewID(), OrganizationID: key.OrganizationID, ReceivedAt: s.Now(), KeyID: key.ID, RemoteIP: in.IP,
		Format: in.Format, Source: in.Source, WebhookID: in.ID,
	}
}

// ResultRefused is the result of requests that failed, in a LogFilter and in FieldResult. The Result of their logs is empty.
const ResultRefused = "refused"

// LogFilter selects logs. An empty member selects all.
type LogFilter struct{ KeyID, Result string }

// FilterResult returns the result of the request as a LogFilter names it.
func (l *Log) FilterResult() string { return cmp.Or(l.Result, ResultRefused) }

// Logs returns a page of the organization's logs, newest first.
func (s *Inbound) Logs(ctx context.Context, organization string, filter LogFilter, limit int, after string) (find.Page[Log], error) {
	where := []find.Condition{find.Eq(FieldOrganization, organization)}
	if filter.KeyID != "" {
		where = append(where, find.Eq(FieldKey, filter.KeyID))
	}
	if filter.Result != "" {
		where = append(where, find.Eq(FieldResult, filter.Result))
	}
	return s.Store.Logs.Find(ctx, find.Query{Where: where, Order: []find.Order{{Field: FieldReceivedAt, Descending: true}}, Limit: limit, After: after})
}

// kept returns the log that has the webhook-id of row, and the zero Log if there is none. It returns true if this log is
// younger than keepResponse.
func (s *Inbound) kept(ctx context.Context, row Log) (Log, bool, error) {
	found, err := s.Store.Logs.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, row.OrganizationID), find.Eq(FieldWebhookID, row.WebhookID)}, Limit: 1,
	})
	if err != nil || len(found.Items) == 0 {
		return Log{}, false, err
	}
	former := found.Items[0]
	return former, row.ReceivedAt.Sub(former.ReceivedAt) < keepResponse, nil
}

// keep stores the log of a message that was applied. If another request with the same webhook-id has stored its log less
// than keepResponse before, keep returns that log and does not store row.
func (s *Inbound) keep(ctx context.Context, row Log) (Response, error) {
	for {
		err := s.Store.Logs.Insert(ctx, row)
		if !fault.Is(err, fault.Conflict) {
			return Response{row, false}, err
		}
		former, kept, err := s.kept(ctx, row)
		if err != nil || kept {
			return Response{former, kept}, err
		}
		if former.ID == "" {
			continue // the former log was deleted meanwhile
		}
		_, err = s.Store.Logs.Change(ctx, former.ID, func(log *Log) error { log.WebhookID = ""; return nil })
		if fault.UnlessMissing(err) != nil {
			return Response{}, err
		}
	}
}

// fail stores the log of a request or step that failed with err. If the log cannot be stored, fail only writes a warning, so
// that the response does not change.
func (s *Inbound) fail(ctx context.Context, row Log, err error) {
	f := *fault.As(err)
	f.Err = nil // the cause is only for the log of the service
	row.HTTPStatus, row.Error, row.WebhookID = f.Kind.Status(), f.Error(), ""
	if err := s.Store.Logs.Insert(ctx, row); err != nil {
		s.Log.WarnContext(ctx, "an inbound message is not logged", "key", row.KeyID, "error", err.Error())
	}
}

// refusals counts the refusals of each key in the current minute.
type refusals struct {
	mu     sync.Mutex
	minute time.Time
	count  map[string]int
}

// admit counts a refusal of the key, and reports whether the refusal must be logged.
func (r *refusals) admit(keyID string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if minute := now.Truncate(time.Minute); !minute.Equal(r.minute) {
		r.minute, r.count = minute, map[string]int{}
	}
	r.count[keyID]++
	return r.count[keyID] <= maxRefusals
}

// Prune deletes logs that are older than the retention time, and problems that have expired. Several processes may call
// it.
func (s *Inbound) Prune(ctx context.Context) error {
	err := prune(ctx, s.Store.Logs, find.Lt(FieldReceivedAt, s.Now().Add(-retention)))
	return errors.Join(err, prune(ctx, s.Store.Problems, find.Lt(FieldExpiresAt, s.Now())))
}

func prune[T any](ctx context.Context, from find.Collection[T], old find.Condition) error {
	for {
		n, err := from.DeleteMany(ctx, find.Query{Where: []find.Condition{old}, Limit: pruneSlice})
		if n < pruneSlice || err != nil {
			return err
		}
	}
}
