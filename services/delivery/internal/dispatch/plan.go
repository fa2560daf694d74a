package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const (
	shardSize    = 256
	planPause    = 100 * time.Millisecond // pause after the first failure; doubles with each failure
	maxPlanPause = 10 * time.Second
)

// Planner finds the recipients of a change and publishes them as shards. It plans the changes of one organization and channel
// one after the other, so that changes of an event stay in order. Other organizations and channels do not wait for them,
// because the service that stores the recipients of one channel may be down. If as many changes are in progress as package
// kafka allows, further changes wait.
type Planner struct {
	Parts
	mu   sync.Mutex
	last map[tenantKey]chan struct{} // closed when the last change of the key is planned or abandoned
}

// tenantKey identifies the deliveries of an organization on one channel to recipients of one service.
type tenantKey struct {
	organization string
	channel      topic.Channel
	service      topic.RecipientService
}

// NewPlanner returns a planner.
func NewPlanner(parts Parts) *Planner {
	parts.outages = failurelog.New(parts.Log)
	return &Planner{Parts: parts, last: make(map[tenantKey]chan struct{})}
}

// Take queues a change and returns. Goroutines plan the change, and retry after errors until one of the contexts ends. ctx
// contains the trace. stop ends when the service stops, or when the partition is to move to another process.
func (p *Planner) Take(ctx, stop context.Context, change topic.EventChange, work Work) {
	if len(change.Notify) == 0 {
		p.takeSilent(ctx, stop, change, work)
		return
	}
	var channels sync.WaitGroup
	var abandoned atomic.Bool
	for channel := range change.Notify {
		earlier, done := p.enter(tenantKey{change.Organization, channel, channel.RecipientService()})
		channels.Go(func() {
			defer done()
			<-earlier
			cause := failurelog.Cause{Message: "Changes cannot be planned yet.", Of: string(channel.RecipientService())}
			planned := p.persist(ctx, stop, cause, func() error { return p.plan(ctx, change, channel) },
				"change", change.ID, "organization", change.Organization, "channel", channel)
			if !planned {
				abandoned.Store(true)
			}
		})
	}
	go func() {
		channels.Wait()
		if abandoned.Load() {
			work.Abandon()
			return
		}
		p.Observer.Planned(p.Now().Sub(change.OccurredAt))
		work.Done()
	}()
}

// takeSilent stores a change that notifies nobody, so that Why can return the reason. A change with an empty Silence never has
// a message, and is not stored.
func (p *Planner) takeSilent(ctx, stop context.Context, change topic.EventChange, work Work) {
	if change.Silence == "" {
		work.Done()
		return
	}
	go func() {
		cause := failurelog.Cause{Message: "Changes that notify nobody cannot be stored yet."}
		if p.persist(ctx, stop, cause, func() error { return p.Store.SaveContent(ctx, Content{EventChange: &change}) }, "change", change.ID, "organization", change.Organization) {
			work.Done()
		} else {
			work.Abandon()
		}
	}()
}

// enter adds a caller to the queue of the key. earlier is closed when the caller before it has called its done. If no caller
// is in the queue, earlier is closed already.
func (p *Planner) enter(key tenantKey) (earlier chan struct{}, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	earlier, own := p.last[key], make(chan struct{})
	p.last[key] = own
	if earlier == nil {
		earlier = make(chan struct{})
		close(earlier)
	}
	return earlier, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(own)
		if p.last[key] == own {
			delete(p.last, key)
		}
	}
}

// persist calls try until try succeeds, and returns true. It returns false if one of the contexts ends first.
func (p *Planner) persist(ctx, stop context.Context, cause failurelog.Cause, try func() error, attributes ...any) bool {
	for pause := planPause; ctx.Err() == nil && stop.Err() == nil; pause = min(2*pause, maxPlanPause) {
		err := try()
		if err == nil {
			p.outages.Over(ctx, cause)
			return true
		}
		p.outages.Failed(ctx, cause, err, attributes...)
		rest(ctx, stop, pause)
	}
	return false
}

// plan stores the change and publishes its recipients on the channel as shards. If this process does not have the channel, or
// no recipient is concerned and Wording.SkippedAs is set, plan stores the change and calls skip. If the recipients are the
// same, a repeated plan publishes the same shards. To save time, plan stores the change while it requests the first recipients.
func (p *Planner) plan(ctx context.Context, change topic.EventChange, channel topic.Channel) error {
	saved := make(chan error, 1)
	go func() { saved <- p.Store.SaveContent(ctx, Content{EventChange: &change}) }()
	recipients, ok := p.Recipients[channel.RecipientService()]
	if _, known := p.Channels[channel]; !ok || !known {
		return errors.Join(<-saved, p.skip(ctx, change, channel))
	}
	query := concernedBy(&change, channel)
	found, err := recipients.Concerned(ctx, change.Organization, query)
	if failed := <-saved; failed != nil {
		return fmt.Errorf("store the change: %w", failed)
	}
	if as := change.Notify[channel].SkippedAs; err == nil && as != "" && len(found.Recipients) == 0 && found.Next == "" {
		return p.skip(ctx, change, as)
	}
	for page := 0; err == nil; page++ {
		if err := p.publish(ctx, &change, channel, page, found); err != nil || found.Next == "" {
			return err
		}
		if found.Next == query.After {
			return fault.New(fault.Internal, "The next page of recipients is the same page again.")
		}
		query.After = found.Next
		found, err = recipients.Concerned(ctx, change.Organization, query)
	}
	return fmt.Errorf("find the recipients: %w", err)
}

// concernedBy returns the query for the recipients of the change on the channel.
func concernedBy(change *topic.EventChange, channel topic.Channel) topic.RecipientQuery {
	query := topic.RecipientQuery{
		Kind: change.Kind, Channel: channel, Endpoints: change.Notify[channel].Endpoints, Limit: topic.MaxPage,
		Dashboards: make(map[string][]string, len(change.Event.Components)),
	}
	if len(change.Event.Components) == 0 {
		query.AllOf = change.Event.Dashboards
	}
	for _, component := range change.Event.Components {
		query.Components = append(query.Components, component.ID)
		query.Dashboards[component.ID] = component.Dashboards
	}
	return query
}

// pageID returns the ID of a deliverylog.PlannedPage.
func pageID(change string, channel topic.Channel, page int) string {
	return topic.DeriveID(change, "page", string(channel), strconv.Itoa(page))
}

// endOfPlan is the page number of the empty page that is stored when all recipients of a plan are found.
const endOfPlan = -1

// publish stores the number of recipients of a page, and then publishes the page as shards. With the last page it stores the
// page endOfPlan, so that Why knows that all recipients were found.
func (p *Planner) publish(ctx context.Context, change *topic.EventChange, channel topic.Channel, page int, found topic.RecipientPage) error {
	for i := range found.Recipients {
		found.Recipients[i].Destination = p.destination(channel, found.Recipients[i].Destination)
	}
	planned := deliverylog.PlannedPage{
		ID: pageID(change.ID, channel, page), Organization: change.Organization,
		EventID: change.Event.ID, Channel: channel, Recipients: len(found.Recipients), PlannedAt: p.Now(),
	}
	pages := []deliverylog.PlannedPage{planned}
	if found.Next == "" {
		planned.ID, planned.Recipients = pageID(change.ID, channel, endOfPlan), 0
		pages = append(pages, planned)
	}
	if err := p.Store.SavePages(ctx, pages...); err != nil {
		return fmt.Errorf("store the number of recipients: %w", err)
	}
	if err := p.Bus.Shards(ctx, shards(change, channel, page, found.Recipients)); err != nil {
		return fmt.Errorf("publish shards: %w", err)
	}
	return nil
}

// skip stores a row that says why the channel sent nothing.
func (p *Planner) skip(ctx context.Context, change topic.EventChange, channel topic.Channel) error {
	code := deliverylog.CodeUnavailable
	if channel.RecipientService() == topic.Nobody {
		code = deliverylog.CodeNoService
	}
	row := deliverylog.NewDelivery(topic.ChannelDeliveryID(change.ID, channel), channel, "", &change, p.Policy.attempts(), p.Now())
	row.Finish(deliverylog.StatusSkipped, code, row.SentAt)
	if _, err := p.Store.Insert(ctx, []deliverylog.Delivery{row}); err != nil {
		return fmt.Errorf("store the skipped delivery: %w", err)
	}
	return nil
}

// shards groups recipients by the bucket of their destination. A shard has at most shardSize recipients.
func shards(change *topic.EventChange, channel topic.Channel, page int, recipients []topic.Recipient) []topic.Shard {
	var buckets [topic.Buckets][]string
	for _, recipient := range recipients {
		bucket := deliverylog.BucketOf(recipient.Destination)
		buckets[bucket] = append(buckets[bucket], recipient.ID)
	}
	var out []topic.Shard
	for bucket, ids := range buckets {
		for part, chunk := range slices.Collect(slices.Chunk(ids, shardSize)) {
			out = append(out, topic.Shard{
				ID:       topic.DeriveID(change.ID, "shard", string(channel), strconv.Itoa(bucket), strconv.Itoa(page), strconv.Itoa(part)),
				ChangeID: change.ID, Organization: change.Organization, Channel: channel, Bucket: bucket, Recipients: chunk,
			})
		}
	}
	return out
}
