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

// Concerned returns one page of the addresses with a confirmed subscription to one of the components, in
// order of id. It runs one indexed find for each component and merges the rows, so that an address occurs
// once even if it subscribed to several of the components.
func (a *Audience) Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error) {
	page := topic.RecipientPage{Recipients: []topic.Recipient{}}
	if query.Channel.Keeper() != topic.Subscribers {
		return page, nil
	}
	var ids []string
	for _, component := range query.Components {
		found, err := a.Store.Subscriptions.Find(ctx, find.Query{
			Where: of(organization, query.Channel, find.Eq(FieldConfirmed, true), find.Eq(FieldComponent, component), find.Gt(FieldAddress, query.After)),
			Order: []find.Order{{Field: FieldAddress}}, Limit: query.Limit,
		})
		if err != nil {
			return page, err
		}
		for _, s := range found.Items {
			ids = append(ids, s.AddressID)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		ids = ids[:min(query.Limit, len(ids))]
	}
	for _, id := range ids {
		page.Recipients = append(page.Recipients, topic.Recipient{ID: id, Destination: digest(query.Channel, id)})
	}
	if len(ids) == query.Limit {
		page.Next = ids[len(ids)-1]
	}
	return page, nil
}

// digest returns the Destination of a Recipient: a hash that does not show the address.
func digest(channel topic.Channel, id string) string {
	sum := sha256.Sum256([]byte(string(channel) + ":" + id))
	return hex.EncodeToString(sum[:])
}

// reach is an address with its confirmed subscriptions.
type reach struct {
	address    Address
	components []string // ids
	dashboard  Dashboard
}

// Resolve returns the current destinations of the addresses, in the order of query.IDs.
func (a *Audience) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	ids := query.IDs
	found, err := a.Store.Addresses.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := map[string]*reach{}
	for _, address := range found {
		if address.OrganizationID == organization && !address.Removed {
			known[address.ID] = &reach{address: address}
		}
	}
	if err := a.confirmed(ctx, organization, known); err != nil {
		return nil, err
	}
	if err := a.placed(ctx, organization, known); err != nil {
		return nil, err
	}
	out := make([]topic.Destination, len(ids))
	for i, id := range ids {
		out[i] = topic.Destination{ID: id, State: topic.RecipientGone, Components: []string{}}
		if r := known[id]; r != nil && len(r.components) > 0 {
			out[i] = a.destination(r)
		}
	}
	return out, nil
}

// destination returns the address as a Destination. The destination of a blocked address does not show it.
func (a *Audience) destination(r *reach) topic.Destination {
	address := r.address
	d := topic.Destination{ID: address.ID, Channel: address.Channel, State: topic.RecipientSuppressed, Components: []string{}}
	if address.Blocked {
		return d
	}
	d.State, d.Address, d.Components = topic.RecipientActive, address.Text, r.components
	d.Dashboard = topic.Dashboard{ID: r.dashboard.ID, Name: r.dashboard.Name, URL: r.dashboard.URL}
	if kindOf(address.Channel).unsubscribeLink {
		d.Manage = a.Manage(address)
	}
	return d
}

// confirmed adds the components of the confirmed subscriptions. It runs one find for each channel.
func (a *Audience) confirmed(ctx context.Context, organization string, known map[string]*reach) error {
	byChannel := map[topic.Channel][]string{}
	for id, reach := range known {
		byChannel[reach.address.Channel] = append(byChannel[reach.address.Channel], id)
	}
	for channel, ids := range byChannel {
		page, err := a.Store.Subscriptions.Find(ctx, find.Query{
			Where: of(organization, channel, find.In(FieldAddress, ids...), find.Eq(FieldConfirmed, true)), Scan: IndexAddress,
		})
		if err != nil {
			return err
		}
		for _, s := range page.Items {
			r := known[s.AddressID]
			r.components = append(r.components, s.ComponentID)
		}
	}
	return nil
}

// placed adds to each address the first dashboard that shows one of its components. It asks the events
// service once for all addresses.
func (a *Audience) placed(ctx context.Context, organization string, known map[string]*reach) error {
	var components []string
	for _, reach := range known {
		components = append(components, reach.components...)
	}
	if len(components) == 0 {
		return nil
	}
	slices.Sort(components)
	dashboards, err := a.Events.Dashboards(ctx, organization, slices.Compact(components))
	if fault.Is(err, fault.Unavailable) {
		return nil // during an outage, a mail without the dashboard's name is better than no mail
	}
	if err != nil {
		return err
	}
	for _, reach := range known {
		for _, dashboard := range dashboards {
			if slices.ContainsFunc(reach.components, func(id string) bool { return slices.Contains(dashboard.Components, id) }) {
				reach.dashboard = dashboard
				break
			}
		}
	}
	return nil
}
