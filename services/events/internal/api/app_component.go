package api

import (
	"cmp"
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) componentOperations() []web.Operation {
	readers, writers := []string{passport.RoleEvent, passport.RoleSubscriber}, []string{passport.RoleAdmin}
	const component = `{"id": "01890a5d-ac96-774b-bcce-b302099a8061", "legacyId": 4, "publicId": "b13yz5g2cw10", "name": "Checkout", "description": "",
		"groupName": "default", "hidden": false, "hiddenFromNotifications": false, "position": 1, "status": "degraded_performance",
		"statusOverride": {"status": "degraded_performance", "until": "2026-02-01T00:00:00.000Z", "countInUptime": false, "since": "2026-01-31T09:30:00.000Z",
		"setBy": ` + authorExample + `},
		"activeEventIds": ["01890a5d-ac96-774b-bcce-b302099a8062"], "dashboardIds": ["01890a5d-ac96-774b-bcce-b302099a8060"], "externalRefs": ["checkout-prod"],
		"checkUrl": "https://shop.example.com/health", "startAt": "2025-06-01T00:00:00.000Z", "createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "version": 1}`
	const one = `{"component": ` + component + `}`
	list := operation("components", readers, "GET", "", "listComponents", "List components",
		"In the order of their creation. A component is a service of the legacy interface. With q or status a page can have fewer components "+
			"than limit, or none, and still a nextToken: a page compares at most 1000 components.", 200)
	list.Versioned, list.Example.Response = false, `{"components": [`+component+`], "nextToken": null}`
	count := operation("components", readers, "GET", "/counts", "countComponents", "Count the components", "All, and those with each status.", 200)
	count.Versioned = false
	count.Example.Response = `{"counts": {"total": 12, "operational": 10, "underMaintenance": 0, "degradedPerformance": 1, "partialOutage": 0, "majorOutage": 1}}`
	create := operation("components", writers, "POST", "", "createComponent", "Create a component", "Without dashboardIds it joins the organization's first dashboard.", 201, 409)
	create.Example = web.Example{Request: `{"name": "Checkout", "groupName": "Shop", "externalRefs": ["checkout-prod"], "checkUrl": "https://shop.example.com/health"}`, Response: one}
	get := operation("components", readers, "GET", "/{id}", "getComponent", "Get a component", "", 200)
	get.Example.Response = one
	change := operation("components", writers, "PATCH", "/{id}", "changeComponent", "Change a component", "At least one member is required.", 200, 409)
	change.Example = web.Example{Request: `{"hidden": true, "statusOverride": {"status": "degraded_performance", "until": "2026-02-01T00:00:00.000Z"}}`, Response: one}
	remove := operation("components", writers, "DELETE", "/{id}", "deleteComponent", "Delete a component",
		"A component that an active event names, or that is the only one of an endpoint, cannot be deleted.", 204, 409)
	return []web.Operation{
		web.Declare(list, a.listComponents), web.Declare(count, a.countComponents), web.Declare(create, web.WithBody(a.createComponent)), web.Declare(get, a.getComponent),
		web.Declare(change, a.changeComponent), web.Declare(remove, a.deleteComponent),
	}
}

type componentView struct {
	ID                      string         `json:"id" format:"uuid"`
	LegacyID                int64          `json:"legacyId" description:"The id of the legacy interface's service."`
	PublicID                *string        `json:"publicId" description:"The id of the component in api/v2 and in webhooks of the format statuspage. Null: that of id."`
	Name                    string         `json:"name"`
	Description             string         `json:"description"`
	GroupName               string         `json:"groupName"`
	Hidden                  bool           `json:"hidden"`
	HiddenFromNotifications bool           `json:"hiddenFromNotifications"`
	Position                int64          `json:"position"`
	Status                  catalog.Impact `json:"status" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
	StatusOverride          *overrideView  `json:"statusOverride" description:"The state that a member has set by hand. Null: none."`
	ActiveEventIDs          []string       `json:"activeEventIds"`
	DashboardIDs            []string       `json:"dashboardIds"`
	ExternalRefs            []string       `json:"externalRefs"`
	CheckURL                *string        `json:"checkUrl" format:"uri" description:"For the export to a monitoring tool. Visitors do not see it."`
	StartAt                 web.Time       `json:"startAt" description:"The time since which the component exists. Earlier time is not measured."`
	CreatedAt               web.Time       `json:"createdAt"`
	UpdatedAt               web.Time       `json:"updatedAt"`
	Version                 int64          `json:"version"`
}

type componentsView struct {
	Components []componentView `json:"components"`
	NextToken  *string         `json:"nextToken"`
}

type componentListParameters struct {
	web.Paging
	Status *catalog.Impact `query:"status" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
	Text   *string         `query:"q" maxLength:"255" description:"Words of the name, or parts of them, in any order and case."`
	legacyIDParameter
}

func (a api) listComponents(c *web.Call[componentListParameters, web.None]) (componentsView, error) {
	asked := c.Parameters
	after, err := a.Pages.Position(c.List, asked.Paging)
	if err != nil {
		return componentsView{}, err
	}
	filter := catalog.ComponentFilter{Text: optional.OrZero(asked.Text), Status: optional.OrZero(asked.Status), LegacyID: int64(optional.OrZero(asked.LegacyID))}
	if err := asked.alone(asked.Text != nil || asked.Status != nil); err != nil {
		return componentsView{}, err
	}
	page, err := a.catalog.PageOfComponents(c, c.Caller.Organization, filter, asked.Limit, after)
	if err != nil {
		return componentsView{}, err
	}
	views, err := a.viewComponents(c, c.Caller.Organization, page.Items)
	return componentsView{views, a.Pages.Token(c.List, page.Next)}, err
}

type componentCountsView struct {
	Counts struct {
		Total               int64 `json:"total"`
		Operational         int64 `json:"operational"`
		UnderMaintenance    int64 `json:"underMaintenance"`
		DegradedPerformance int64 `json:"degradedPerformance"`
		PartialOutage       int64 `json:"partialOutage"`
		MajorOutage         int64 `json:"majorOutage"`
	} `json:"counts"`
}

func (a api) countComponents(c *web.Call[web.None, web.None]) (view componentCountsView, err error) {
	counted, err := a.catalog.CountComponents(c, c.Caller.Organization)
	counts, by := &view.Counts, counted.ByStatus
	counts.Total, counts.Operational, counts.UnderMaintenance = counted.Total, by[catalog.Operational], by[catalog.UnderMaintenance]
	counts.DegradedPerformance, counts.PartialOutage, counts.MajorOutage = by[catalog.Degraded], by[catalog.PartialOutage], by[catalog.MajorOutage]
	return view, err
}

type componentParameters struct {
	ID string `path:"id" format:"uuid" record:"component"`
}

type oneComponentView struct {
	Component componentView `json:"component"`
}

// RecordVersion implements web.Versioned.
func (v oneComponentView) RecordVersion() int64 { return v.Component.Version }

func (a api) getComponent(c *web.Call[componentParameters, web.None]) (oneComponentView, error) {
	component, err := a.catalog.Component(c, c.Caller.Organization, c.Parameters.ID)
	return a.oneComponent(c, component, err)
}

// componentBody has the members of the body of a create and of a change.
type componentBody struct {
	Description             optional.Value[string]    `json:"description" maxLength:"250"`
	GroupName               optional.Value[string]    `json:"groupName" maxLength:"100" description:"On create \"default\" if absent."`
	Hidden                  optional.Value[bool]      `json:"hidden" description:"True: no dashboard shows the component."`
	HiddenFromNotifications optional.Value[bool]      `json:"hiddenFromNotifications"`
	Position                optional.Value[int64]     `json:"position" minimum:"0" maximum:"1000000"`
	ExternalRefs            optional.Value[[]string]  `json:"externalRefs" description:"At most 20 ids of 1 to 255 characters, which other tools use. No two components of an organization have one in common."`
	CheckURL                optional.Value[string]    `json:"checkUrl" nullable:"true" format:"uri" maxLength:"2048" description:"http or https, without user name and fragment. bellbuoy export --gatus writes the addresses for a monitoring tool. The platform never requests them, and no visitor sees them."`
	PublicID                optional.Value[string]    `json:"publicId" nullable:"true" pattern:"^[A-Za-z0-9_-]{1,64}$" description:"The id of the component in api/v2 and in webhooks of the format statuspage, such as its id on a former page. Unique in the organization. Null and on create absent: that of id."`
	StartAt                 optional.Value[time.Time] `json:"startAt" nullable:"true" description:"The time since which the component exists, not in the future. Earlier time is not measured. Null and on create absent: the time of creation."`
}

type newComponentBody struct {
	Name optional.Value[string] `json:"name" required:"true" minLength:"1" maxLength:"100"`
	componentBody
	DashboardIDs optional.Value[[]string] `json:"dashboardIds" maxItems:"50" description:"The dashboards that the component joins, behind their other components. If absent, the organization's first dashboard; none if empty."`
}

type componentChanges struct {
	Name optional.Value[string] `json:"name" minLength:"1" maxLength:"100"`
	componentBody
	StatusOverride optional.Value[overrideBody] `json:"statusOverride" nullable:"true" description:"A state by hand. Null, or the status operational, ends it. It also ends when an event of the component closes."`
}

func (a api) createComponent(c *web.Call[web.None, newComponentBody], in newComponentBody) (oneComponentView, error) {
	component, err := a.catalog.CreateComponent(c, appCommand(c), in.DashboardIDs.Value, func(component *catalog.Component) error {
		component.Name = in.Name.Value
		return in.apply(component)
	})
	return a.oneComponent(c, component, err)
}

func (a api) changeComponent(c *web.Call[componentParameters, componentChanges]) (oneComponentView, error) {
	component, err := a.catalog.ChangeComponent(c, appCommand(c), c.Parameters.ID, func(component *catalog.Component) error {
		in, err := c.Body()
		optional.Assign(&component.Name, in.Name.Pointer())
		if err == nil {
			err = in.apply(component)
		}
		in.StatusOverride.Value.apply(component, in.StatusOverride.Sent)
		return cmp.Or(err, checkSent(in))
	})
	return a.oneComponent(c, component, err)
}

func (a api) deleteComponent(c *web.Call[componentParameters, web.None]) (web.None, error) {
	return web.None{}, a.catalog.DeleteComponent(c, appCommand(c), c.Parameters.ID)
}

func (b componentBody) apply(c *catalog.Component) error {
	former := c.Description
	optional.Assign(&c.Description, b.Description.Pointer())
	optional.Assign(&c.Group, b.GroupName.Pointer())
	optional.Assign(&c.Hidden, b.Hidden.Pointer())
	optional.Assign(&c.HiddenFromNotifications, b.HiddenFromNotifications.Pointer())
	optional.Assign(&c.Position, b.Position.Pointer())
	optional.Assign(&c.ExternalRefs, b.ExternalRefs.Pointer())
	if b.CheckURL.Sent {
		c.CheckURL = b.CheckURL.Value
	}
	if b.PublicID.Sent {
		c.PublicID = b.PublicID.Value
	}
	b.StartAt.SetNullable(&c.StartAt)
	return catalog.CheckPlain("description", c.Description, former)
}

// oneComponent returns the response with the view of a component, or err if it is not nil.
func (a api) oneComponent(ctx context.Context, component catalog.Component, err error) (oneComponentView, error) {
	if err != nil {
		return oneComponentView{}, err
	}
	views, err := a.viewComponents(ctx, component.OrganizationID, []catalog.Component{component})
	if err != nil {
		return oneComponentView{}, err
	}
	return oneComponentView{views[0]}, nil
}

func (a api) viewComponents(ctx context.Context, organization string, components []catalog.Component) ([]componentView, error) {
	holding, err := a.catalog.DashboardsHolding(ctx, organization, catalog.ComponentKeys(components))
	if err != nil {
		return nil, err
	}
	healths, err := a.catalog.Healths(ctx, organization)
	return find.Values(components, func(c catalog.Component) componentView {
		return viewComponent(c, healths[c.ID], holding[c.ID], a.catalog.OverrideOf(&c))
	}), err
}

func viewComponent(c catalog.Component, health catalog.Health, dashboards []string, override *catalog.Override) componentView {
	return componentView{
		ID: c.ID, LegacyID: c.LegacyID, PublicID: optional.OrNull(c.PublicID), Name: c.Name, Description: c.Description, GroupName: c.Group, Hidden: c.Hidden,
		HiddenFromNotifications: c.HiddenFromNotifications, Position: c.Position,
		Status: cmp.Or(health.Status, catalog.Operational), StatusOverride: viewOverride(override), ActiveEventIDs: append([]string{}, health.EventIDs...),
		DashboardIDs: append([]string{}, dashboards...), ExternalRefs: append([]string{}, c.ExternalRefs...),
		CheckURL: optional.OrNull(c.CheckURL), StartAt: web.Time(c.Since()), CreatedAt: web.Time(c.CreatedAt), UpdatedAt: web.Time(c.UpdatedAt), Version: c.Version,
	}
}
