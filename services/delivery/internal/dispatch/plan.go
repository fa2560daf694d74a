package dispatch

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	shardSize  = 256
	planPause  = 100 * time.Millisecond // before a plan that failed is tried again, at first
	planLonger = 10 * time.Second       // and at the most
)

// Work is a message in hand: Done when its effect is durable, Abandon when nobody
// works on it any more although it is not.
type Work interface {
	Done()
	Abandon()
}

// Planner finds out who is to be told of a change and hands them out as shards.
// One organization's changes are planned one after the other on each channel, so those of an
// event stay in order; organizations do not wait for each other, and neither do channels, whose
// recipients different services know.
type Planner struct {
	Parts
	mu     sync.Mutex
	chains map[line][]planning
}

// line is what is done in order: an organization's deliveries on a channel.
type line struct {
	organization string
	channel      topic.Channel
}

// planning is what is to be done for a change on one channel.
type planning struct {
	ctx    context.Context
	stop   context.Context
	change topic.EventChange
	whole  *whole
}

// whole is a change in hand, until it is planned on all its channels.
type whole struct {
	work  Work
	left  int
	given bool
}

// NewPlanner makes a planner.
func NewPlanner(parts Parts) *Planner {
	return &Planner{Parts: parts, chains: make(map[line][]planning)}
}

// Take accepts a change and returns. ctx carries its trace and ends when it is
// another's; stop ends when the service stops.
func (p *Planner) Take(ctx, stop context.Context, change topic.EventChange, work Work) {
	if len(change.Notify) == 0 {
		work.Done()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := &whole{work: work, left: len(change.Notify)}
	for channel := range change.Notify {
		key := line{change.Organization, channel}
		chain, running := p.chains[key]
		p.chains[key] = append(chain, planning{ctx, stop, change, whole})
		if !running {
			go p.run(key)
		}
	}
}

// run plans an organization's changes on a channel until none is left.
func (p *Planner) run(key line) {
	for {
		p.mu.Lock()
		chain := p.chains[key]
		if len(chain) == 0 {
			delete(p.chains, key)
			p.mu.Unlock()
			return
		}
		next := chain[0]
		p.chains[key] = chain[1:]
		p.mu.Unlock()
		p.finish(next, p.persist(next, key.channel))
	}
}

// finish ends the work on a change on one of its channels, and on the whole with the last.
func (p *Planner) finish(next planning, planned bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next.whole.left--
	next.whole.given = next.whole.given || !planned
	switch {
	case next.whole.left > 0:
	case next.whole.given:
		next.whole.work.Abandon()
	default:
		p.Observer.Planned(p.Now().Sub(next.change.OccurredAt))
		next.whole.work.Done()
	}
}

// persist tries until the change is planned on the channel: as long as a peer is down, its
// recipients wait, and are not forgotten. False when it ended before.
func (p *Planner) persist(next planning, channel topic.Channel) bool {
	pause := planPause
	for {
		if next.ctx.Err() != nil || next.stop.Err() != nil {
			return false
		}
		err := p.plan(next.ctx, next.change, channel)
		if err == nil {
			return true
		}
		p.Log.WarnContext(next.ctx, "a change cannot be planned yet", "change", next.change.ID,
			"organization", next.change.Organization, "channel", channel, "error", err)
		rest(next.ctx, next.stop, pause)
		pause = min(2*pause, planLonger)
	}
}

// rest waits, or until one of the contexts ends.
func rest(a, b context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-a.Done():
	case <-b.Done():
	case <-timer.C:
	}
}

// plan hands out a change's recipients on a channel. Planning again makes the same
// shards and the same rows.
func (p *Planner) plan(ctx context.Context, change topic.EventChange, channel topic.Channel) error {
	if err := p.Store.SaveChange(ctx, change); err != nil {
		return fmt.Errorf("keep the change: %w", err)
	}
	route, ok := p.Routes[channel]
	if !ok {
		return p.skip(ctx, change, channel)
	}
	return p.channel(ctx, change, channel, route)
}

// skip records that a channel told nobody, and why.
func (p *Planner) skip(ctx context.Context, change topic.EventChange, channel topic.Channel) error {
	row := newDelivery(ChannelDeliveryID(change.ID, channel), channel, "", &change, p.Policy, p.Now())
	row.end(StatusSkipped, missing(channel), row.SentAt)
	if _, err := p.Store.Insert(ctx, []Delivery{row}); err != nil {
		return fmt.Errorf("record that it is skipped: %w", err)
	}
	return nil
}

// missing returns the reason why the channel has no route.
func missing(channel topic.Channel) Code {
	if channel.Keeper() == topic.Nobody {
		return CodeNoService
	}
	return CodeUnavailable
}

// channel hands out the recipients of one channel, page by page.
func (p *Planner) channel(ctx context.Context, change topic.EventChange, channel topic.Channel, route Route) error {
	concern := topic.RecipientQuery{Kind: change.Kind, Channel: channel, Endpoints: change.Notify[channel].Endpoints, Limit: topic.MaxRecipients}
	for _, component := range change.Event.Components {
		concern.Components = append(concern.Components, component.ID)
	}
	for page := 0; ; page++ {
		concerned, err := route.Recipients.Concerned(ctx, change.Organization, concern)
		if err != nil {
			return fmt.Errorf("ask who is concerned: %w", err)
		}
		if err := p.Bus.Shards(ctx, shards(&change, channel, page, concerned.Recipients)); err != nil {
			return fmt.Errorf("publish shards: %w", err)
		}
		if concerned.Next == "" {
			return nil
		}
		if concerned.Next == concern.After {
			return fault.New(fault.Internal, "the list of recipients does not move on")
		}
		concern.After = concerned.Next
	}
}

// shards groups recipients by the bucket of where they live.
func shards(change *topic.EventChange, channel topic.Channel, page int, recipients []topic.Recipient) []topic.Shard {
	var buckets [topic.Buckets][]string
	for _, recipient := range recipients {
		bucket := bucketOf(recipient.Destination)
		buckets[bucket] = append(buckets[bucket], recipient.ID)
	}
	var out []topic.Shard
	for bucket, ids := range buckets {
		for part := 0; len(ids) > 0; part++ {
			n := min(len(ids), shardSize)
			out = append(out, topic.Shard{
				ID:       derive(change.ID, "shard", string(channel), strconv.Itoa(bucket), strconv.Itoa(page), strconv.Itoa(part)),
				ChangeID: change.ID, Organization: change.Organization, Channel: channel, Bucket: bucket, Recipients: ids[:n],
			})
			ids = ids[n:]
		}
	}
	return out
}

// bucketOf spreads destinations; what lives at the same place shares a bucket.
func bucketOf(destination string) int {
	hash := fnv.New32a()
	hash.Write([]byte(destination))
	return int(hash.Sum32() % topic.Buckets)
}

// newDelivery is the row of a delivery that begins now.
func newDelivery(id string, channel topic.Channel, recipient string, change *topic.EventChange, policy Policy, now time.Time) Delivery {
	return Delivery{
		ID: id, Organization: change.Organization, Channel: channel, Recipient: recipient,
		EventID: change.Event.ID, EventKind: change.Kind, ChangeID: change.ID, Sequence: change.Sequence,
		MaxAttempts: policy.attempts(), SentAt: now,
	}
}
