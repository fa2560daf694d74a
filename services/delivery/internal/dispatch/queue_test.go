package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// counted is a Recipients and a Store that counts calls. Each call takes some time. It has stored the rows.
type counted struct {
	plainParts
	directory
	rows             []deliverylog.Delivery
	resolves, stored atomic.Int64
	mu               sync.Mutex
	outcomes         []topic.Outcome
}

func (c *counted) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	c.resolves.Add(1)
	return c.directory.Resolve(ctx, organization, query)
}

func (c *counted) Stored(_ context.Context, _ string, partitions []int, ids []string, _ deliverylog.Wanted) (rows []deliverylog.Delivery, _ error) {
	c.stored.Add(1)
	for _, row := range c.rows {
		if slices.Contains(partitions, row.Partition) && slices.Contains(ids, row.ID) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (c *counted) Outcomes(_ context.Context, outcomes []topic.Outcome) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes = append(c.outcomes, outcomes...)
	return nil
}

// recorded is a Channel that records the deliveries in the order of their starts. Each attempt takes longer than the one before.
type recorded struct {
	mu      sync.Mutex
	started []string // change and recipient
	took    time.Duration
	longer  time.Duration
}

func (r *recorded) Send(_ context.Context, message Message) Result {
	r.mu.Lock()
	r.started = append(r.started, message.Change.ID+" "+message.To.ID)
	took := r.took + r.longer*time.Duration(len(r.started))
	r.mu.Unlock()
	time.Sleep(took)
	return Result{}
}

func (r *recorded) deliveries() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.started)
}

// sendAll runs a sender with one channel that owns all partitions, until it has sent the deliveries that queue passes to it.
// It returns the number of fast slots.
func sendAll(t *testing.T, hooks Channel, store Store, bus Bus, recipients Recipients, queue func(s *Sender, ctx context.Context)) (fast int) {
	t.Helper()
	s := NewSender(Parts{Store: store, Bus: bus, Channels: map[topic.Channel]Channel{topic.Webhook: hooks},
		Recipients: map[topic.RecipientService]Recipients{topic.Integrations: recipients}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Traces: untraced{}, Observer: unobserved{}})
	ctx, stop := context.WithCancel(t.Context())
	for partition := range topic.Buckets {
		owned := ownsFirst(ctx)
		owned.Partition = partition
		s.Assigned(owned)
	}
	queue(s, ctx)
	ended := make(chan struct{})
	go func() { _ = s.Run(ctx); close(ended) }()
	time.Sleep(time.Minute)
	stop()
	<-ended
	return cap(s.slots.Fast)
}

// An event to few endpoints has nearly as many shards as endpoints. Few requests serve all of them. A shard that is opened
// with others skips only what its own partition has stored.
func TestSmallShardsOfAChangeAreOpenedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 40
		stored := func(recipient string, partition int) deliverylog.Delivery {
			ended := time.Now()
			return deliverylog.Delivery{ID: topic.DeliveryID("change", recipient), Recipient: recipient, ChangeID: "change", Channel: topic.Webhook,
				Partition: partition, Status: deliverylog.StatusDelivered, EndedAt: &ended, Attempts: []deliverylog.Attempt{{HTTPStatus: 200}}}
		}
		parts := &counted{directory: directory{many: 5 * time.Millisecond, one: 5 * time.Millisecond},
			rows: []deliverylog.Delivery{stored("r20", 20), stored("r30", 31)}} // r30 was sent to a former URL
		hooks := &recorded{}
		sendAll(t, hooks, parts, parts, parts, func(s *Sender, ctx context.Context) {
			for i := range shards {
				id := strconv.Itoa(i)
				s.Take(ctx, i, topic.Shard{ID: id, ChangeID: "change", Organization: "a", Channel: topic.Webhook, Recipients: []string{"r" + id}}, plainParts{})
			}
		})
		sent := hooks.deliveries()
		if len(sent) != shards-1 || slices.Contains(sent, "change r20") || !slices.Contains(sent, "change r30") {
			t.Errorf("%d deliveries were sent: %s", len(sent), sent)
		}
		if resolves, searches := parts.resolves.Load(), parts.stored.Load(); resolves > 6 || searches > 6 {
			t.Errorf("%d requests for destinations and %d for stored deliveries", resolves, searches)
		}
		published := 0
		for _, outcome := range parts.outcomes {
			for _, success := range outcome.Successes {
				if success.Recipient == "r20" {
					published++
				}
			}
		}
		if published != 1 {
			t.Errorf("the outcome of the stored delivery was published %d times", published)
		}
	})
}

// Shards whose first requests fail are all opened again.
func TestShardsThatAreOpenedTogetherAreOpenedAgainAfterAFailure(t *testing.T) {
	for name, failing := range map[string]*unreliable{"store": {stores: 3}, "recipients": {resolves: 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const shards = 20
				hooks := &recorded{}
				sendAll(t, hooks, failing, plainParts{}, failing, func(s *Sender, ctx context.Context) {
					for i := range shards {
						id := strconv.Itoa(i)
						s.Take(ctx, i, topic.Shard{ID: id, ChangeID: "change", Organization: "a", Channel: topic.Webhook, Recipients: []string{"r" + id}}, plainParts{})
					}
				})
				sent := hooks.deliveries()
				slices.Sort(sent)
				if len(slices.Compact(sent)) != shards || len(sent) != shards {
					t.Errorf("%d deliveries were sent: %s", len(sent), sent)
				}
				if failing.stores+failing.resolves != 0 {
					t.Errorf("%+v: fewer requests failed", failing)
				}
			})
		})
	}
}

// unreliable is a Recipients and a Store whose first requests fail.
type unreliable struct {
	plainParts
	directory
	mu               sync.Mutex
	stores, resolves int // how many requests will fail
}

func (u *unreliable) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	if u.fails(&u.resolves) {
		return nil, context.DeadlineExceeded
	}
	return u.directory.Resolve(ctx, organization, query)
}

func (u *unreliable) Stored(context.Context, string, []int, []string, deliverylog.Wanted) ([]deliverylog.Delivery, error) {
	if u.fails(&u.stores) {
		return nil, context.DeadlineExceeded
	}
	return nil, nil
}

func (u *unreliable) fails(left *int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	*left--
	if *left < 0 {
		*left = 0
		return false
	}
	return true
}

// Organizations take turns of the same length.
func TestOrganizationsTakeTurns(t *testing.T) {
	for _, turn := range []int{1, turnMembers} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(func(group []*opened) {
				for _, o := range group {
					o.destinations = make([]topic.Destination, len(o.members))
				}
			})
			for _, organization := range []string{"a", "b", "c"} {
				q.push(&shard{id: organization, ctx: t.Context(), organization: organization, channel: topic.Webhook, recipients: members(organization, 2*turnMembers)})
			}
			if m, _ := q.poll(turn); m != nil {
				t.Fatal("a shard was open at once")
			}
			synctest.Wait()
			for i := range 6 * turnMembers {
				m, _ := q.poll(turn)
				if want := string("abc"[i/turn%3]); m == nil || m.shard.organization != want {
					t.Fatalf("turns of %d: delivery %d is not of %s: %+v", turn, i, want, m)
				}
			}
		})
	}
}

// While all slots are in use, a turn has one delivery.
func TestATurnIsShortWhileAllSlotsAreInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooks := &recorded{took: 50 * time.Millisecond, longer: 50 * time.Microsecond} // one slot becomes free at a time
		slots := sendAll(t, hooks, plainParts{}, plainParts{}, directory{}, func(s *Sender, ctx context.Context) {
			for _, organization := range []string{"a", "b", "c"} {
				for i := range 2 {
					id := organization + strconv.Itoa(i)
					s.Take(ctx, i, topic.Shard{ID: id, ChangeID: organization, Organization: organization, Channel: topic.Webhook, Recipients: members(id, shardSize)}, plainParts{})
				}
			}
		})
		sent := hooks.deliveries()
		if len(sent) != 6*shardSize {
			t.Fatalf("%d deliveries were sent", len(sent))
		}
		longest, run := 0, 0
		for i := slots + shardSize/4; i < 4*shardSize; i++ { // later, an organization has none left
			if run++; sent[i][0] != sent[i-1][0] {
				run = 1
			}
			longest = max(longest, run)
		}
		if longest > 4 { // an organization misses a turn when its shard is opened again
			t.Errorf("an organization got %d deliveries in a turn", longest)
		}
	})
}
