package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	maxComponents = 100 // largest number of components of an event
	maxDashboards = 50  // largest number of dashboards of an event without components
)

// AudienceQuery describes a change that is not written yet.
type AudienceQuery struct {
	Organization string
	EventID      string     // empty: a new event
	Kind         topic.Kind // empty: incident.created, or with EventID incident.updated or maintenance.updated
	Components   []string   // if Components and Dashboards are nil, those of the event are used
	Dashboards   []string   // the dashboards of an event without components
}

// Audience returns the number of recipients to which a message about the change would be sent, for each channel, up to
// topic.MaxPage. It finds and resolves endpoints as the planner and the sender do. It counts subscribers in the index in
// which the planner finds them.
func (p *Planner) Audience(ctx context.Context, q AudienceQuery) (map[topic.Channel]topic.RecipientCount, error) {
	change, err := p.imagined(ctx, q)
	if err != nil {
		return nil, err
	}
	counts := make(map[topic.Channel]topic.RecipientCount)
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, channel := range topic.AppChannels() {
		group.Go(func() {
			var count topic.RecipientCount
			failed := fault.Recovered(func() (err error) {
				count, err = p.count(ctx, &change, channel)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			counts[channel], err = count, errors.Join(err, failed)
		})
	}
	group.Wait()
	return counts, err
}

// imagined returns the change of the query with the fields that decide who is notified: the kind, and the dashboards or those
// components that messages may name. It returns a fault if the query is wrong.
func (p *Planner) imagined(ctx context.Context, q AudienceQuery) (topic.EventChange, error) {
	change := topic.EventChange{Kind: q.Kind, Organization: q.Organization}
	switch {
	case q.Components == nil && q.Dashboards == nil && q.EventID == "":
		return change, fault.Field("componentIds", "is required without eventId and dashboardIds")
	case q.Components != nil && q.Dashboards != nil:
		return change, fault.Field("dashboardIds", "must be absent beside componentIds")
	case q.Dashboards != nil && (len(q.Dashboards) == 0 || len(q.Dashboards) > maxDashboards):
		return change, fault.Field("dashboardIds", "must be from 1 to %d dashboards", maxDashboards)
	case q.Components != nil && (len(q.Components) == 0 || len(q.Components) > maxComponents):
		return change, fault.Field("componentIds", "must be from 1 to %d components", maxComponents)
	}
	if q.Kind == "" {
		change.Kind = topic.IncidentCreated
	}
	if q.EventID != "" {
		state, err := p.Events.EventState(ctx, q.Organization, q.EventID)
		if fault.Is(err, fault.NotFound) {
			err = fault.Field("eventId", "must be an event of the organization")
		}
		if err != nil {
			return change, err
		}
		if q.Kind == "" {
			change.Kind = topic.Kind(state.Type + ".updated")
		}
		if q.Components == nil && q.Dashboards == nil {
			if len(state.Components) == 0 {
				change.Event.Dashboards = state.ShownOn
			}
			for _, id := range state.Components {
				change.Event.Components = append(change.Event.Components, topic.Component{ID: id, Dashboards: state.Dashboards[id]})
			}
			return change, nil
		}
	}
	if q.Dashboards != nil {
		change.Event.Dashboards = q.Dashboards
		return change, p.checkDashboards(ctx, q)
	}
	found, err := p.Events.ComponentsByID(ctx, q.Organization, q.Components)
	if err != nil {
		return change, err
	}
	for i, id := range q.Components {
		component, exists := found[id]
		if !exists {
			return change, fault.Field(fmt.Sprintf("componentIds[%d]", i), "must be a component of the organization")
		}
		if !component.HiddenFromNotifications {
			change.Event.Components = append(change.Event.Components, topic.Component{ID: id, Dashboards: component.Dashboards})
		}
	}
	return change, nil
}

// checkDashboards returns a fault that names the first dashboard that the organization does not have. It returns nil if the
// organization has all of them.
func (p *Planner) checkDashboards(ctx context.Context, q AudienceQuery) error {
	found, err := p.Events.Dashboards(ctx, q.Organization, q.Dashboards)
	if err != nil {
		return err
	}
	existing := find.Index(found, func(d topic.DashboardRecord) string { return d.ID })
	for i, id := range q.Dashboards {
		if _, exists := existing[id]; !exists {
			return fault.Field(fmt.Sprintf("dashboardIds[%d]", i), "must be a dashboard of the organization")
		}
	}
	return nil
}

// count returns the number of recipients to which the change would be sent on the channel, up to topic.MaxPage.
func (p *Planner) count(ctx context.Context, change *topic.EventChange, channel topic.Channel) (topic.RecipientCount, error) {
	query := concernedBy(change, channel)
	if len(query.Components)+len(query.AllOf) == 0 {
		return topic.RecipientCount{}, nil
	}
	if channel.RecipientService() == topic.Subscribers {
		return p.Subscribers.Count(ctx, change.Organization, query)
	}
	var count topic.RecipientCount
	recipients := p.Recipients[channel.RecipientService()]
	for {
		page, err := recipients.Concerned(ctx, change.Organization, query)
		if err != nil {
			return count, err
		}
		ids := find.Values(page.Recipients, func(r topic.Recipient) string { return r.ID })
		for some := range slices.Chunk(ids, topic.MaxRecipients) {
			destinations, err := recipients.Resolve(ctx, change.Organization, topic.ResolveQuery{Kind: change.Kind, Channel: channel, IDs: some})
			if err != nil {
				return count, err
			}
			for i := range destinations {
				if _, code := refusal(change, &destinations[i], componentsFor(change, &destinations[i], nil), nil); code == "" {
					count.Recipients++
				}
			}
		}
		if count.Recipients > query.Limit || page.Next == "" {
			return topic.RecipientCount{Recipients: min(count.Recipients, query.Limit), More: count.Recipients > query.Limit}, nil
		}
		query.After = page.Next
	}
}
