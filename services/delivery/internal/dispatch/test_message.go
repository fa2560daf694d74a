package dispatch

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Maximum numbers of test messages on one channel between two full hours: memberTests for each member, organizationTests for
// all members of an organization together.
const (
	memberTests       = 5
	organizationTests = 20
)

// SendTest schedules a test message to a member, and returns the id of the delivery. A mail goes to the member's own address. to
// is the phone number for SMS and WhatsApp, and empty for mail.
//
// The ids of an organization's test messages in an hour are derived from the organization, the channel, the hour and a number.
// SendTest uses the first id that is not stored, and the store refuses a second row with the same id. So the limits also
// apply to requests at the same time and to several processes.
func (p *Planner) SendTest(ctx context.Context, organization, member string, channel topic.Channel, to string) (deliveryID string, err error) {
	now := p.Now()
	notice := topic.Notice{
		ID: topic.NewID(), Kind: topic.MemberTest, Organization: organization, OccurredAt: now.Truncate(time.Millisecond),
		Channel: channel, Service: topic.Identity, Recipient: member, Member: &topic.MemberReport{},
	}
	row := deliverylog.Delivery{Organization: organization, Channel: topic.Email, Service: topic.Identity, Recipient: member}
	if found, err := p.recipient(ctx, &row, notice.Kind); fault.UnlessMissing(err) != nil {
		return "", err
	} else if to == "" && found.Address == "" {
		return "", fault.New(fault.Conflict, "Your account has no email address. Ask an admin to add one, then test the mail server.")
	}
	hour := now.Truncate(time.Hour)
	ids := make([]string, organizationTests)
	for i := range ids {
		ids[i] = topic.DeliveryID(topic.DeriveID(organization, "test", string(channel), hour.UTC().Format(time.RFC3339), strconv.Itoa(i)), organization)
	}
	id, err := p.freeTest(ctx, ids, member, hour.Add(time.Hour).Sub(now))
	if err != nil {
		return "", err
	}
	content := Content{Notice: &notice, To: to}
	if err := p.Store.SaveContent(ctx, content); err != nil {
		return "", err
	}
	for err == nil {
		change := content.change()
		row = deliverylog.NewDelivery(id, channel, member, &change, p.Policy.attempts(), now)
		row.Service, row.Partition = topic.Identity, deliverylog.BucketOf(p.destination(channel, member))
		if err := p.schedule(ctx, row, "delivery.test", now); !fault.Is(err, fault.Conflict) {
			return id, err
		}
		id, err = p.freeTest(ctx, ids, member, hour.Add(time.Hour).Sub(now)) // another request has used the id
	}
	return "", err
}

// freeTest returns the first of the ids that is not stored. It returns a TooMany fault with the wait if there is none, or
// if the member has used memberTests of them.
func (p *Planner) freeTest(ctx context.Context, ids []string, member string, wait time.Duration) (string, error) {
	stored, err := p.Store.Deliveries(ctx, ids)
	if err != nil {
		return "", err
	}
	own := 0
	for _, row := range stored {
		if row.Recipient == member {
			own++
		}
	}
	used := find.Values(stored, func(d deliverylog.Delivery) string { return d.ID })
	free := slices.IndexFunc(ids, func(id string) bool { return !slices.Contains(used, id) })
	switch {
	case own >= memberTests:
		return "", fault.Wrap(fault.TooMany, fault.Throttled{Wait: wait}, "You have sent %d test messages on this channel within this hour. Try again later.", memberTests)
	case free < 0:
		return "", fault.Wrap(fault.TooMany, fault.Throttled{Wait: wait}, "Your organization has sent %d test messages on this channel within this hour. Try again later.", organizationTests)
	}
	return ids[free], nil
}
