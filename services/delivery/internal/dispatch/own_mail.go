package dispatch

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// ownMails is the number of test mails that a member may get between two full hours.
const ownMails = 5

// TestMail sends a test mail to the own address of a member, and returns the id of the delivery. The ids of a member's
// test mails in an hour are known before, and the store refuses an id twice. So the limit also holds for requests at the
// same time and for several processes.
func (p *Planner) TestMail(ctx context.Context, organization, member string) (deliveryID string, err error) {
	now := p.Now()
	notice := topic.Notice{
		Kind: topic.MemberTest, Organization: organization, OccurredAt: now.Truncate(time.Millisecond),
		Channel: topic.Email, Service: topic.Identity, Recipient: member, Member: &topic.MemberReport{},
	}
	row := deliverylog.Delivery{Organization: organization, Channel: topic.Email, Service: topic.Identity, Recipient: member}
	if to, err := p.recipient(ctx, &row, notice.Kind); fault.UnlessMissing(err) != nil {
		return "", err
	} else if to.Address == "" {
		return "", fault.New(fault.Conflict, "Your account has no email address. Ask an admin to add one, then test the mail server.")
	}
	hour := now.Truncate(time.Hour)
	var notices, ids []string
	for i := range ownMails {
		notices = append(notices, topic.DeriveID(member, "test mail", hour.UTC().Format(time.RFC3339), strconv.Itoa(i)))
		ids = append(ids, topic.DeliveryID(notices[i], member))
	}
	stored, err := p.Store.Deliveries(ctx, ids)
	if err != nil {
		return "", err
	}
	for i, id := range ids {
		if slices.ContainsFunc(stored, func(d deliverylog.Delivery) bool { return d.ID == id }) {
			continue
		}
		notice.ID = notices[i]
		content := Content{Notice: &notice}
		if err := p.Store.SaveContent(ctx, content); err != nil {
			return "", err
		}
		change := content.change()
		row = deliverylog.NewDelivery(id, topic.Email, member, &change, p.Policy.attempts(), now)
		row.Service, row.Partition = topic.Identity, deliverylog.BucketOf(p.destination(topic.Email, member))
		if err := p.schedule(ctx, row, "delivery.test", now); !fault.Is(err, fault.Conflict) {
			return id, err
		}
	}
	wait := fault.Throttled{Wait: hour.Add(time.Hour).Sub(now)}
	return "", fault.Wrap(fault.TooMany, wait, "You have sent %d test mails within this hour. Try again later.", ownMails)
}
