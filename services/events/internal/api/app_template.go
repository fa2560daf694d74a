package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func (a api) templateOperations() []web.Operation {
	const template = `{"id": "01890a5d-ac96-774b-bcce-b302099a8066", "kind": "incident", "name": "Payments fail", "status": "investigating",
		"title": "Checkout fails", "message": "Some payments fail. We look for the **cause**.", "severity": "major_outage",
		"componentIds": ["01890a5d-ac96-774b-bcce-b302099a8061"], "impact": "partial_outage",
		"createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "version": 1}`
	const one = `{"template": ` + template + `}`
	roles := []string{passport.RoleEvent}
	list := operation("templates", roles, "GET", "", "listTemplates", "List templates",
		"In the order of their creation. A template is a prepared text for an incident, a maintenance or an entry of a timeline.", 200)
	list.Versioned, list.Example.Response = false, `{"templates": [`+template+`], "nextToken": null}`
	create := operation("templates", roles, "POST", "", "createTemplate", "Create a template", "An organization has at most 100 templates.", 201, 409)
	create.Example = web.Example{Response: one, Request: `{"kind": "incident", "name": "Payments fail", "status": "investigating", "title": "Checkout fails",
		"message": "Some payments fail. We look for the **cause**.", "severity": "major_outage", "componentIds": ["01890a5d-ac96-774b-bcce-b302099a8061"], "impact": "partial_outage"}`}
	get := operation("templates", roles, "GET", "/{id}", "getTemplate", "Get a template", "", 200)
	get.Example.Response = one
	change := operation("templates", roles, "PATCH", "/{id}", "changeTemplate", "Change a template", "At least one member is required. The kind never changes.", 200)
	change.Example = web.Example{Request: `{"title": "Checkout fails", "severity": null}`, Response: one}
	remove := operation("templates", roles, "DELETE", "/{id}", "deleteTemplate", "Delete a template", "", 204)
	return []web.Operation{
		web.Declare(list, a.listTemplates), web.Declare(create, web.WithBody(a.createTemplate)), web.Declare(get, a.getTemplate),
		web.Declare(change, a.changeTemplate), web.Declare(remove, a.deleteTemplate),
	}
}

type templateView struct {
	ID           string               `json:"id" format:"uuid"`
	Kind         catalog.TemplateKind `json:"kind" enum:"incident,maintenance,update"`
	Name         string               `json:"name"`
	Status       *string              `json:"status" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed,update"`
	Title        *string              `json:"title"`
	Message      *string              `json:"message" description:"Rich text."`
	Severity     *string              `json:"severity" enum:"minor_performance,major_performance,minor_outage,major_outage"`
	ComponentIDs []string             `json:"componentIds" description:"A deleted component disappears."`
	Impact       *string              `json:"impact" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance"`
	CreatedAt    web.Time             `json:"createdAt"`
	UpdatedAt    web.Time             `json:"updatedAt"`
	Version      int64                `json:"version"`
}

type templatesView struct {
	Templates []templateView `json:"templates"`
	NextToken *string        `json:"nextToken"`
}

type templateListParameters struct {
	web.Paging
	Kind *string `query:"kind" enum:"incident,maintenance,update"`
}

func (a api) listTemplates(c *web.Call[templateListParameters, web.None]) (templatesView, error) {
	templates, next, err := web.Listed(a.Pages, c.List, c.Parameters.Paging, func(limit int, after string) (find.Page[catalog.Template], error) {
		return a.catalog.PageOfTemplates(c, c.Caller.Organization, catalog.TemplateKind(optional.OrZero(c.Parameters.Kind)), limit, after)
	}, viewTemplate)
	return templatesView{templates, next}, err
}

type templateParameters struct {
	ID string `path:"id" format:"uuid" record:"template"`
}

type oneTemplateView struct {
	Template templateView `json:"template"`
}

// RecordVersion implements web.Versioned.
func (v oneTemplateView) RecordVersion() int64 { return v.Template.Version }

func (a api) getTemplate(c *web.Call[templateParameters, web.None]) (oneTemplateView, error) {
	template, err := a.catalog.Template(c, c.Caller.Organization, c.Parameters.ID)
	return oneTemplateView{viewTemplate(template)}, err
}

// templateMembers are the members that a create and a change of a template share.
type templateMembers struct {
	Status       optional.Value[catalog.Status] `json:"status" nullable:"true" enum:"investigating,identified,monitoring,resolved,planning,started,inprogress,verifying,completed,update" description:"A status of the kind. An update may have a status of both types, and update."`
	Title        optional.Value[string]         `json:"title" nullable:"true" maxLength:"255" description:"Not for the kind update."`
	Message      optional.Value[string]         `json:"message" nullable:"true" maxLength:"20000" description:"Rich text."`
	Severity     optional.Value[string]         `json:"severity" nullable:"true" enum:"minor_performance,major_performance,minor_outage,major_outage" description:"Not for the kind update."`
	ComponentIDs optional.Value[[]string]       `json:"componentIds" maxItems:"100" description:"Components of the organization."`
	Impact       optional.Value[catalog.Impact] `json:"impact" nullable:"true" enum:"operational,degraded_performance,partial_outage,major_outage,under_maintenance" description:"Impact on each of the components."`
}

type newTemplateBody struct {
	Kind optional.Value[catalog.TemplateKind] `json:"kind" required:"true" enum:"incident,maintenance,update"`
	Name optional.Value[string]               `json:"name" required:"true" minLength:"1" maxLength:"100"`
	templateMembers
}

type templateChanges struct {
	Name optional.Value[string] `json:"name" minLength:"1" maxLength:"100"`
	templateMembers
}

func (a api) createTemplate(c *web.Call[web.None, newTemplateBody], in newTemplateBody) (oneTemplateView, error) {
	template, err := a.catalog.CreateTemplate(c, appCommand(c), func(t *catalog.Template) {
		t.Kind, t.Name = in.Kind.Value, in.Name.Value
		in.apply(t)
	})
	return oneTemplateView{viewTemplate(template)}, err
}

func (a api) changeTemplate(c *web.Call[templateParameters, templateChanges]) (oneTemplateView, error) {
	template, err := a.catalog.ChangeTemplate(c, appCommand(c), c.Parameters.ID, func(t *catalog.Template) error {
		in, err := c.Body()
		if err != nil {
			return err
		}
		put(&t.Name, in.Name)
		in.apply(t)
		return checkSent(in)
	})
	return oneTemplateView{viewTemplate(template)}, err
}

func (a api) deleteTemplate(c *web.Call[templateParameters, web.None]) (web.None, error) {
	return web.None{}, a.catalog.DeleteTemplate(c, appCommand(c), c.Parameters.ID)
}

func (b templateMembers) apply(t *catalog.Template) {
	put(&t.Status, b.Status)
	put(&t.Title, b.Title)
	putRich(&t.Message, richtext.Rich, b.Message)
	put(&t.Severity, b.Severity)
	put(&t.ComponentIDs, b.ComponentIDs)
	put(&t.Impact, b.Impact)
}

func viewTemplate(t catalog.Template) templateView {
	return templateView{
		ID: t.ID, Kind: t.Kind, Name: t.Name, Status: optional.OrNull(string(t.Status)), Title: optional.OrNull(t.Title), Message: textOf(&t.Message),
		Severity: optional.OrNull(t.Severity), ComponentIDs: append([]string{}, t.ComponentIDs...), Impact: optional.OrNull(string(t.Impact)),
		CreatedAt: web.Time(t.CreatedAt), UpdatedAt: web.Time(t.UpdatedAt), Version: t.Version,
	}
}
