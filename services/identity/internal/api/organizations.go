package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

type organizationView struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	Plan            account.Plan     `json:"plan"`
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
	ID   string `json:"id"`
	Slug string `json:"slug"`
}

type organizationAnswer struct {
	Organization organizationView `json:"organization"`
	Dashboard    dashboardView    `json:"dashboard"`
}

func (a api) viewOrganization(o account.Organization) organizationView {
	terms := a.directory.Terms(o)
	return organizationView{
		ID: o.ID, Name: o.Name, Plan: o.Plan, Limits: terms.Limits,
		EnabledFeatures: viewFeatures(terms), Capabilities: capabilitiesView{terms.Features.UptimeReports},
	}
}

func viewFeatures(terms account.Terms) featuresView {
	return featuresView{API: terms.Features.API, Integrations: terms.Features.Integrations}
}

func (a api) answerOrganization(o account.Organization) organizationAnswer {
	return organizationAnswer{a.viewOrganization(o), dashboardView{o.DashboardID, o.DashboardSlug}}
}

func (a api) addOrganization(c *gin.Context) error {
	type body struct {
		Name string        `json:"name"`
		Plan *account.Plan `json:"plan"`
	}
	in, err := web.Body[body](c)
	if err != nil {
		return err
	}
	o, err := a.directory.AddOrganization(c.Request.Context(), account.NewOrganization{Name: in.Name, Plan: in.Plan})
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusCreated, a.answerOrganization(o))
	return nil
}

func (a api) listOrganizations(c *gin.Context) error {
	limit, after, err := a.pages.Asked(c)
	if err != nil {
		return err
	}
	page, err := a.directory.Organizations(c.Request.Context(), limit, after)
	if err != nil {
		return err
	}
	views := make([]organizationView, len(page.Items))
	for i, o := range page.Items {
		views[i] = a.viewOrganization(o)
	}
	c.PureJSON(http.StatusOK, gin.H{"organizations": views, "nextToken": a.pages.Token(c, page.Next)})
	return nil
}

func (a api) getOrganization(c *gin.Context) error {
	o, err := a.directory.Organization(c.Request.Context(), c.Param("id"))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, a.answerOrganization(o))
	return nil
}

type organizationPatch struct {
	Name   account.Sent[string]       `json:"name"`
	Plan   account.Sent[account.Plan] `json:"plan"`
	Limits struct {
		LegacyPerHour   account.Sent[int] `json:"legacyPerHour"`
		AppPerMinute    account.Sent[int] `json:"appPerMinute"`
		UniqueEndpoints account.Sent[int] `json:"uniqueEndpoints"`
	} `json:"limits"`
	EnabledFeatures struct {
		API          account.Sent[bool] `json:"api"`
		Integrations account.Sent[bool] `json:"integrations"`
	} `json:"enabledFeatures"`
	Capabilities struct {
		UptimeReports account.Sent[bool] `json:"uptimeReports"`
	} `json:"capabilities"`
}

func (a api) changeOrganization(c *gin.Context) error {
	in, err := web.Body[organizationPatch](c)
	if err != nil {
		return err
	}
	o, err := a.directory.ChangeOrganization(c.Request.Context(), c.Param("id"), account.OrganizationPatch{
		Name: in.Name, Plan: in.Plan,
		LegacyPerHour: in.Limits.LegacyPerHour, AppPerMinute: in.Limits.AppPerMinute, UniqueEndpoints: in.Limits.UniqueEndpoints,
		API: in.EnabledFeatures.API, Integrations: in.EnabledFeatures.Integrations, UptimeReports: in.Capabilities.UptimeReports,
	})
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, a.answerOrganization(o))
	return nil
}
