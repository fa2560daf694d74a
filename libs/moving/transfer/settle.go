package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// Settle returns the outcomes of records that a run was about to create and that exist now, because the run was interrupted
// after it had created them and has no outcomes for them. planned are outcomes of Plan with the status Created. written are the
// outcomes of Write, which name the dashboards that the run has created. Undo needs the result of Settle and written.
func (e *Engine) Settle(ctx context.Context, planned []Outcome, written ...Outcome) ([]Outcome, error) {
	made := map[string]string{} // by key, the ids of the dashboards that the run has created
	for _, o := range written {
		if o.Kind == "dashboard" && o.Status == Created {
			made[o.Key] = o.ID
		}
	}
	byKind := map[string][]Outcome{}
	for _, o := range planned {
		byKind[o.Kind] = append(byKind[o.Kind], o)
	}
	var found []Outcome
	if wanted := byKind["dashboard"]; len(wanted) > 0 {
		known, err := dashboardsBySlug(ctx, e.Sender)
		if err != nil {
			return nil, err
		}
		for _, o := range wanted {
			if d, there := known[o.Find]; there {
				o.ID, o.Mark = d.text("id"), d.mark()
				made[o.Key] = o.ID
				found = append(found, o)
			}
		}
	}
	if wanted := byKind["component"]; len(wanted) > 0 {
		all, err := allComponents(ctx, e.Sender)
		if err != nil {
			return nil, err
		}
		known := byRef(all)
		for _, o := range wanted {
			if c := known[o.Key]; c != nil {
				o.ID, o.Mark = c.ID, c.mark()
				found = append(found, o)
			}
		}
	}
	for _, kind := range []string{"endpoint", "placement", "subscriber", "alias"} {
		for i := range byKind[kind] {
			o := &byKind[kind][i]
			o.DashboardID = cmp.Or(o.DashboardID, made[o.Dashboard])
		}
	}
	for _, o := range byKind["endpoint"] {
		if o.DashboardID == "" { // the run has not created the dashboard
			continue
		}
		there, err := e.endpointOf(ctx, o.Channel, o.DashboardID, o.Find)
		if err != nil {
			return nil, err
		}
		if there != nil {
			o.ID, o.Mark = o.Find, there.mark()
			found = append(found, o)
		}
	}
	placements, err := e.settlePlacements(ctx, byKind["placement"])
	if err != nil {
		return nil, err
	}
	found = append(found, placements...)
	subscribers, err := e.settleSubscribers(ctx, byKind["subscriber"])
	for _, o := range byKind["alias"] {
		if o.DashboardID != "" && o.Mark != ofNewComponent { // such an alias is deleted with its component
			found = append(found, o) // without a read, because Undo may delete an alias that is missing
		}
	}
	return append(found, subscribers...), err
}

// settlePlacements returns the planned placements whose component is on the dashboard now.
func (e *Engine) settlePlacements(ctx context.Context, planned []Outcome) (found []Outcome, err error) {
	r, read := run{Engine: e}, map[string]settings{}
	for _, o := range planned {
		if o.DashboardID == "" { // the run has not created the dashboard
			continue
		}
		d, known := read[o.DashboardID]
		if !known {
			if d, err = r.dashboard(ctx, o.DashboardID); err != nil && !isMissing(err) {
				return nil, err
			}
			read[o.DashboardID] = d
		}
		if group, there := d.groupOf(o.ID); there {
			o.Mark = group
			found = append(found, o)
		}
	}
	return found, nil
}

func (e *Engine) settleSubscribers(ctx context.Context, planned []Outcome) (found []Outcome, err error) {
	type list struct{ channel, dashboard string }
	wanted := map[list]map[string]Outcome{}
	for _, o := range planned {
		if of := (list{o.Channel, o.DashboardID}); o.DashboardID != "" {
			if wanted[of] == nil {
				wanted[of] = map[string]Outcome{}
			}
			wanted[of][o.Find] = o
		}
	}
	for of, outcomes := range wanted {
		err := each(ctx, e.Sender, "/app/subscribers/"+of.channel, "subscribers", url.Values{"dashboardId": {of.dashboard}}, func(s subscriber) error {
			if o, planned := outcomes[addressMark(of.channel, s.Email+s.Phone)]; planned {
				o.ID = s.ID
				found = append(found, o)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// addressMark returns a digest of an address, so that no file of outcomes needs the address.
func addressMark(channel, address string) string {
	sum := sha256.Sum256([]byte(channel + ":" + address))
	return hex.EncodeToString(sum[:16])
}
