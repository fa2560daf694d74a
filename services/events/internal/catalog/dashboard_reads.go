package catalog

import (
	"context"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

func NoDashboard() error { return fault.New(fault.NotFound, "There is no such dashboard.") }

// Dashboard returns the organization's dashboard with the id, or NotFound.
func (c *Catalog) Dashboard(ctx context.Context, organization, id string) (Dashboard, error) {
	dashboard, err := c.store.Dashboards.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && dashboard.OrganizationID != organization {
		return Dashboard{}, NoDashboard()
	}
	return dashboard, err
}

// FirstDashboard returns the oldest dashboard of the organization, or NotFound if it has none.
func (c *Catalog) FirstDashboard(ctx context.Context, organization string) (Dashboard, error) {
	page, err := c.PageOfDashboards(ctx, organization, 1, "")
	if err == nil && len(page.Items) == 0 {
		err = NoDashboard()
	}
	if err != nil {
		return Dashboard{}, err
	}
	return page.Items[0], nil
}

// DashboardsByID returns the organization's dashboards with the ids, in the order of the ids.
func (c *Catalog) DashboardsByID(ctx context.Context, organization string, ids []string) ([]Dashboard, error) {
	found, err := c.store.Dashboards.GetMany(ctx, ids)
	return slices.DeleteFunc(found, func(d Dashboard) bool { return d.OrganizationID != organization }), err
}

func (c *Catalog) PageOfDashboards(ctx context.Context, organization string, limit int, after string) (find.Page[Dashboard], error) {
	return c.store.Dashboards.Find(ctx, owned(organization, find.Query{Limit: limit, After: after}))
}
