package catalog

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// CreateDashboard stores a dashboard with all components of the organization. If an earlier try has stored a dashboard
// with the id, CreateDashboard returns that dashboard. The identity service creates the first dashboard of an organization
// in this way. Every plan includes one dashboard, so the limit is not checked.
func (c *Catalog) CreateDashboard(ctx context.Context, organization, id, name string) (Dashboard, error) {
	if made, err := c.Dashboard(ctx, organization, id); !fault.Is(err, fault.NotFound) {
		return made, err
	}
	components, err := c.ComponentsWhere(ctx, organization, nil)
	if err != nil {
		return Dashboard{}, err
	}
	dashboard := c.newDashboard(organization, id)
	dashboard.Name = strings.TrimSpace(name)
	for i, component := range components {
		dashboard.Components = append(dashboard.Components, Placement{ComponentID: component.ID, Position: int64(i)})
	}
	if err := dashboard.check(c.platform, new(Dashboard)); err != nil {
		return Dashboard{}, err
	}
	if made, err := c.insertDashboard(ctx, dashboard, math.MaxInt); !fault.Is(err, fault.Conflict) {
		return made, err
	}
	return c.Dashboard(ctx, organization, id) // an earlier try has stored the dashboard meanwhile; NotFound: the id is in use in another organization
}

// AddDashboard stores a new dashboard whose fields fill sets. If fill sets no slug, the slug is derived from the name.
// AddDashboard returns a Conflict if the organization already has as many dashboards as MaxDashboards allows.
func (c *Catalog) AddDashboard(ctx context.Context, command Command, fill func(*Dashboard) error) (Dashboard, error) {
	dashboard := c.newDashboard(command.Organization, topic.NewID())
	if err := cmp.Or(fill(&dashboard), dashboard.check(c.platform, new(Dashboard))); err != nil {
		return Dashboard{}, err
	}
	limit, err := c.others.MaxDashboards(ctx, command.Organization)
	if err != nil {
		return Dashboard{}, err
	}
	return c.insertDashboard(ctx, dashboard, limit)
}

// CheckDashboard checks the settings of d as ChangeDashboard checks a change from former to d. It does not check whether
// another dashboard has the slug, a host or a public id of d.
func (c *Catalog) CheckDashboard(d, former *Dashboard) error { return d.check(c.platform, former) }

func (c *Catalog) newDashboard(organization, id string) Dashboard {
	now := c.now()
	return Dashboard{
		ID: id, OrganizationID: organization, Enabled: true, Timezone: defaultTimezone, Locale: defaultLocale,
		CustomDomains: []string{}, Branding: Branding{Theme: defaultTheme}, Links: Links{Navigation: []NavigationLink{}},
		Subscriptions: Subscriptions{Email: true}, SearchIndexing: true, Access: Access{Mode: AccessPublic, AllowedIPs: []string{}},
		Content: newContent(), Components: []Placement{}, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// insertDashboard stores a new dashboard of an organization that may have limit dashboards. If the dashboard has no
// slug, insertDashboard derives one from the name, and appends a number if that slug is taken.
func (c *Catalog) insertDashboard(ctx context.Context, dashboard Dashboard, limit int) (_ Dashboard, err error) {
	derived := dashboard.Slug == ""
	base := cmp.Or(dashboard.Slug, slugOf(dashboard.Name))
	dashboard.Slug = base
	if dashboard.Place, err = freePlace(ctx, c.store.Dashboards, dashboard.OrganizationID, limit, "dashboards"); err != nil {
		return Dashboard{}, err
	}
	if password := dashboard.Access.password; password != "" {
		if dashboard.Access.PasswordHash, err = hashPassword(ctx, password); err != nil {
			return Dashboard{}, err
		}
		dashboard.Access.password = ""
		dashboard.Access.stamp(Access{}, dashboard.CreatedAt)
	}
	if dashboard.LegacyID, err = c.store.Next(ctx, dashboardIDs, 1); err != nil {
		return Dashboard{}, err
	}
	for numbers := int64(0); ; {
		entry := audit.Entry(audit.From(ctx), "", dashboard.CreatedAt, nil, &dashboard)
		err = c.store.Dashboards.Insert(ctx, dashboard, entry...)
		if !fault.Is(err, fault.Conflict) {
			return dashboard, err
		}
		slug, err := c.another(ctx, &dashboard, find.Eq(FieldSlug, dashboard.Slug))
		if err != nil {
			return Dashboard{}, err
		}
		taken := c.taken(ctx, &dashboard)
		switch {
		case slug && derived:
			numbers++
			number := numbers + 1
			if numbers > lowNumbers {
				number += dashboard.LegacyID // other dashboards with this name rarely have this number
			}
			dashboard.Slug = numbered(base, number)
		case taken != nil:
			return Dashboard{}, taken
		default: // another dashboard has the place or the id
			if _, err = c.store.Dashboards.Get(ctx, dashboard.ID); !fault.Is(err, fault.NotFound) {
				return Dashboard{}, cmp.Or(err, error(fault.New(fault.Conflict, "There is a dashboard with this id.")))
			}
			if dashboard.Place, err = freePlace(ctx, c.store.Dashboards, dashboard.OrganizationID, limit, "dashboards"); err != nil {
				return Dashboard{}, err
			}
		}
	}
}

// taken returns a Conflict if another dashboard has the slug or a host of d, or if another dashboard of the organization
// has a public id of d or of its groups. It returns nil if nothing is taken.
func (c *Catalog) taken(ctx context.Context, d *Dashboard) error {
	own := find.Eq(FieldOrganization, d.OrganizationID)
	for _, of := range []struct {
		where   []find.Condition
		problem string
	}{
		{[]find.Condition{find.Eq(FieldSlug, d.Slug)}, "slug: Another dashboard has this slug. Choose another one."},
		{[]find.Condition{find.Has(FieldHosts, d.CustomDomains...)}, "customDomains: A host belongs to another dashboard. Remove it there first."},
		{[]find.Condition{own, find.Eq(FieldPublicID, d.PublicID)}, "publicId: Another dashboard has this id. Remove it there first."},
		{[]find.Condition{own, find.Has(FieldGroupIDs, d.GroupIDs()...)}, "groupPublicIds: A group of another dashboard has one of the ids. Remove it there first."},
	} {
		if is, err := c.another(ctx, d, of.where...); is || err != nil {
			return cmp.Or(err, error(fault.New(fault.Conflict, "%s", of.problem)))
		}
	}
	return nil
}

// another reports whether a dashboard other than d matches the conditions, which are on a unique index.
func (c *Catalog) another(ctx context.Context, d *Dashboard, where ...find.Condition) (bool, error) {
	found, err := c.store.Dashboards.Find(ctx, find.Query{Where: where, Limit: 2})
	return slices.ContainsFunc(found.Items, func(other Dashboard) bool { return other.ID != d.ID }), err
}

// ChangeDashboard applies change to a dashboard and stores the result. It stores nothing if change makes no difference.
func (c *Catalog) ChangeDashboard(ctx context.Context, command Command, id string, change func(*Dashboard) error) (Dashboard, error) {
	var wanted Dashboard
	var password, hash string
	write := func(d *Dashboard) ([]topic.Message, error) {
		if d.OrganizationID != command.Organization {
			return nil, NoDashboard()
		}
		if err := command.checkVersion(d.Version); err != nil {
			return nil, err
		}
		before := *d
		if err := cmp.Or(change(d), d.check(c.platform, &before)); err != nil {
			return nil, err
		}
		if password = d.Access.password; password != "" {
			if hash == "" {
				return nil, fault.ErrUnchanged // the password is hashed before the next try, and not while other writes wait
			}
			d.Access.password, d.Access.PasswordHash = "", hash
		}
		if reflect.DeepEqual(before, *d) {
			return nil, fault.ErrUnchanged
		}
		d.dropProofs()
		d.touch(c.now())
		d.Access.stamp(before.Access, d.UpdatedAt)
		wanted = *d
		return audit.Entry(audit.From(ctx), command.Action, d.UpdatedAt, &before, d), nil
	}
	changed, err := c.store.Dashboards.Update(ctx, id, write)
	if err == nil && password != "" {
		if hash, err = hashPassword(ctx, password); err != nil {
			return Dashboard{}, err
		}
		changed, err = c.store.Dashboards.Update(ctx, id, write)
	}
	switch {
	case fault.Is(err, fault.NotFound):
		err = NoDashboard()
	case fault.Is(err, fault.Conflict) && wanted.ID != "":
		err = cmp.Or(c.taken(ctx, &wanted), err)
	}
	return changed, err
}

// SetIntegrations sets NoIntegrations on all dashboards of an organization. included is whether the plan includes
// integrations.
func (c *Catalog) SetIntegrations(ctx context.Context, organization string, included bool) error {
	for after := ""; ; {
		page, err := c.PageOfDashboards(ctx, organization, DashboardFilter{}, dashboardsPage, after)
		if err != nil {
			return err
		}
		for _, dashboard := range page.Items {
			_, err := c.store.Dashboards.Update(ctx, dashboard.ID, func(d *Dashboard) ([]topic.Message, error) {
				if d.NoIntegrations == !included {
					return nil, fault.ErrUnchanged
				}
				d.NoIntegrations = !included
				return nil, nil
			})
			if fault.UnlessMissing(err) != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

func slugOf(name string) string {
	text := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	text = strings.Trim(text[:min(len(text), maxSlug)], "-")
	switch {
	case text == "":
		return "status"
	case len(text) < minSlug:
		return text + "-status"
	}
	return text
}

var notInSlug = regexp.MustCompile("[^a-z0-9]+")

// numbered returns the slug base, shortened if necessary, with a number at its end.
func numbered(base string, number int64) string {
	suffix := "-" + strconv.FormatInt(number, 10)
	return strings.TrimRight(base[:min(len(base), maxSlug-len(suffix))], "-") + suffix
}

// DashboardWritten renders the page of a dashboard. If current is nil, the dashboard was deleted, and DashboardWritten
// withdraws its page and deletes its aliases.
func (c *Catalog) DashboardWritten(ctx context.Context, id string, current *Dashboard) error {
	if current == nil {
		return cmp.Or(c.published.Withdraw(ctx, id), c.dropAliases(ctx, id))
	}
	return c.published.Follow(ctx, []string{id}, Written{Dashboard: true})
}
