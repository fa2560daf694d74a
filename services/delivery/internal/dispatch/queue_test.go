package dispatch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
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

func integrations(kept Recipients) map[topic.RecipientService]Recipients {
	return map[topic.RecipientService]Recipients{topic.Integrations: kept}
}

// owns assigns partitions to the sender.
func owns(s *Sender, ctx context.Context, partitions int) {
	for partition := range partitions {
		owned := ownsFirst(ctx)
		owned.Partition = partition
		s.Assigned(owned)
	}
}

// sendAll runs a sender with one channel, until it has sent the deliveries that queue passes to it.
// It returns the number of fast slots.
func sendAll(t *testing.T, hooks Channel, parts Parts, queue func(s *Sender, ctx context.Context)) (fast int) {
	t.Helper()
	parts.Channels = map[topic.Channel]Channel{topic.Webhook: hooks}
	if parts.Log == nil {
		parts.Log = slog.New(slog.DiscardHandler)
	}
	parts.Now, parts.Traces, parts.Observer = time.Now, untraced{}, unobserved{}
	s := NewSender(parts)
	ctx, stop := context.WithCancel(t.Context())
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
		sendAll(t, hooks, Parts{Store: parts, Bus: parts, Recipients: integrations(parts)}, func(s *Sender, ctx context.Context) {
			owns(s, ctx, shards)
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

// Shards whose first requests fail are all opened again. The log says once that this begins and ends.
func TestShardsThatAreOpenedTogetherAreOpenedAgainAfterAFailure(t *testing.T) {
	for name, failing := range map[string]*unreliable{"store": {stores: 12}, "recipients": {resolves: 12}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const shards = 20
				var log bytes.Buffer
				hooks := &recorded{}
				sendAll(t, hooks, Parts{Store: failing, Bus: plainParts{}, Recipients: integrations(failing), Log: slog.New(slog.NewTextHandler(&log, nil))}, func(s *Sender, ctx context.Context) {
					owns(s, ctx, shards)
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
				if begins, ends := strings.Count(log.String(), "yet."), strings.Count(log.String(), "An outage is over."); begins != 2 || ends != 1 {
					t.Errorf("the log has %d and %d lines:\n%s", begins, ends, log.String())
				}
			})
		})
	}
}

// A partition whose waiting deliveries are not loaded yet delays no shard that was queued before. If it moves meanwhile, the
// shards after it are sent.
func TestAPartitionThatIsNotLoadedDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 5 * time.Second
		hooks := &recorded{}
		sendAll(t, hooks, Parts{Store: slowlyLoaded{slow: 1, took: took}, Bus: plainParts{}, Recipients: integrations(directory{})}, func(s *Sender, ctx context.Context) {
			moving, move := context.WithCancel(ctx)
			t.Cleanup(move)
			take := func(change string, partition int) {
				s.Take(map[int]context.Context{0: ctx, 1: moving}[partition], partition, topic.Shard{ID: change + strconv.Itoa(partition), ChangeID: change,
					Organization: change, Channel: topic.Webhook, Recipients: []string{change + strconv.Itoa(partition)}}, plainParts{})
			}
			s.Assigned(ownsFirst(ctx))
			synctest.Wait()
			second := ownsFirst(moving)
			second.Partition = 1
			s.Assigned(second)
			take("first", 0)
			take("first", 1)
			take("later", 1)
			take("later", 0)
			time.AfterFunc(took/4, func() {
				if sent := hooks.deliveries(); !slices.Equal(sent, []string{"first first0"}) {
					t.Errorf("before the other partition was loaded, these were sent: %s", sent)
				}
				move()
			})
		})
		if sent := hooks.deliveries(); !slices.Equal(sent, []string{"first first0", "later later0"}) {
			t.Errorf("these were sent: %s", sent)
		}
	})
}

// The subscribers service hangs and the waiting deliveries of a partition are read slowly, while more organizations than
// openAtOnce have mails and webhooks there. Webhooks of the other partitions are sent at once.
func TestShardsThatCannotBeOpenedDelayNoOtherOrganization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took, waiting, quick = 5 * time.Second, 2 * openAtOnce, 10
		hooks := &recorded{}
		recipients := map[topic.RecipientService]Recipients{topic.Integrations: directory{}, topic.Subscribers: directory{many: took, one: took}}
		sendAll(t, hooks, Parts{Store: slowlyLoaded{slow: 1, took: took}, Bus: plainParts{}, Recipients: recipients}, func(s *Sender, ctx context.Context) {
			s.Channels[topic.Email] = &sending{}
			s.Assigned(ownsFirst(ctx))
			synctest.Wait()
			second := ownsFirst(ctx)
			second.Partition = 1
			s.Assigned(second)
			take := func(partition int, organization string, channel topic.Channel) {
				s.Take(ctx, partition, topic.Shard{ID: organization, ChangeID: organization, Organization: organization, Channel: channel, Recipients: []string{"r"}}, plainParts{})
			}
			for i := range waiting {
				take(0, fmt.Sprint("mail", i), topic.Email)
				take(1, fmt.Sprint("late", i), topic.Webhook)
			}
			for i := range quick {
				take(0, fmt.Sprint("quick", i), topic.Webhook)
			}
			time.AfterFunc(took/5, func() {
				if sent := hooks.deliveries(); len(sent) != quick {
					t.Errorf("before the service responded and the partition was loaded, %d of %d webhooks were sent", len(sent), quick)
				}
			})
			time.AfterFunc(took+2*openPause, func() {
				if sent := hooks.deliveries(); len(sent) != quick+waiting {
					t.Errorf("when the partition was loaded, %d of %d webhooks were sent", len(sent), quick+waiting)
				}
			})
		})
	})
}

// slowlyLoaded is a Store whose waiting deliveries of one partition are read slowly.
type slowlyLoaded struct {
	plainParts
	slow int
	took time.Duration
}

func (l slowlyLoaded) Waiting(_ context.Context, partition int, _ time.Time, _ string, _ int) ([]deliverylog.Delivery, string, error) {
	if partition == l.slow {
		time.Sleep(l.took)
	}
	return nil, "", nil
}

// A shard whose members are all stored is done when their outcomes are published, also if another shard was opened meanwhile.
func TestAShardWithoutMembersIsNotOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := &ending{}
		push := func(q *queue, id, change string) *shard {
			s := &shard{id: id, ctx: t.Context(), organization: "a", channel: topic.Webhook, changeID: change, recipients: members(id, openAhead+1), work: work}
			q.push(s)
			return s
		}
		q := newQueue(nil)
		q.open = func(group []*opened) {
			for _, o := range group {
				switch o.shard.id {
				case "stored":
					o.members = nil
					q.hold(o.shard) // until the outcomes are published
				case "failing":
					o.err = context.DeadlineExceeded
				}
				o.destinations, o.requestedAt = make([]topic.Destination, len(o.members)), time.Now()
			}
		}
		sent := push(q, "sent", "one")
		push(q, "failing", "two")
		stored := push(q, "stored", "one")
		for i := range openAhead + 1 {
			if m, _ := q.poll(1); (m == nil) != (i == 0) {
				t.Fatalf("poll %d returned %v", i, m)
			}
			synctest.Wait()
		}
		time.Sleep(openPause + 2*staleAfter)
		if m, _ := q.poll(1); m != nil { // opens the first two again
			t.Fatalf("a stale member of %s", m.shard.id)
		}
		synctest.Wait()
		if m, _ := q.poll(1); m == nil || m.shard != sent {
			t.Fatalf("the last member is %v", m)
		}
		q.finish(sent, openAhead+1, true)
		q.finish(stored, 1, true)
		if *work != (ending{done: 2}) {
			t.Errorf("%+v", *work)
		}
	})
}

// ending counts how works ended.
type ending struct{ done, abandoned int }

func (e *ending) Done()    { e.done++ }
func (e *ending) Abandon() { e.abandoned++ }

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

// Organizations take turns of the same length. One that had no turn yet gets every other delivery until the end of its first
// turn, so that it does not wait for the turns of all others. One that has yielded gets one delivery in a turn.
func TestOrganizationsTakeTurns(t *testing.T) {
	for _, turn := range []int{1, turnMembers} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(func(group []*opened) {
				for _, o := range group {
					o.destinations, o.requestedAt = make([]topic.Destination, len(o.members)), time.Now()
				}
			})
			push := func(organization string) {
				q.push(&shard{id: organization, ctx: t.Context(), organization: organization, channel: topic.Webhook, recipients: members(organization, 20*turnMembers)})
			}
			take := func(n int) (sequence string) {
				for range n {
					m, _ := q.poll(turn)
					if m == nil {
						t.Fatalf("after %d deliveries there is none", len(sequence))
					}
					sequence += m.shard.organization
				}
				return sequence
			}
			for _, organization := range []string{"a", "b", "c"} {
				push(organization)
			}
			if m, _ := q.poll(turn); m != nil {
				t.Fatal("a shard was open at once")
			}
			synctest.Wait()
			take(6 * turn) // the first turns
			got := take(9 * turn)
			for _, organization := range []string{"a", "b", "c"} {
				if strings.Count(got, organization) != 3*turn || strings.Contains(got, strings.Repeat(organization, turn+1)) {
					t.Errorf("turns of %d: %s", turn, got)
				}
			}
			yielded := q.ring[0]
			q.yield(yielded.shards[0], true)
			q.yield(yielded.shards[0], false)
			if got := take(9 * turn); strings.Contains(got, strings.Repeat(yielded.key.organization, 2)) {
				t.Errorf("turns of %d: %s has yielded, and gets %s", turn, yielded.key.organization, got)
			}
			push("d")
			take(1)
			synctest.Wait()
			got = take(2 * turn)
			if n := strings.Count(got, "d"); n < max(1, turn-1) || n > turn || strings.Contains(got, "dd") {
				t.Errorf("turns of %d: a new organization gets %s", turn, got)
			}
		})
	}
}

// While all slots are in use, a turn has one delivery.
func TestATurnIsShortWhileAllSlotsAreInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hooks := &recorded{took: 50 * time.Millisecond, longer: 50 * time.Microsecond} // one slot becomes free at a time
		slots := sendAll(t, hooks, Parts{Store: plainParts{}, Bus: plainParts{}, Recipients: integrations(directory{})}, func(s *Sender, ctx context.Context) {
			owns(s, ctx, 2)
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
