package catalog

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Removals is the record of the dashboards that an organization has decided to remove. All removals of an organization
// write this one record, so that concurrent removals cannot remove the last dashboard.
type Removals struct {
	OrganizationID string   `json:"organizationId"`
	DashboardIDs   []string `json:"dashboardIds"`
}

// DeleteDashboard deletes a dashboard. It returns a Conflict for the last dashboard of the organization. It only adds the
// id to Removals. After this write, the store calls RemovalsWritten, which deletes the record of the dashboard. The store
// makes this call also after a crash.
func (c *Catalog) DeleteDashboard(ctx context.Context, command Command, id string) error {
	_, err := c.store.Removals.Upsert(ctx, command.Organization, func(r *Removals, _ bool) ([]topic.Message, error) {
		// A dashboard that is created after this read only increases the number of dashboards that are left. A dashboard
		// that is deleted after this read is in r.DashboardIDs already.
		found, err := c.store.Dashboards.Find(ctx, owned(command.Organization, find.Query{}))
		if err != nil {
			return nil, err
		}
		at, left := -1, 0
		r.OrganizationID = command.Organization
		r.DashboardIDs = slices.DeleteFunc(r.DashboardIDs, func(gone string) bool {
			return !slices.ContainsFunc(found.Items, func(d Dashboard) bool { return d.ID == gone })
		})
		for i := range found.Items {
			if slices.Contains(r.DashboardIDs, found.Items[i].ID) {
				continue
			}
			left++
			if found.Items[i].ID == id {
				at = i
			}
		}
		if at < 0 {
			return nil, NoDashboard()
		}
		if err := command.checkVersion(found.Items[at].Version); err != nil {
			return nil, err
		}
		if left == 1 {
			return nil, fault.New(fault.Conflict, "This is the last dashboard of your organization. Create another one first.")
		}
		r.DashboardIDs = append(r.DashboardIDs, id)
		return audit.Entry(audit.From(ctx), command.Action, c.now(), &found.Items[at], nil), nil
	})
	return err
}

// RemovalsWritten deletes the dashboards that Removals names. Each deletion publishes topic.DashboardDeleted.
func (c *Catalog) RemovalsWritten(ctx context.Context, current *Removals) error {
	if current == nil {
		return nil
	}
	for _, id := range current.DashboardIDs {
		err := c.store.Dashboards.Delete(ctx, id, func(d *Dashboard) ([]topic.Message, error) {
			return []topic.Message{topic.DashboardDeleted{Organization: d.OrganizationID, DashboardID: d.ID, OccurredAt: c.now()}}, nil
		})
		if fault.UnlessMissing(err) != nil {
			return err
		}
	}
	return nil
}
