package catalog

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Dashboard is a page on which components and events are shown to visitors.
type Dashboard struct {
	ID             string   `json:"id" audit:"id"`
	LegacyID       int64    `json:"legacyId" audit:"legacyId"`
	OrganizationID string   `json:"organizationId"`
	PublicID       string   `json:"publicId" audit:"publicId,null"` // see ShownID; unique in the organization
	Place          int64    `json:"place"`                          // a number that is unique in the organization, see freePlace
	Name           string   `json:"name" audit:"name"`
	Slug           string   `json:"slug" audit:"slug"`       // unique on the installation
	Enabled        bool     `json:"enabled" audit:"enabled"` // false: visitors of the dashboard get 404
	Description    string   `json:"description" audit:"description"`
	Timezone       string   `json:"timezone" audit:"timezone"` // IANA
	Locale         string   `json:"locale" audit:"locale"`
	CustomDomains  []string `json:"customDomains" audit:"customDomains"` // hosts on which the dashboard is shown too; unique on the installation
	// DomainProofs has the results of the checks of CustomDomains. These checks run only if the installation requires proofs.
	DomainProofs  []DomainProof `json:"domainProofs"`
	Branding      Branding      `json:"branding" audit:"branding"`
	Links         Links         `json:"links" audit:"links"`
	Subscriptions Subscriptions `json:"subscriptions" audit:"subscriptions"`
	// NoIntegrations means that the plan of the organization includes no endpoints. Visitors cannot subscribe endpoints
	// then.
	NoIntegrations bool        `json:"noIntegrations"`
	SearchIndexing bool        `json:"searchIndexing" audit:"searchIndexing"`
	Access         Access      `json:"access" audit:"access"`
	Content        Content     `json:"content" audit:"content"`
	Components     []Placement `json:"components" audit:"components"` // in order of Position
	// GroupPublicIDs is the public ids of groups, by their names. No two groups of the organization have the same public id.
	GroupPublicIDs map[string]string `json:"groupPublicIds" audit:"groupPublicIds"`
	CreatedAt      time.Time         `json:"createdAt" audit:"createdAt"`
	UpdatedAt      time.Time         `json:"updatedAt" audit:"updatedAt,quiet"`
	Version        int64             `json:"version" audit:"version,quiet"`
}

// Zone returns the time zone of the dashboard, or UTC if Timezone is empty or unknown to the system.
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

func dashboardKeys(dashboards []Dashboard) []string {
	return find.Values(dashboards, func(d Dashboard) string { return d.ID })
}
