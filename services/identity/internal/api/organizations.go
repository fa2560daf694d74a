package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const (
	organizationExample = `{"id": "01890a5d-ac96-774b-bcce-b302099a8058", "name": "Acme", "plan": "team",
		"limits": {"legacyPerHour": 1000, "appPerMinute": 600, "uniqueEndpoints": 25, "maxDashboards": 50}, "enabledFeatures": {"api": true, "integrations": true},
		"capabilities": {"uptimeReports": true}}`
	organizationResponseExample = `{"organization": ` + organizationExample + `,
		"dashboard": {"id": "01890a5d-ac96-774b-bcce-b302099a8060", "slug": "acme"}}`
)

func (a api) organizationOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "POST", Path: "/operator/v1/organizations", ID: "createOrganization", Tag: "organizations",
			Summary: "Create an organization with its first dashboard", Status: 201,
			Example: web.Example{Request: `{"name": "Acme", "plan": "team"}`, Response: organizationResponseExample},
		}, web.WithBody(a.addOrganization)),
		web.Declare(web.Operation{
			Method: "GET", Path: "/operator/v1/organizations", ID: "listOrganizations", Tag: "organizations",
			Summary: "List organizations, oldest first", Status: 200,
			Example: web.Example{Response: `{"organizations": [` + organizationExample + `], "nextToken": null}`},
		}, a.listOrganizations),
		web.Declare(web.Operation{
			Method: "GET", Path: "/operator/v1/organizations/{id}", ID: "getOrganization", Tag: "organizations",
			Summary: "Get an organization", Status: 200, Example: web.Example{Response: organizationResponseExample},
		}, a.getOrganization),
		web.Declare(web.Operation{
			Method: "PATCH", Path: "/operator/v1/organizations/{id}", ID: "changeOrganization", Tag: "organizations",
			Summary:     "Change an organization",
			Description: "At least one member is required. The change takes effect for the next request of every user.", Status: 200,
			Example: web.Example{Request: `{"limits": {"appPerMinute": 1200}, "enabledFeatures": {"api": null}}`, Response: organizationResponseExample},
		}, web.WithBody(a.changeOrganization)),
	}
}

type organizationView struct {
	ID              string           `json:"id" format:"uuid"`
	Name            string           `json:"name"`
	Plan            account.Plan     `json:"plan" enum:"free,team,enterprise"`
	Limits          account.Limits   `json:"limits"`
	EnabledFeatures featuresView     `json:"enabledFeatures"`
	Capabilities    capabilitiesView `json:"capabilities"`
}

type featuresView struct {
	API          bool `json:"api"`
	Integrations bool `json:"integrations"`
}

type capabilitiesView struct {
	UptimeReports bool `json:"uptimeReports"`
}

type dashboardView struct {
	ID   string `json:"id" format:"uuid"`
	Slug string `json:"slug"`
}

type organizationResponse struct {
	Organization organizationView `json:"organization"`
	Dashboard    dashboardView    `json:"dashboard"`
}

func (a api) viewOrganization(o account.Organization) organizationView {
	terms := a.accounts.Terms(o)
	return organizationView{
		ID: o.ID, Name: o.Name, Plan: o.Plan, Limits: terms.Limits,
		EnabledFeatures: viewFeatures(terms), Capabilities: capabilitiesView{terms.Features.UptimeReports},
	}
}

func viewFeatures(terms account.Terms) featuresView {
	return featuresView{API: terms.Features.API, Integrations: terms.Features.Integrations}
}

func (a api) organizationResponse(o account.Organization) organizationResponse {
	return organizationResponse{a.viewOrganization(o), dashboardView{o.DashboardID, o.DashboardSlug}}
}

type organizationBody struct {
	Name optional.Value[string]       `json:"name" required:"true" minLength:"1" maxLength:"100"`
	Plan optional.Value[account.Plan] `json:"plan" enum:"free,team,enterprise" default:"team"`
}

func (a api) addOrganization(c *web.Call[web.None, organizationBody], in organizationBody) (organizationResponse, error) {
	o, err := a.accounts.AddOrganization(c, account.NewOrganization{Name: in.Name.Value, Plan: in.Plan.Pointer()})
	return a.organizationResponse(o), err
}

type organizationsView struct {
	Organizations []organizationView `json:"organizations"`
	NextToken     *string            `json:"nextToken"`
}

func (a api) listOrganizations(c *web.Call[web.Paging, web.None]) (organizationsView, error) {
	views, next, err := web.Listed(a.pages, c.List, c.Parameters, func(limit int, after string) (find.Page[account.Organization], error) {
		return a.accounts.Organizations(c, limit, after)
	}, a.viewOrganization)
	return organizationsView{views, next}, err
}

type idParameters struct {
	ID string `path:"id"`
}

func (a api) getOrganization(c *web.Call[idParameters, web.None]) (organizationResponse, error) {
	o, err := a.accounts.Organization(c, c.Parameters.ID)
	return a.organizationResponse(o), err
}

// organizationPatch is the body of a change. A limit or feature that is null gets the value of the plan.
type organizationPatch struct {
	Name            optional.Value[string]            `json:"name" minLength:"1" maxLength:"100"`
	Plan            optional.Value[account.Plan]      `json:"plan" enum:"free,team,enterprise"`
	Limits          optional.Value[limitsPatch]       `json:"limits"`
	EnabledFeatures optional.Value[featuresPatch]     `json:"enabledFeatures"`
	Capabilities    optional.Value[capabilitiesPatch] `json:"capabilities"`
}

type limitsPatch struct {
	LegacyPerHour   optional.Value[int] `json:"legacyPerHour" nullable:"true" minimum:"1" maximum:"1000000" description:"Null: the plan's."`
	AppPerMinute    optional.Value[int] `json:"appPerMinute" nullable:"true" minimum:"1" maximum:"1000000" description:"Null: the plan's."`
	UniqueEndpoints optional.Value[int] `json:"uniqueEndpoints" nullable:"true" minimum:"0" maximum:"1000000" description:"Null: the plan's."`
	MaxDashboards   optional.Value[int] `json:"maxDashboards" nullable:"true" minimum:"1" maximum:"1000000" description:"Null: the plan's. A limit below the number of dashboards refuses new ones only."`
}

type featuresPatch struct {
	API          optional.Value[bool] `json:"api" nullable:"true" description:"Null: the plan's."`
	Integrations optional.Value[bool] `json:"integrations" nullable:"true" description:"Null: the plan's."`
}

type capabilitiesPatch struct {
	UptimeReports optional.Value[bool] `json:"uptimeReports" nullable:"true" description:"Null: the plan's."`
}

func (a api) changeOrganization(c *web.Call[idParameters, organizationPatch], in organizationPatch) (organizationResponse, error) {
	limits, features := in.Limits.Value, in.EnabledFeatures.Value
	o, err := a.accounts.ChangeOrganization(c, c.Parameters.ID, account.OrganizationPatch{
		Name: in.Name, Plan: in.Plan,
		LegacyPerHour: limits.LegacyPerHour, AppPerMinute: limits.AppPerMinute, UniqueEndpoints: limits.UniqueEndpoints, MaxDashboards: limits.MaxDashboards,
		API: features.API, Integrations: features.Integrations, UptimeReports: in.Capabilities.Value.UptimeReports,
	})
	return a.organizationResponse(o), err
}
