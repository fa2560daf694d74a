package dispatch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const groups = 4

// away is a Recipients that fails while down, except for the first call for each shard. So members are resolved one by one.
type away struct {
	Recipients
	down   atomic.Bool
	opened atomic.Int64 // shards
	asked  atomic.Int64
}

func (a *away) Concerned(context.Context, string, topic.RecipientQuery) (topic.RecipientPage, error) {
	a.asked.Add(1)
	if a.down.Load() {
		return topic.RecipientPage{}, errors.New("refused")
	}
	return topic.RecipientPage{}, nil
}

func (a *away) Resolve(_ context.Context, _ string, query topic.ResolveQuery) ([]topic.Destination, error) {
	a.asked.Add(1)
	time.Sleep(strictlyAfter + time.Millisecond)
	if a.down.Load() && (len(query.IDs) == 1 || a.opened.Add(1) > groups) {
		return nil, errors.New("refused")
	}
	out := make([]topic.Destination, len(query.IDs))
	for i, id := range query.IDs {
		out[i] = topic.Destination{ID: id, State: topic.RecipientActive}
	}
	return out, nil
}

// planned is a store that stores changes and pages.
type planned struct{ plainParts }

func (planned) SavePages(context.Context, ...deliverylog.PlannedPage) error { return nil }

func (planned) SaveContent(context.Context, Content) error { return nil }

// While a service is down, 1,000 members and 50 changes that wait for it cause two lines when it begins, two each minute,
// and two when it is over.
func TestAnOutageIsLoggedInFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, minutes = 1000, 5
		var out bytes.Buffer
		kept := &away{}
		sent := &slowly{posted: map[string][]time.Time{}}
		parts := Parts{Store: planned{}, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.Webhook: sent},
			Recipients: map[topic.RecipientService]Recipients{topic.Integrations: kept}, Policy: Policy{time.Minute},
			Now: time.Now, Log: slog.New(slog.NewTextHandler(&out, nil)), Traces: untraced{}, Observer: unobserved{}}
		s, p := NewSender(parts), NewPlanner(parts)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = s.Run(ctx); close(ended) }()
		s.Assigned(ownsFirst(ctx))
		synctest.Wait() // the partition is loaded
		kept.down.Store(true)
		for shard := range groups {
			ids := make([]string, n/groups)
			for i := range ids {
				ids[i] = strconv.Itoa(shard) + "-" + strconv.Itoa(i)
			}
			id := strconv.Itoa(shard)
			s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: id, Channel: topic.Webhook, Recipients: ids}, plainParts{})
		}
		for i := range 50 {
			p.Take(ctx, ctx, topic.EventChange{ID: strconv.Itoa(i), Organization: strconv.Itoa(i), Notify: topic.Notify{topic.Webhook: {}}}, plainParts{})
		}
		time.Sleep(minutes*time.Minute - time.Second)
		kept.down.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		<-ended
		if len(sent.times("")) != n || kept.asked.Load() < 20*n {
			t.Errorf("%d of %d sent, %d questions", len(sent.times("")), n, kept.asked.Load())
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if want := 2 * (minutes + 1); len(lines) > want || strings.Count(out.String(), "An outage is over.") != 2 {
			t.Errorf("%d lines, want at most %d:\n%s", len(lines), want, out.String())
		}
	})
}
