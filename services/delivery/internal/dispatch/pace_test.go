package dispatch

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// spaces is a Recipients whose endpoints have ids like "space-7". Endpoints of a space have different URLs and share
// the limit of the space.
type spaces struct {
	Recipients
	resolved atomic.Int64 // recipients that were resolved alone: right before an attempt
}

func (s *spaces) Resolve(_ context.Context, _ string, query topic.ResolveQuery) ([]topic.Destination, error) {
	time.Sleep(5 * time.Millisecond)
	if len(query.IDs) == 1 {
		s.resolved.Add(1)
	}
	out := make([]topic.Destination, len(query.IDs))
	for i, id := range query.IDs {
		space, _, _ := strings.Cut(id, "-")
		out[i] = topic.Destination{ID: id, State: topic.RecipientActive, URLHash: id, Paced: space}
	}
	return out, nil
}

// slowly is a Channel with a limit. It records the times of requests by space.
type slowly struct {
	gap    time.Duration
	mu     sync.Mutex
	posted map[string][]time.Time
	answer func(space string, n int) Result
}

func (s *slowly) Gap() time.Duration { return s.gap }

func (s *slowly) Send(_ context.Context, message Message) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := cmp.Or(message.To.Paced, message.To.URLHash)
	s.posted[space] = append(s.posted[space], time.Now())
	if s.answer != nil {
		return s.answer(space, len(s.posted[space]))
	}
	return Result{}
}

func (s *slowly) times(space string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posted[space]
}

// pacing runs a sender with one paced channel while test runs.
func pacing(t *testing.T, chat *slowly, kept Recipients, store Store, test func(*Sender, context.Context)) {
	t.Helper()
	chat.posted = map[string][]time.Time{}
	s := NewSender(Parts{Store: store, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.GChat: chat},
		Recipients: map[topic.RecipientService]Recipients{topic.Integrations: kept}, Policy: Policy{time.Minute},
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _ = s.Run(ctx); close(ended) }()
	s.Assigned(ownsFirst(ctx))
	test(s, ctx)
	stop()
	<-ended
}

func members(space string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = space + "-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	return out
}

// All endpoints of a space share its limit, and other spaces do not wait for them. The endpoints that wait do not all
// wake for each request.
func TestAllEndpointsOfASpaceShareItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, gap = 200, time.Second
		chat, kept := &slowly{gap: gap}, &spaces{}
		pacing(t, chat, kept, plainParts{}, func(s *Sender, ctx context.Context) {
			s.Take(ctx, 0, topic.Shard{ID: "1", ChangeID: "1", Organization: "a", Channel: topic.GChat, Recipients: members("busy", n)}, plainParts{})
			time.Sleep(10 * gap)
			s.Take(ctx, 0, topic.Shard{ID: "2", ChangeID: "2", Organization: "a", Channel: topic.GChat, Recipients: members("calm", 1)}, plainParts{})
			time.Sleep(gap / 2)
			if len(chat.times("calm")) != 1 {
				t.Error("a space waits for another space")
			}
			time.Sleep(n*gap + n*gap/20)
			synctest.Wait()
			busy := chat.times("busy")
			if len(busy) != n {
				t.Fatalf("%d of %d messages were sent", len(busy), n)
			}
			for i := 1; i < n; i++ {
				if apart := busy[i].Sub(busy[i-1]); apart < gap {
					t.Fatalf("two messages are %v apart", apart)
				}
			}
			if woken := kept.resolved.Load(); woken > 2*n {
				t.Errorf("%d endpoints woke %d times", n, woken)
			}
		})
	})
}

// workflows is a Recipients of endpoints that have the URL of their space: records of several dashboards.
type workflows struct{ spaces }

func (w *workflows) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	out, err := w.spaces.Resolve(ctx, organization, query)
	for i := range out {
		out[i].URLHash, out[i].Paced = out[i].Paced, ""
	}
	return out, err
}

// All endpoints of one Teams URL share its limit. They do not wake together, neither in one change nor in several.
func TestAllEndpointsOfAURLShareItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, changes, gap = 300, 3, 260 * time.Millisecond
		teams, kept := &slowly{gap: gap}, &workflows{}
		pacing(t, teams, kept, plainParts{}, func(s *Sender, ctx context.Context) {
			for i := range changes {
				id := string(rune('1' + i))
				s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: "a", Channel: topic.GChat, Recipients: members("url", n)}, plainParts{})
			}
			time.Sleep(n*changes*gap + n*changes*gap/10)
			synctest.Wait()
			sent := teams.times("url")
			if len(sent) != n*changes {
				t.Fatalf("%d of %d messages were sent", len(sent), n*changes)
			}
			for i := 1; i < len(sent); i++ {
				if apart := sent[i].Sub(sent[i-1]); apart < gap {
					t.Fatalf("two messages are %v apart", apart)
				}
			}
			if woken := kept.resolved.Load(); woken > 2*n*changes {
				t.Errorf("%d deliveries woke %d times", n*changes, woken)
			}
		})
	})
}

// If one endpoint of a space is asked to pause, no endpoint of the space sends before the pause is over.
func TestAPauseHoldsAllEndpointsOfASpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, gap, asked = 5, time.Second, 30 * time.Second
		chat := &slowly{gap: gap, answer: func(_ string, n int) Result {
			if n == 1 {
				return Result{HTTPStatus: 429, Code: deliverylog.CodeRateLimited, RetryAfter: asked}
			}
			return Result{}
		}}
		var rows remembering
		pacing(t, chat, &spaces{}, &rows, func(s *Sender, ctx context.Context) {
			s.Take(ctx, 0, topic.Shard{ID: "1", ChangeID: "1", Organization: "a", Channel: topic.GChat, Recipients: members("busy", n)}, plainParts{})
			time.Sleep(asked - gap)
			if got := len(chat.times("busy")); got != 1 {
				t.Errorf("%d messages during the pause", got)
			}
			due := map[time.Time]bool{}
			for _, row := range rows.all() {
				due[row.NextAttemptAt.Truncate(gap/2)] = true
				if row.Status != deliverylog.StatusRetrying || row.NextAttemptAt.Sub(row.SentAt) < asked-n*gap {
					t.Errorf("row %+v", row)
				}
			}
			if got := len(rows.all()); got != n || len(due) < n-1 { // the one that was asked has a random part
				t.Errorf("%d rows wait, and are due at %d times", got, len(due))
			}
		})
	})
}

// remembering is a store of inserted rows.
type remembering struct {
	plainParts
	mu   sync.Mutex
	rows []deliverylog.Delivery
}

func (r *remembering) Insert(_ context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, rows...)
	return rows, nil
}

func (r *remembering) all() []deliverylog.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows
}
