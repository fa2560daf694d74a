package dispatch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// texting is an Account that refuses the first texts for a second.
type texting struct{ refuses, requests, sent atomic.Int64 }

func (*texting) Bucket() string               { return "account" }
func (*texting) Hold(time.Time) time.Duration { return 0 }
func (a *texting) Send(context.Context, Message) Result {
	if a.requests.Add(1) <= a.refuses.Load() {
		return Result{HTTPStatus: 503, Code: deliverylog.CodeServerError, RetryAfter: time.Second}
	}
	a.sent.Add(1)
	return Result{}
}

// unheard is a store whose response to the first write of each begin of an attempt is lost. other is a row that another
// process stores before.
type unheard struct {
	remembering
	other *deliverylog.Delivery
	lost  atomic.Int64
	began map[time.Time]bool // SendingAt of the begins that were written
}

func (u *unheard) loses(row *deliverylog.Delivery) error {
	if row.SendingAt == nil || u.began[*row.SendingAt] {
		return nil
	}
	u.began[*row.SendingAt] = true
	u.lost.Add(1)
	return fault.New(fault.Unavailable, "the response is lost")
}

func (u *unheard) Insert(ctx context.Context, rows []deliverylog.Delivery) (stored []deliverylog.Delivery, err error) {
	if u.other != nil {
		_, _ = u.remembering.Insert(ctx, []deliverylog.Delivery{*u.other})
	}
	for _, row := range rows {
		if found, _ := u.Deliveries(ctx, []string{row.ID}); len(found) == 0 {
			stored, _ = u.remembering.Insert(ctx, []deliverylog.Delivery{row})
		}
		if lost := u.loses(&row); lost != nil {
			return nil, lost
		}
	}
	return stored, nil
}

func (u *unheard) Amend(ctx context.Context, id string, change func(*deliverylog.Delivery) (*topic.Outcome, error)) (deliverylog.Delivery, error) {
	row, err := u.remembering.Amend(ctx, id, change)
	if lost := u.loses(&row); err == nil && lost != nil {
		return deliverylog.Delivery{}, lost
	}
	return row, err
}

func (u *unheard) Deliveries(_ context.Context, ids []string) (found []deliverylog.Delivery, _ error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range ids {
		if row, stored := u.rows[id]; stored {
			found = append(found, row)
		}
	}
	return found, nil
}

// The begin of an attempt on an account is stored, but the response of the store is lost. The text is sent once, at the first
// attempt and at a retry. If another process has stored the begin, the text is not sent.
func TestATextWhoseBeginIsStoredWithoutAResponseIsSent(t *testing.T) {
	for name, x := range map[string]struct {
		refuses, lost, sent int64
		other               bool
	}{
		"first attempt":        {0, 1, 1, false},
		"retry":                {1, 2, 1, false},
		"begun by another one": {0, 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				account, store := &texting{}, &unheard{began: map[time.Time]bool{}}
				account.refuses.Store(x.refuses)
				id := topic.DeliveryID("c", "r")
				if x.other {
					begun, until := time.Now().Add(-time.Millisecond), time.Now().Add(time.Minute)
					store.other = &deliverylog.Delivery{ID: id, ChangeID: "c", Recipient: "r", Channel: topic.SMS, Status: deliverylog.StatusRetrying, SendingAt: &begun, NextAttemptAt: &until}
				}
				s := NewSender(Parts{Store: store, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.SMS: account},
					Recipients: map[topic.RecipientService]Recipients{topic.Subscribers: directory{}}, Policy: Policy{time.Second, time.Second}, Timeout: time.Second,
					Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { _ = s.Run(ctx); close(ended) }()
				s.Assigned(ownsFirst(ctx))
				s.Take(ctx, 0, topic.Shard{ID: "c", ChangeID: "c", Organization: "o", Channel: topic.SMS, Recipients: []string{"r"}}, plainParts{})
				time.Sleep(30 * time.Second)
				stop()
				<-ended
				row := store.rows[id]
				if account.sent.Load() != x.sent || store.lost.Load() != x.lost || !x.other && row.Status != deliverylog.StatusDelivered {
					t.Errorf("%d texts were sent and %d responses lost, row %+v", account.sent.Load(), store.lost.Load(), row)
				}
			})
		})
	}
}
