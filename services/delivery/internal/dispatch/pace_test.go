package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
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

func (s *slowly) Limits(to *topic.Destination) []Limit { return []Limit{OwnLimit(to, s.gap)} }

func (s *slowly) Send(_ context.Context, message Message) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := cmp.Or(message.To.Paced, message.To.URLHash)
	if s.posted == nil {
		s.posted = map[string][]time.Time{}
	}
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
func pacing(t *testing.T, chat Channel, kept Recipients, store Store, test func(*Sender, context.Context)) {
	t.Helper()
	s := NewSender(Parts{Store: store, Bus: plainParts{}, Channels: map[topic.Channel]Channel{topic.GChat: chat},
		Recipients: map[topic.RecipientService]Recipients{topic.Integrations: kept}, Policy: Policy{time.Minute}, Timeout: time.Second,
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
		pacing(t, chat, kept, &remembering{}, func(s *Sender, ctx context.Context) {
			s.Take(ctx, 0, topic.Shard{ID: "1", ChangeID: "1", Organization: "a", Channel: topic.GChat, Recipients: members("busy", n)}, plainParts{})
			time.Sleep(10 * gap)
			s.Take(ctx, 0, topic.Shard{ID: "2", ChangeID: "2", Organization: "a", Channel: topic.GChat, Recipients: members("calm", 1)}, plainParts{})
			time.Sleep(gap / 2)
			if len(chat.times("calm")) != 1 {
				t.Error("a space waits for another space")
			}
			time.Sleep(n*gap + n*gap/5)
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
		pacing(t, teams, kept, &remembering{}, func(s *Sender, ctx context.Context) {
			for i := range changes {
				id := string(rune('1' + i))
				s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: "a", Channel: topic.GChat, Recipients: members("url", n)}, plainParts{})
			}
			time.Sleep(n*changes*gap + n*changes*gap/5)
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

// gaps is a Channel whose destinations have a URL in common and gaps of their own, by the letter after the hyphen.
type gaps struct {
	slowly
	sent []sentTo
}

type sentTo struct {
	id string
	at time.Time
}

func (*gaps) Limits(to *topic.Destination) []Limit {
	return []Limit{OwnLimit(to, map[byte]time.Duration{'a': time.Second, 'b': 5 * time.Second}[to.ID[len(to.ID)-1]])}
}

func (g *gaps) Send(ctx context.Context, message Message) Result {
	g.mu.Lock()
	g.sent = append(g.sent, sentTo{message.To.ID, time.Now()})
	g.mu.Unlock()
	return g.slowly.Send(ctx, message)
}

// Two endpoints of one URL have different gaps, as after a change of the gap while deliveries wait. A request is never
// nearer to another one than the gap of either.
func TestARequestKeepsItsOwnGapAndThatOfTheRequestBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := &gaps{}
		pacing(t, receiver, &workflows{}, &remembering{}, func(s *Sender, ctx context.Context) {
			for i, of := range []string{"url-a", "url-b", "url-a", "url-a", "url-b", "url-a"} {
				id := string(rune('1' + i))
				s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: "a", Channel: topic.GChat, Recipients: []string{of}}, plainParts{})
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if len(receiver.sent) != 6 {
				t.Fatalf("%d of 6 messages were sent", len(receiver.sent))
			}
			for i, one := range receiver.sent[1:] {
				before, want := receiver.sent[i], time.Second
				if before.id == "url-b" || one.id == "url-b" {
					want = 5 * time.Second
				}
				if apart := one.at.Sub(before.at); apart < want {
					t.Errorf("a message to %s is %v after one to %s", one.id, apart, before.id)
				}
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

// remembering is a store of rows. It returns those that wait for a retry.
type remembering struct {
	plainParts
	mu   sync.Mutex
	rows map[string]deliverylog.Delivery
}

func (r *remembering) Insert(_ context.Context, rows []deliverylog.Delivery) ([]deliverylog.Delivery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[string]deliverylog.Delivery{}
	}
	for _, row := range rows {
		r.rows[row.ID] = row
	}
	return rows, nil
}

func (r *remembering) Waiting(_ context.Context, _ int, from time.Time, after string, limit int) ([]deliverylog.Delivery, string, error) {
	waiting := slices.DeleteFunc(r.all(), func(row deliverylog.Delivery) bool {
		return row.Status != deliverylog.StatusRetrying || row.NextAttemptAt.Before(from)
	})
	slices.SortFunc(waiting, func(a, b deliverylog.Delivery) int {
		return cmp.Or(a.NextAttemptAt.Compare(*b.NextAttemptAt), cmp.Compare(a.ID, b.ID))
	})
	if after != "" { // the last row of the page before; it may have changed since
		at, id, _ := strings.Cut(after, " ")
		nanoseconds, _ := strconv.ParseInt(at, 10, 64)
		waiting = slices.DeleteFunc(waiting, func(row deliverylog.Delivery) bool {
			return cmp.Or(cmp.Compare(row.NextAttemptAt.UnixNano(), nanoseconds), cmp.Compare(row.ID, id)) <= 0
		})
	}
	if len(waiting) <= limit {
		return waiting, "", nil
	}
	last := waiting[limit-1]
	return waiting[:limit], fmt.Sprint(last.NextAttemptAt.UnixNano(), " ", last.ID), nil
}

func (r *remembering) Amend(_ context.Context, id string, change func(*deliverylog.Delivery) (*topic.Outcome, error)) (deliverylog.Delivery, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.rows[id]
	if _, err := change(&row); err != nil && !errors.Is(err, fault.ErrUnchanged) {
		return row, err
	}
	r.rows[id] = row
	return row, nil
}

func (*remembering) SaveRequests(context.Context, []deliverylog.Request) error { return nil }

func (r *remembering) all() []deliverylog.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.rows))
}

// host is a Channel all of whose destinations share a second limit.
type host struct {
	slowly
	hostGap time.Duration
}

func (h *host) Limits(to *topic.Destination) []Limit {
	return append(h.slowly.Limits(to), Limit{"host", h.hostGap})
}

func (h *host) all() (all []time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, times := range h.posted {
		all = append(all, times...)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// 2,000 destinations share the limit of their host, and one of them has a limit of its own. No request is too early, and
// the host is not idle for long. Those that wait long do so as rows. A new message of another organization overtakes them.
func TestAllDestinationsOfAHostShareItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, busy, gap, hostGap = 2000, 20, 450 * time.Millisecond, time.Second / 45
		chat, kept, rows := &host{slowly: slowly{gap: gap}, hostGap: hostGap}, &spaces{}, &remembering{}
		pacing(t, chat, kept, rows, func(s *Sender, ctx context.Context) {
			recipients := members("busy", busy)
			for i := range n - busy {
				recipients = append(recipients, fmt.Sprintf("s%d-a", i))
			}
			for i, part := range slices.Collect(slices.Chunk(recipients, shardSize)) {
				s.Take(ctx, 0, topic.Shard{ID: fmt.Sprint(i), ChangeID: "1", Organization: "a", Channel: topic.GChat, Recipients: part}, plainParts{})
			}
			time.Sleep(20 * time.Second)
			s.Take(ctx, 0, topic.Shard{ID: "other", ChangeID: "2", Organization: "b", Channel: topic.GChat, Recipients: []string{"other-a"}}, plainParts{})
			time.Sleep(longestTurn)
			if len(chat.times("other")) != 1 {
				t.Error("another organization waits for 2,000 deliveries")
			}
			time.Sleep(n*hostGap*28/25 - 20*time.Second)
			synctest.Wait()
			sent := chat.all()
			if len(sent) != n+1 {
				t.Fatalf("%d of %d messages were sent", len(sent), n+1)
			}
			for i := 1; i < len(sent); i++ {
				if apart := sent[i].Sub(sent[i-1]); apart < hostGap {
					t.Fatalf("two messages are %v apart", apart)
				}
			}
			own := chat.times("busy")
			for i := 1; i < len(own); i++ {
				if apart := own[i].Sub(own[i-1]); apart < gap {
					t.Fatalf("two messages to one destination are %v apart", apart)
				}
			}
			if held := len(rows.all()); held < n-1000 {
				t.Errorf("%d deliveries waited as rows", held)
			}
		})
	})
}

// While deliveries of another organization are sent, few of those that wait for their host are stored as rows. They are
// stored afterwards.
func TestDeliveriesThatWaitForTheirHostYieldToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		chat, hooks, rows := &host{slowly: slowly{gap: time.Millisecond}, hostGap: time.Second / 45}, &sending{took: 50 * time.Millisecond}, &remembering{}
		pacing(t, chat, &spaces{}, rows, func(s *Sender, ctx context.Context) {
			s.Channels[topic.Webhook] = hooks
			recipients := make([]string, n)
			for i := range recipients {
				recipients[i] = fmt.Sprintf("s%d-a", i)
			}
			for i, part := range slices.Collect(slices.Chunk(recipients, shardSize)) {
				s.Take(ctx, 0, topic.Shard{ID: fmt.Sprint("held", i), ChangeID: "1", Organization: "a", Channel: topic.GChat, Recipients: part}, plainParts{})
				s.Take(ctx, 0, topic.Shard{ID: fmt.Sprint("sent", i), ChangeID: "2", Organization: "b", Channel: topic.Webhook, Recipients: part}, plainParts{})
			}
			for hooks.sent.Load() < n*9/10 {
				time.Sleep(10 * time.Millisecond)
			}
			held := func() int { return len(rows.all()) }
			if held() == 0 || held() > n/3 {
				t.Errorf("%d of %d deliveries were stored meanwhile", held(), n)
			}
			time.Sleep(time.Second)
			if held() < n-n/5 {
				t.Errorf("only %d of %d deliveries were stored afterwards", held(), n)
			}
		})
	})
}

// A process that gets a partition lets the gap pass before its first request, also if it has owned the partition before.
func TestANewOwnerKeepsTheLimitOfTheFormerOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gap = time.Second
		chat := &slowly{gap: gap}
		began := time.Now()
		pacing(t, chat, &spaces{}, &remembering{}, func(s *Sender, ctx context.Context) {
			take := func(id string) {
				s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: "a", Channel: topic.GChat, Recipients: members("busy", 1)}, plainParts{})
			}
			take("1")
			time.Sleep(10 * gap)
			again := time.Now()
			s.Assigned(ownsFirst(ctx))
			take("2")
			time.Sleep(10 * gap)
			sent := chat.times("busy")
			if len(sent) != 2 || sent[0].Sub(began) < gap || sent[1].Sub(again) < gap || sent[1].Sub(again) > 2*gap {
				t.Errorf("sent at %v, owned since %v and %v", sent, began, again)
			}
		})
	})
}

// A destination that has no request left rests, also after a success. A pause of the host holds all destinations, and
// they do not wake together.
func TestADestinationRestsAndAHostPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gap, hostGap, rest, pause = 450 * time.Millisecond, 22 * time.Millisecond, 3 * time.Second, time.Minute
		chat, rows := &host{slowly: slowly{gap: gap}, hostGap: hostGap}, &remembering{}
		chat.answer = func(space string, n int) Result {
			switch {
			case space == "tired":
				return Result{Rest: rest}
			case space == "refused" && n == 1:
				return Result{HTTPStatus: 429, Code: deliverylog.CodeRateLimited, RetryAfter: pause, HostPause: pause}
			}
			return Result{}
		}
		pacing(t, chat, &spaces{}, rows, func(s *Sender, ctx context.Context) {
			take := func(id string, recipients []string) {
				s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: "a", Channel: topic.GChat, Recipients: recipients}, plainParts{})
			}
			take("1", members("tired", 3))
			time.Sleep(5 * rest)
			tired := chat.times("tired")
			if len(tired) != 3 || tired[1].Sub(tired[0]) < rest || tired[2].Sub(tired[1]) < rest {
				t.Errorf("a tired destination got messages at %v", tired)
			}
			take("2", members("refused", 1))
			time.Sleep(gap)
			began := time.Now()
			var others []string
			for i := range 30 {
				others = append(others, fmt.Sprintf("o%d-a", i))
			}
			take("3", others)
			time.Sleep(pause - 2*gap)
			if got := len(chat.all()); got != 4 {
				t.Errorf("%d messages during the pause of the host", got)
			}
			time.Sleep(pause)
			sent := chat.all()[4:]
			if len(sent) != 31 || sent[0].Sub(began) < pause-2*gap {
				t.Fatalf("%d messages after the pause", len(sent))
			}
			for i := 1; i < len(sent); i++ {
				if apart := sent[i].Sub(sent[i-1]); apart < hostGap {
					t.Errorf("two messages are %v apart", apart)
				}
			}
		})
	})
}

// 200 events to one URL of Slack, which accepts one message a second, are all delivered with one attempt.
func TestManyEventsToOneURLAreNeverTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, gap, allowed = 200, 1020 * time.Millisecond, time.Second
		chat := &slowly{gap: gap}
		chat.answer = func(space string, n int) Result {
			if sent := chat.posted[space]; n > 1 && sent[n-1].Sub(sent[n-2]) < allowed {
				return Result{HTTPStatus: 429, Code: deliverylog.CodeRateLimited}
			}
			return Result{}
		}
		rows := &remembering{}
		pacing(t, chat, &spaces{}, rows, func(s *Sender, ctx context.Context) {
			for i := range n {
				id := fmt.Sprint(i)
				s.Take(ctx, 0, topic.Shard{ID: id, ChangeID: id, Organization: "a", Channel: topic.GChat, Recipients: members("one", 1)}, plainParts{})
			}
			time.Sleep(n * gap * 3 / 2)
			synctest.Wait()
			if sent := len(chat.times("one")); sent != n {
				t.Errorf("%d of %d messages were sent", sent, n)
			}
			for _, row := range rows.all() {
				if row.Status != deliverylog.StatusDelivered || len(row.Attempts) != 1 {
					t.Fatalf("row %+v", row)
				}
			}
		})
	})
}
