package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const ownOrganizationExample = `{"organization": {"id": "01890a5d-ac96-774b-bcce-b302099a8058", "name": "Acme", "plan": "team",
	"limits": {"legacyPerHour": 1000, "appPerMinute": 600, "uniqueEndpoints": 25, "maxDashboards": 50}, "enabledFeatures": {"api": true, "integrations": true},
	"capabilities": {"uptimeReports": true}, "requireTwoFactor": false, "version": 1}}`

func (a api) ownOrganizationOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/organization", ID: "getOrganization", Tag: "organization", Summary: "Get the caller's organization",
			Versioned: true, Status: 200, Example: web.Example{Response: ownOrganizationExample},
		}, a.ownOrganization),
		web.Declare(web.Operation{
			Method: "PATCH", Path: "/app/organization", ID: "changeOrganization", Tag: "organization", Summary: "Change the caller's organization",
			Description: "At least one member is required. With requireTwoFactor, a session has no roles until its member has shown a second factor. Only a session with a recent sign-in can change requireTwoFactor.",
			Roles:       []string{passport.RoleAdmin}, Versioned: true, Status: 200,
			Example: web.Example{Request: `{"name": "Acme", "requireTwoFactor": true}`, Response: ownOrganizationExample},
		}, a.changeOwnOrganization),
	}
}

// ownOrganizationView is the organization as its members see it.
type ownOrganizationView struct {
	organizationView
	RequireTwoFactor bool  `json:"requireTwoFactor"`
	Version          int64 `json:"version"`
}

type oneOrganizationView struct {
	Organization ownOrganizationView `json:"organization"`
}

// RecordVersion implements web.Versioned.
func (v oneOrganizationView) RecordVersion() int64 { return v.Organization.Version }

func (a api) viewOwnOrganization(o account.Organization) oneOrganizationView {
	return oneOrganizationView{ownOrganizationView{a.viewOrganization(o), o.RequireTwoFactor, o.Version}}
}

func (a api) ownOrganization(c *web.Call[web.None, web.None]) (oneOrganizationView, error) {
	o, err := a.accounts.Organization(c, c.Caller.Organization)
	return a.viewOwnOrganization(o), err
}

type ownOrganizationPatch struct {
	Name             optional.Value[string] `json:"name" minLength:"1" maxLength:"100"`
	RequireTwoFactor optional.Value[bool]   `json:"requireTwoFactor"`
}

func (a api) changeOwnOrganization(c *web.Call[web.None, ownOrganizationPatch]) (oneOrganizationView, error) {
	o, err := a.accounts.ChangeOwnOrganization(c, whoOf(c.Caller), func(o account.Organization) (account.OrganizationPatch, error) {
		if err := c.IfMatch(o.Version); err != nil {
			return account.OrganizationPatch{}, err
		}
		in, err := c.Body()
		return account.OrganizationPatch{Name: in.Name, RequireTwoFactor: in.RequireTwoFactor}, err
	})
	return a.viewOwnOrganization(o), err
}
