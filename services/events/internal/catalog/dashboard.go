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
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Dashboard is a page on which components and events are shown to visitors.
type Dashboard struct {
	ID             string        `json:"id" audit:"id"`
	LegacyID       int64         `json:"legacyId" audit:"legacyId"`
	OrganizationID string        `json:"organizationId"`
	Place          int64         `json:"place"` // unique in the organization, see freePlace
	Name           string        `json:"name" audit:"name"`
	Slug           string        `json:"slug" audit:"slug"`       // unique on the installation
	Enabled        bool          `json:"enabled" audit:"enabled"` // false: the public dashboard gives 404
	Description    string        `json:"description" audit:"description"`
	Timezone       string        `json:"timezone" audit:"timezone"` // IANA
	Locale         string        `json:"locale" audit:"locale"`
	CustomDomains  []string      `json:"customDomains" audit:"customDomains"` // hosts that show it too, unique on the installation
	Branding       Branding      `json:"branding" audit:"branding"`
	Links          Links         `json:"links" audit:"links"`
	Subscriptions  Subscriptions `json:"subscriptions" audit:"subscriptions"`
	// NoIntegrations: the plan of the organization includes no endpoints, so visitors cannot subscribe any.
	NoIntegrations bool        `json:"noIntegrations"`
	SearchIndexing bool        `json:"searchIndexing" audit:"searchIndexing"`
	Access         Access      `json:"access" audit:"access"`
	Content        Content     `json:"content" audit:"content"`
	Components     []Placement `json:"components" audit:"components"` // in the wanted order
	CreatedAt      time.Time   `json:"createdAt" audit:"createdAt"`
	UpdatedAt      time.Time   `json:"updatedAt" audit:"updatedAt,quiet"`
	Version        int64       `json:"version" audit:"version,quiet"`
}

const (
	maxDashboardName = 100
	minSlug, maxSlug = 3, 63
	lowNumbers       = 10 // the attempts to number a slug before the number follows from the legacy id
	dashboardsPage   = 50 // dashboards that SetIntegrations reads at a time
)

// URL returns where visitors find the dashboard: under its own host, if it has one. base is what /d/{slug} is below.
func (d *Dashboard) URL(base string) string {
	if len(d.CustomDomains) > 0 {
		return "https://" + d.CustomDomains[0]
	}
	return base + "/d/" + d.Slug
}

// Zone returns the time zone of the dashboard; UTC for none or a zone that the system does not know.
func (d *Dashboard) Zone() *time.Location {
	zone, err := time.LoadLocation(d.Timezone)
	if err != nil || d.Timezone == "Local" {
		return time.UTC
	}
	return zone
}

func (d *Dashboard) touch(now time.Time) {
	d.UpdatedAt = now
	d.Version++
}

// CreateDashboard stores a dashboard of an organization, with every component, or returns the dashboard that an earlier
// try stored. The identity service calls it for the first dashboard, which every plan includes.
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
	if err := dashboard.check(c.platform); err != nil {
		return Dashboard{}, err
	}
	if made, err := c.insertDashboard(ctx, dashboard, math.MaxInt); !fault.Is(err, fault.Conflict) {
		return made, err
	}
	return c.Dashboard(ctx, organization, id) // an earlier try has stored it meanwhile, or it is another organization's
}

// AddDashboard stores a dashboard as fill makes it. It derives an empty slug from the name.
func (c *Catalog) AddDashboard(ctx context.Context, command Command, fill func(*Dashboard) error) (Dashboard, error) {
	dashboard := c.newDashboard(command.Organization, newID())
	if err := cmp.Or(fill(&dashboard), dashboard.check(c.platform)); err != nil {
		return Dashboard{}, err
	}
	dashboard.Access.stamp(Access{}, dashboard.CreatedAt)
	limit, err := c.others.MaxDashboards(ctx, command.Organization)
	if err != nil {
		return Dashboard{}, err
	}
	return c.insertDashboard(ctx, dashboard, limit)
}

func (c *Catalog) newDashboard(organization, id string) Dashboard {
	now := c.now()
	return Dashboard{
		ID: id, OrganizationID: organization, Enabled: true, Timezone: defaultTimezone, Locale: defaultLocale,
		CustomDomains: []string{}, Branding: Branding{Theme: defaultTheme}, Links: Links{Navigation: []NavigationLink{}},
		Subscriptions: Subscriptions{Email: true}, SearchIndexing: true, Access: Access{Mode: AccessPublic, AllowedIPs: []string{}},
		Content: newContent(), Components: []Placement{}, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// insertDashboard stores a new dashboard of an organization that may have limit dashboards. A slug that it derives from the
// name gets a number if it is taken.
func (c *Catalog) insertDashboard(ctx context.Context, dashboard Dashboard, limit int) (_ Dashboard, err error) {
	derived := dashboard.Slug == ""
	base := cmp.Or(dashboard.Slug, slugOf(dashboard.Name))
	dashboard.Slug = base
	if dashboard.Place, err = c.freePlace(ctx, dashboard.OrganizationID, limit); err != nil {
		return Dashboard{}, err
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
		slug, err := c.slugTaken(ctx, &dashboard)
		if err != nil {
			return Dashboard{}, err
		}
		host, err := c.another(ctx, &dashboard, find.Has(FieldHosts, dashboard.CustomDomains...))
		switch {
		case err != nil:
			return Dashboard{}, err
		case slug && derived:
			numbers++
			number := numbers + 1
			if numbers > lowNumbers {
				number += dashboard.LegacyID // far from the numbers of the other dashboards of this name
			}
			dashboard.Slug = numbered(base, number)
		case slug || host:
			return Dashboard{}, dashboardConflict(slug)
		default: // another dashboard has the place, or the id
			if _, err = c.store.Dashboards.Get(ctx, dashboard.ID); !fault.Is(err, fault.NotFound) {
				return Dashboard{}, cmp.Or(err, dashboardConflict(false))
			}
			if dashboard.Place, err = c.freePlace(ctx, dashboard.OrganizationID, limit); err != nil {
				return Dashboard{}, err
			}
		}
	}
}

// slugTaken reports whether another dashboard of the installation has the slug.
func (c *Catalog) slugTaken(ctx context.Context, d *Dashboard) (bool, error) {
	return c.another(ctx, d, find.Eq(FieldSlug, d.Slug))
}

// another reports whether the condition, on a unique field, matches another dashboard.
func (c *Catalog) another(ctx context.Context, d *Dashboard, condition find.Condition) (bool, error) {
	found, err := c.store.Dashboards.Find(ctx, find.Query{Where: []find.Condition{condition}, Limit: 1})
	return len(found.Items) > 0 && found.Items[0].ID != d.ID, err
}

// dashboardConflict returns the fault of a write that violates a unique index: that of slugs or that of hosts.
func dashboardConflict(slugTaken bool) error {
	if slugTaken {
		return fault.New(fault.Conflict, "slug: Another dashboard has this slug. Choose another one.")
	}
	return fault.New(fault.Conflict, "customDomains: A host belongs to another dashboard. Remove it there first.")
}

// ChangeDashboard stores what change makes of a dashboard. It stores nothing if the dashboard stays as it is.
func (c *Catalog) ChangeDashboard(ctx context.Context, command Command, id string, change func(*Dashboard) error) (Dashboard, error) {
	var wanted Dashboard
	changed, err := c.store.Dashboards.Update(ctx, id, func(d *Dashboard) ([]topic.Message, error) {
		if d.OrganizationID != command.Organization {
			return nil, NoDashboard()
		}
		if err := command.checkVersion(d.Version); err != nil {
			return nil, err
		}
		before := *d
		if err := cmp.Or(change(d), d.check(c.platform)); err != nil {
			return nil, err
		}
		if reflect.DeepEqual(before, *d) {
			return nil, fault.ErrUnchanged
		}
		d.touch(c.now())
		d.Access.stamp(before.Access, d.UpdatedAt)
		wanted = *d
		return audit.Entry(audit.From(ctx), command.Action, d.UpdatedAt, &before, d), nil
	})
	switch {
	case fault.Is(err, fault.NotFound):
		err = NoDashboard()
	case fault.Is(err, fault.Conflict) && wanted.ID != "":
		taken, failed := c.slugTaken(ctx, &wanted)
		err = cmp.Or(failed, dashboardConflict(taken))
	}
	return changed, err
}

// SetIntegrations makes the dashboards of an organization follow its plan.
func (c *Catalog) SetIntegrations(ctx context.Context, organization string, included bool) error {
	for after := ""; ; {
		page, err := c.PageOfDashboards(ctx, organization, dashboardsPage, after)
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

func NoDashboard() error { return fault.New(fault.NotFound, "There is no such dashboard.") }

var notInSlug = regexp.MustCompile("[^a-z0-9]+")

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

// numbered returns a slug with a number at its end.
func numbered(base string, number int64) string {
	suffix := "-" + strconv.FormatInt(number, 10)
	return strings.TrimRight(base[:min(len(base), maxSlug-len(suffix))], "-") + suffix
}

// Dashboard returns the organization's dashboard with the id, or NotFound.
func (c *Catalog) Dashboard(ctx context.Context, organization, id string) (Dashboard, error) {
	dashboard, err := c.store.Dashboards.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && dashboard.OrganizationID != organization {
		return Dashboard{}, NoDashboard()
	}
	return dashboard, err
}

// FirstDashboard returns the oldest dashboard of the organization, or NotFound.
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
