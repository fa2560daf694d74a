package audience

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// MaxRecipients bounds one page of Concerned and one question of Resolve.
const MaxRecipients = 5000

// Concerned finds the ids of the addresses with a confirmed subscription to one of
// the components, in order, those behind after, at most limit. There are more when it
// returns limit of them. Each component is one indexed find; their rows are merged,
// so that an address is there once however many of the components it subscribed to.
func (a *Audience) Concerned(ctx context.Context, organization string, channel topic.Channel, components []string, after string, limit int) ([]string, error) {
	if channel != topic.Email && channel != topic.SMS {
		return nil, nil
	}
	if limit < 1 || limit > MaxRecipients {
		return nil, fault.Field("limit", "must be from 1 to %d", MaxRecipients)
	}
	var ids []string
	for _, component := range components {
		page, err := a.store.FindSubscriptions(ctx, find.Query{
			Where: of(organization, channel, find.Eq(FieldConfirmed, true), find.Eq(FieldComponent, component), find.Gt(FieldAddress, after)),
			Order: []find.Order{{Field: FieldAddress}}, Limit: limit,
		})
		if err != nil {
			return nil, err
		}
		for _, s := range page.Items {
			ids = append(ids, s.AddressID)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		ids = ids[:min(limit, len(ids))]
	}
	return ids, nil
}

// Reach is whether and where an address is reached now.
type Reach struct {
	ID         string
	Found      bool // it exists and is subscribed to something
	Address    Address
	Components []string // confirmed subscriptions
	Dashboard  Dashboard
}

// Resolve tells where the addresses are reached now, in the order asked.
func (a *Audience) Resolve(ctx context.Context, organization string, ids []string) ([]Reach, error) {
	if len(ids) > MaxRecipients {
		return nil, fault.New(fault.Invalid, "At most %d recipients can be asked for at once.", MaxRecipients)
	}
	found, err := a.store.AddressesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := map[string]*Reach{}
	for _, address := range found {
		if address.OrganizationID == organization && !address.Removed {
			known[address.ID] = &Reach{ID: address.ID, Address: address}
		}
	}
	if err := a.confirmed(ctx, organization, known); err != nil {
		return nil, err
	}
	if err := a.placed(ctx, organization, known); err != nil {
		return nil, err
	}
	reaches := make([]Reach, len(ids))
	for i, id := range ids {
		if reach, there := known[id]; there && len(reach.Components) > 0 {
			reach.Found = true
			reaches[i] = *reach
		} else {
			reaches[i] = Reach{ID: id}
		}
	}
	return reaches, nil
}

// confirmed adds the components of the confirmed subscriptions, one find a channel.
func (a *Audience) confirmed(ctx context.Context, organization string, known map[string]*Reach) error {
	byChannel := map[topic.Channel][]string{}
	for id, reach := range known {
		byChannel[reach.Address.Channel] = append(byChannel[reach.Address.Channel], id)
	}
	for channel, ids := range byChannel {
		page, err := a.store.FindSubscriptions(ctx, find.Query{
			Where: of(organization, channel, find.In(FieldAddress, ids...), find.Eq(FieldConfirmed, true)), Scan: IndexAddress,
		})
		if err != nil {
			return err
		}
		for _, s := range page.Items {
			known[s.AddressID].Components = append(known[s.AddressID].Components, s.ComponentID)
		}
	}
	return nil
}

// placed adds the dashboard that shows what each subscribed to, the first where there
// are several; asked for all of them at once.
func (a *Audience) placed(ctx context.Context, organization string, known map[string]*Reach) error {
	var components []string
	for _, reach := range known {
		components = append(components, reach.Components...)
	}
	if len(components) == 0 {
		return nil
	}
	slices.Sort(components)
	dashboards, err := a.components.Dashboards(ctx, organization, slices.Compact(components))
	if fault.Is(err, fault.Unavailable) {
		return nil // a mail without its dashboard's name is better than none during an outage
	}
	if err != nil {
		return err
	}
	for _, reach := range known {
		for _, dashboard := range dashboards {
			if slices.ContainsFunc(reach.Components, func(id string) bool { return slices.Contains(dashboard.Components, id) }) {
				reach.Dashboard = dashboard
				break
			}
		}
	}
	return nil
}

// Destination is what decides the bucket of an address: a digest, never the address.
func Destination(channel topic.Channel, id string) string {
	sum := sha256.Sum256([]byte(string(channel) + ":" + id))
	return hex.EncodeToString(sum[:])
}
