package api

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

func (a api) dashboardOperations() []web.Operation {
	readers, writers := []string{passport.RoleEvent, passport.RoleSubscriber}, []string{passport.RoleAdmin}
	const one = `{"dashboard": ` + dashboardExample + `}`
	list := operation("dashboards", readers, "GET", "", "listDashboards", "List dashboards", "In the order of their creation. With q a page can have fewer dashboards than limit, or none, and still a nextToken.", 200)
	list.Versioned, list.Example.Response = false, `{"dashboards": [`+dashboardExample+`], "nextToken": null}`
	create := operation("dashboards", writers, "POST", "", "createDashboard", "Create a dashboard",
		"The plan of the organization limits the number of dashboards.", 201, 409)
	create.Example = web.Example{Response: one,
		Request: `{"name": "Acme", "slug": "acme", "timezone": "Europe/Berlin", "components": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061"}]}`}
	get := operation("dashboards", readers, "GET", "/{id}", "getDashboard", "Get a dashboard", "", 200)
	get.Example.Response = one
	change := operation("dashboards", writers, "PATCH", "/{id}", "changeDashboard", "Change a dashboard",
		"At least one member is required. branding, links, access and groupPublicIds are replaced whole; of subscriptions only the sent channels change.", 200, 409)
	change.Example = web.Example{Response: one,
		Request: `{"enabled": true, "branding": {"primaryColor": "#1a73e8"}, "subscriptions": {"webhook": true}, "access": {"mode": "public"}}`}
	remove := operation("dashboards", writers, "DELETE", "/{id}", "deleteDashboard", "Delete a dashboard",
		"The subscribers and endpoints of the dashboard are deleted with it. The last dashboard of an organization cannot be deleted.", 204, 409)
	place := operation("dashboards", writers, "PUT", "/{id}/components", "replaceDashboardComponents", "Replace the components of a dashboard",
		"The dashboard shows these components, in this order, and no others. The order of the array decides, not position.", 200)
	place.Example = web.Example{Request: `{"components": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "groupName": "default"}]}`, Response: one}
	return append([]web.Operation{
		web.Declare(list, a.listDashboards), web.Declare(create, web.WithBody(a.createDashboard)), web.Declare(get, a.getDashboard),
		web.Declare(change, a.changeDashboard), web.Declare(remove, a.deleteDashboard), web.Declare(place, a.replaceDashboardComponents),
	}, slices.Concat(a.contentOperations(readers, writers), a.aliasOperations(writers), a.previewOperations(readers))...)
}

const dashboardExample = `{"id": "01890a5d-ac96-774b-bcce-b302099a8060", "legacyId": 1, "publicId": "kctbh9vrtdwd", "groupPublicIds": {"Core": "4hlkm5xd7zrw"}, "name": "Acme", "slug": "acme",
	"url": "https://status.example.com", "enabled": true, "description": "", "timezone": "Europe/Berlin", "locale": "en",
	"customDomains": ["status.example.com"], "domains": [{"host": "status.example.com", "verified": true, "txt": null}],
	"branding": {"logoUrl": "https://example.com/logo.svg", "faviconUrl": null, "primaryColor": "#1a73e8", "theme": "auto"},
	"links": {"homepageUrl": "https://example.com", "supportUrl": "mailto:help@example.com", "navigation": [{"text": "Docs", "href": "https://docs.example.com"}]},
	"subscriptions": {"email": true, "sms": false, "whatsapp": false, "webhook": true, "teams": false, "gchat": false, "slack": false, "discord": false},
	"searchIndexing": true, "access": {"mode": "public", "passwordSet": false, "allowedIps": []},
	"components": [{"componentId": "01890a5d-ac96-774b-bcce-b302099a8061", "name": "Checkout", "groupName": "default", "position": 0}],
	"indicator": "none", "createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "version": 1}`

type dashboardView struct {
	ID             string                `json:"id" format:"uuid"`
	LegacyID       int64                 `json:"legacyId"`
	PublicID       *string               `json:"publicId" description:"The id of the page in api/v2 and in webhooks of the format statuspage. Null: that of id."`
	GroupPublicIDs map[string]string     `json:"groupPublicIds" description:"The ids of groups in api/v2, by the names of the groups. That of another group is computed from its name."`
	Name           string                `json:"name"`
	Slug           string                `json:"slug"`
	URL            string                `json:"url" format:"uri" description:"Where visitors find the dashboard."`
	Enabled        bool                  `json:"enabled" description:"False: the public dashboard gives 404."`
	Description    string                `json:"description"`
	Timezone       string                `json:"timezone"`
	Locale         string                `json:"locale"`
	CustomDomains  []string              `json:"customDomains"`
	Domains        []domainView          `json:"domains" description:"The custom domains, in their order."`
	Branding       brandingView          `json:"branding"`
	Links          linksView             `json:"links"`
	Subscriptions  catalog.Subscriptions `json:"subscriptions" description:"The channels that visitors may use."`
	SearchIndexing bool                  `json:"searchIndexing"`
	Access         accessView            `json:"access"`
	Components     []placementView       `json:"components" description:"In the order in which visitors see them."`
	Indicator      edition.Indicator     `json:"indicator" enum:"none,minor,major,critical,maintenance" description:"The present state, as visitors see it."`
	CreatedAt      web.Time              `json:"createdAt"`
	UpdatedAt      web.Time              `json:"updatedAt"`
	Version        int64                 `json:"version"`
}

type placementView struct {
	ComponentID string `json:"componentId" format:"uuid"`
	Name        string `json:"name" description:"The name of the component."`
	GroupName   string `json:"groupName"`
	Position    int64  `json:"position"`
}

type dashboardsView struct {
	Dashboards []dashboardView `json:"dashboards"`
	NextToken  *string         `json:"nextToken"`
}

type dashboardListParameters struct {
	web.Paging
	Text *string `query:"q" maxLength:"255" description:"Words of the name or the slug, or parts of them, in any order and case."`
	legacyIDParameter
}

// legacyIDParameter is the filter of a list by the id that a record has in the legacy interface.
type legacyIDParameter struct {
	LegacyID *int `query:"legacyId" minimum:"1" maximum:"9007199254740991" description:"The record with this id of the legacy interface. No other filter can be sent with it."`
}

// alone returns a fault if legacyId was sent with other filters. others reports whether other filters were sent.
func (p legacyIDParameter) alone(others bool) error {
	if p.LegacyID != nil && others {
		return fault.Field("legacyId", "must not be sent with other filters")
	}
	return nil
}

func (a api) listDashboards(c *web.Call[dashboardListParameters, web.None]) (dashboardsView, error) {
	asked := c.Parameters
	after, err := a.Pages.Position(c.List, asked.Paging)
	if err == nil {
		err = asked.alone(asked.Text != nil)
	}
	if err != nil {
		return dashboardsView{}, err
	}
	filter := catalog.DashboardFilter{Text: optional.OrZero(asked.Text), LegacyID: int64(optional.OrZero(asked.LegacyID))}
	page, err := a.catalog.PageOfDashboards(c, c.Caller.Organization, filter, asked.Limit, after)
	if err != nil {
		return dashboardsView{}, err
	}
	views, err := a.viewDashboards(c, c.Caller.Organization, page.Items)
	return dashboardsView{views, a.Pages.Token(c.List, page.Next)}, err
}

type dashboardParameters struct {
	ID string `path:"id" format:"uuid" record:"dashboard"`
}

type oneDashboardView struct {
	Dashboard dashboardView `json:"dashboard"`
}

// RecordVersion implements web.Versioned.
func (v oneDashboardView) RecordVersion() int64 { return v.Dashboard.Version }

func (a api) getDashboard(c *web.Call[dashboardParameters, web.None]) (oneDashboardView, error) {
	dashboard, err := a.catalog.Dashboard(c, c.Caller.Organization, c.Parameters.ID)
	return a.oneDashboard(c, c.Caller.Organization, dashboard, err)
}

type newDashboardBody struct {
	dashboardPatch
	Name       optional.Value[string]          `json:"name" required:"true" minLength:"1" maxLength:"100"`
	Components optional.Value[[]placementBody] `json:"components" description:"None if absent."`
}

func (a api) createDashboard(c *web.Call[web.None, newDashboardBody], in newDashboardBody) (oneDashboardView, error) {
	dashboard, err := a.catalog.AddDashboard(c, appCommand(c), func(d *catalog.Dashboard) (err error) {
		d.Name, d.NoIntegrations = in.Name.Value, !c.Caller.Features.Integrations
		if err := in.apply(d); err != nil {
			return err
		}
		d.Components, err = a.catalog.Place(c, c.Caller.Organization, nil, placements(in.Components.Value))
		return err
	})
	return a.oneDashboard(c, c.Caller.Organization, dashboard, err)
}

type dashboardChanges struct {
	dashboardPatch
	Name optional.Value[string] `json:"name" minLength:"1" maxLength:"100"`
}

func (a api) changeDashboard(c *web.Call[dashboardParameters, dashboardChanges]) (oneDashboardView, error) {
	dashboard, err := a.catalog.ChangeDashboard(c, appCommand(c), c.Parameters.ID, func(d *catalog.Dashboard) error {
		in, err := c.Body()
		if err := cmp.Or(err, checkSent(in)); err != nil {
			return err
		}
		optional.Assign(&d.Name, in.Name.Pointer())
		return in.apply(d)
	})
	return a.oneDashboard(c, c.Caller.Organization, dashboard, err)
}

func (a api) deleteDashboard(c *web.Call[dashboardParameters, web.None]) (web.None, error) {
	return web.None{}, a.catalog.DeleteDashboard(c, appCommand(c), c.Parameters.ID)
}

type placementBody struct {
	ComponentID optional.Value[string] `json:"componentId" required:"true" format:"uuid"`
	GroupName   optional.Value[string] `json:"groupName" maxLength:"100" description:"The group on this dashboard; the component's own if absent or empty."`
	Position    optional.Value[int64]  `json:"position" description:"Is ignored: the order of the array decides."`
}

type dashboardComponentsBody struct {
	Components optional.Value[[]placementBody] `json:"components" required:"true"`
}

func (a api) replaceDashboardComponents(c *web.Call[dashboardParameters, dashboardComponentsBody]) (oneDashboardView, error) {
	dashboard, err := a.catalog.ReplacePlacements(c, appCommand(c), c.Parameters.ID, func() ([]catalog.Placement, error) {
		in, err := c.Body()
		return placements(in.Components.Value), err
	})
	return a.oneDashboard(c, c.Caller.Organization, dashboard, err)
}

func placements(sent []placementBody) []catalog.Placement {
	return find.Values(sent, func(placement placementBody) catalog.Placement {
		return catalog.Placement{ComponentID: placement.ComponentID.Value, GroupName: placement.GroupName.Value}
	})
}

// oneDashboard returns the response with the view of a dashboard, or err if it is not nil.
func (a api) oneDashboard(ctx context.Context, organization string, d catalog.Dashboard, err error) (oneDashboardView, error) {
	if err != nil {
		return oneDashboardView{}, err
	}
	views, err := a.viewDashboards(ctx, organization, []catalog.Dashboard{d})
	if err != nil {
		return oneDashboardView{}, err
	}
	return oneDashboardView{views[0]}, nil
}

func (a api) viewDashboards(ctx context.Context, organization string, dashboards []catalog.Dashboard) ([]dashboardView, error) {
	components, err := a.catalog.ComponentsOn(ctx, organization, dashboards)
	if err != nil {
		return nil, err
	}
	indicators, err := a.editions.Indicators(ctx, dashboards)
	return find.Values(dashboards, func(d catalog.Dashboard) dashboardView { return a.viewDashboard(&d, components, indicators[d.ID]) }), err
}

func (a api) viewDashboard(d *catalog.Dashboard, components map[string]catalog.Component, indicator edition.Indicator) dashboardView {
	view := dashboardView{
		ID: d.ID, LegacyID: d.LegacyID, PublicID: optional.OrNull(d.PublicID), GroupPublicIDs: map[string]string{}, Name: d.Name, Slug: d.Slug, URL: a.Addresses.URL(d), Enabled: d.Enabled,
		Description: d.Description, Timezone: d.Timezone, Locale: d.Locale, CustomDomains: append([]string{}, d.CustomDomains...), Domains: a.viewDomains(d),
		Branding: viewBranding(d.Branding), Links: viewLinks(d.Links), Subscriptions: d.Subscriptions,
		SearchIndexing: d.SearchIndexing, Access: viewAccess(d.Access), Components: []placementView{}, Indicator: indicator,
		CreatedAt: web.Time(d.CreatedAt), UpdatedAt: web.Time(d.UpdatedAt), Version: d.Version,
	}
	maps.Copy(view.GroupPublicIDs, d.GroupPublicIDs)
	for _, placement := range d.Components {
		component, there := components[placement.ComponentID]
		if !there {
			continue
		}
		view.Components = append(view.Components, placementView{
			ComponentID: placement.ComponentID, Name: component.Name, GroupName: cmp.Or(placement.GroupName, component.Group), Position: placement.Position,
		})
	}
	return view
}
