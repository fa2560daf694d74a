package dispatch

import (
	"context"
	"fmt"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Notify plans a notice: one delivery to one recipient. It returns at once, and retries after errors until one of the
// contexts ends, as Take does.
func (p *Planner) Notify(ctx, stop context.Context, notice topic.Notice, work Work) {
	go func() {
		cause := failurelog.Cause{Message: "Notices cannot be planned yet."}
		if p.persist(ctx, stop, cause, func() error { return p.planNotice(ctx, notice) }, "notice", notice.ID, "organization", notice.Organization) {
			work.Done()
		} else {
			work.Abandon()
		}
	}()
}

// planNotice stores the notice and publishes one shard. A repeated call stores nothing and publishes the same shard
// again.
func (p *Planner) planNotice(ctx context.Context, notice topic.Notice) error {
	if err := p.Store.SaveContent(ctx, Content{Notice: &notice}); err != nil {
		return fmt.Errorf("store the notice: %w", err)
	}
	shard := topic.Shard{
		ID: topic.DeriveID(notice.ID, "shard"), ChangeID: notice.ID, Organization: notice.Organization,
		Channel: notice.Channel, Service: notice.Service, Bucket: deliverylog.BucketOf(p.destination(notice.Channel, notice.Destination)), Recipients: []string{notice.Recipient},
	}
	if err := p.Bus.Shards(ctx, []topic.Shard{shard}); err != nil {
		return fmt.Errorf("publish the shard: %w", err)
	}
	return nil
}
