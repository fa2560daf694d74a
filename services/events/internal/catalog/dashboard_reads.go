package catalog

import (
	"context"
	"slices"
	"unicode/utf8"

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
	page, err := c.PageOfDashboards(ctx, organization, DashboardFilter{}, 1, "")
	if err == nil && len(page.Items) == 0 {
		err = NoDashboard()
	}
	if err != nil {
		return Dashboard{}, err
	}
	return page.Items[0], nil
}

// DashboardsByID returns the organization's dashboards with the ids, in the order of ids. It omits unknown ids.
func (c *Catalog) DashboardsByID(ctx context.Context, organization string, ids []string) ([]Dashboard, error) {
	found, err := c.store.Dashboards.GetMany(ctx, ids)
	return slices.DeleteFunc(found, func(d Dashboard) bool { return d.OrganizationID != organization }), err
}

// DashboardFilter selects the dashboards of a list. A zero field does not filter. At most one field is not zero.
type DashboardFilter struct {
	Text     string // words or parts of words, each of which must be in the name or the slug; case does not matter
	LegacyID int64
}

// PageOfDashboards returns a page of dashboards, in the order of their creation. after is Next of the previous page, or
// empty.
func (c *Catalog) PageOfDashboards(ctx context.Context, organization string, filter DashboardFilter, limit int, after string) (find.Page[Dashboard], error) {
	if utf8.RuneCountInString(filter.Text) > maxSearched {
		return find.Page[Dashboard]{}, fault.Field("q", "must be at most %d characters", maxSearched)
	}
	query := owned(organization, find.Query{Limit: limit, After: after})
	if filter.LegacyID != 0 {
		query.Where = append(query.Where, find.Eq(FieldLegacyID, filter.LegacyID))
	}
	if filter.Text == "" {
		return c.store.Dashboards.Find(ctx, query)
	}
	text := soughtIn(filter.Text)
	keys, next, err := searchKeys(ctx, c.store.Dashboards, query, limit, func(row find.Row) bool {
		name, _ := row.Values[0].(string)
		slug, _ := row.Values[1].(string)
		return text.in(find.Fold(name + "\n" + slug))
	}, fieldName, FieldSlug)
	if err != nil {
		return find.Page[Dashboard]{}, err
	}
	dashboards, err := c.store.Dashboards.GetMany(ctx, keys)
	return find.Page[Dashboard]{Items: dashboards, Next: next}, err
}
