package audience

import (
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// RowState is the state that a subscriber has on the page from which an import takes it.
type RowState string

const (
	RowConfirmed    RowState = "confirmed"
	RowUnconfirmed  RowState = "unconfirmed"
	RowQuarantined  RowState = "quarantined"  // messages to the address came back
	RowUnsubscribed RowState = "unsubscribed" // the owner unsubscribed
)

// checkState checks State, Confirmed and ConfirmedAt of the row. By SMS it replaces RowConfirmed by RowUnconfirmed. It
// sets Confirmed to true for RowConfirmed, and for RowQuarantined with ConfirmedAt unless the channel is SMS. It sets
// Confirmed to false for RowUnsubscribed.
func (l *line) checkState(channel topic.Channel, now time.Time) error {
	row := &l.row
	switch {
	case row.State != "" && !slices.Contains([]RowState{RowConfirmed, RowUnconfirmed, RowQuarantined, RowUnsubscribed}, row.State):
		return fault.Field("state", "must be confirmed, unconfirmed, quarantined or unsubscribed")
	case row.State != "" && row.Confirmed != nil:
		return fault.Field("confirmed", "must not be sent beside state")
	case row.ConfirmedAt != nil && row.ConfirmedAt.After(now):
		return fault.Field("confirmedAt", "must not be in the future")
	case row.ConfirmedAt != nil && row.ConfirmedAt.Unix() < 0:
		return fault.Field("confirmedAt", "must not be before 1970")
	}
	if row.ConfirmedAt != nil {
		row.ConfirmedAt = new(row.ConfirmedAt.UTC().Truncate(time.Millisecond))
	}
	if row.State == RowConfirmed && channel == topic.SMS {
		row.State = RowUnconfirmed // messages come from a new number
	}
	switch {
	case row.State == RowConfirmed, row.State == RowQuarantined && row.ConfirmedAt != nil && channel != topic.SMS:
		row.Confirmed = new(true)
	case row.State == RowUnsubscribed:
		row.Confirmed = new(false)
	}
	return nil
}

// suppression returns the suppression that the row asks for, or nil.
func (l *line) suppression(now time.Time) *Suppression {
	switch l.row.State {
	case RowQuarantined:
		return &Suppression{Reason: Bounce, At: now}
	case RowUnsubscribed:
		return &Suppression{Reason: OptedOut, At: now}
	}
	return nil
}

// suppress suppresses the stored addresses of the lines for which suppression does not return nil. An address whose
// suppression a member or the owner has ended is not suppressed again, because an import may be repeated.
func (i *importing) suppress(ctx context.Context, lines []*line) error {
	id := importID(lines)
	return together(lines, func(l *line) (err error) {
		wanted := l.suppression(i.a.Now())
		if wanted == nil || l.address.Suppression != nil || l.address.ClearedAt != nil {
			return nil
		}
		wanted.ImportID = id
		l.address, err = i.a.Store.Addresses.Change(ctx, l.address.ID, func(address *Address) error {
			if address.Suppression != nil || address.ClearedAt != nil || address.Removed {
				return fault.ErrUnchanged
			}
			address.Suppression = wanted
			return nil
		})
		return err
	})
}

// setAside returns the lines that the import stores, and sets the results of the others. It sets aside unconfirmed
// subscribers, unless the import asks them, and those who unsubscribed on the former page but have confirmed a subscription
// here or whose suppression was ended here. The result of such a row is Refused, or Updated if the subscriber is stored. A
// stored subscriber does not change.
func (i *importing) setAside(ctx context.Context, organization string, lines []*line) ([]*line, error) {
	var candidates []*line
	for _, l := range lines {
		if l.row.State == RowUnconfirmed && !i.asks || l.row.State == RowUnsubscribed {
			candidates = append(candidates, l)
		}
	}
	if len(candidates) == 0 {
		return lines, nil
	}
	if _, err := i.find(ctx, organization, candidates); err != nil {
		return nil, err
	}
	stored := slices.DeleteFunc(slices.Clone(candidates), func(l *line) bool { return l.address.ID == "" })
	known, err := i.known(ctx, stored)
	if err != nil {
		return nil, err
	}
	confirmed, err := i.confirmedOwners(ctx, stored)
	if err != nil {
		return nil, err
	}
	aside := map[*line]bool{}
	for _, l := range candidates {
		why := "The owner has not confirmed the address. Import the row with sendConfirmations to ask for it."
		if i.channel == topic.SMS {
			why = "The owner must confirm first, because texts come from a new number. Import the row with sendConfirmations to ask for it."
		}
		if l.row.State == RowUnsubscribed {
			why = "The owner unsubscribed, but has confirmed another subscription here. So the address is not suppressed."
			if !confirmed[l.address.ID] && l.address.ClearedAt == nil {
				continue
			}
		}
		aside[l] = true
		i.results[l.at] = Result{Status: Refused, Error: why}
		if l.address.ID == "" {
			continue
		}
		if s, is := known[l.subscriber()]; is && !s.Gone() {
			i.results[l.at] = Result{Status: Updated, ID: s.ID}
		}
	}
	return slices.DeleteFunc(lines, func(l *line) bool { return aside[l] }), nil
}

// confirmedOwners returns the ids of those addresses of the lines that have a confirmed subscription on another dashboard,
// or one on this dashboard that no import has created or that the owner has confirmed here.
func (i *importing) confirmedOwners(ctx context.Context, lines []*line) (map[string]bool, error) {
	confirmed := map[string]bool{}
	ids := find.Values(lines, func(l *line) string { return l.address.ID })
	for some := range slices.Chunk(ids, find.MaxMerged) {
		found, err := i.a.Store.Subscribers.Find(ctx, find.Query{Where: []find.Condition{find.In(FieldAddress, some...)}})
		if err != nil {
			return nil, err
		}
		for _, s := range found.Items {
			if (s.DashboardID != i.dashboard.ID || s.Source != FromImport || s.OwnConfirmed) && slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Confirmed }) {
				confirmed[s.AddressID] = true
			}
		}
	}
	return confirmed, nil
}
