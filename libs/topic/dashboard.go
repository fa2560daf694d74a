package topic

import "slices"

// DashboardRecord is a dashboard with its components, as the events service returns it to other services.
type DashboardRecord struct {
	ID         string            `json:"id"`
	PublicID   string            `json:"publicId,omitempty"` // the id that FormatStatuspage shows; empty: ID
	Name       string            `json:"name"`
	Slug       string            `json:"slug"`
	URL        string            `json:"url"`
	Timezone   string            `json:"timezone"` // IANA
	Locale     string            `json:"locale"`   // BCP 47
	Components []ComponentRecord `json:"components"`
	Channels   []Channel         `json:"channels"` // channels that visitors may subscribe to; none if the dashboard is disabled
}

// ComponentRecord is a component. The legacy interface calls it a service.
type ComponentRecord struct {
	ID                      string   `json:"id"`
	LegacyID                int64    `json:"legacyId"`
	Name                    string   `json:"name"`
	Description             string   `json:"description"`
	Group                   string   `json:"group"`
	Hidden                  bool     `json:"hidden"` // dashboards do not show the component
	HiddenFromNotifications bool     `json:"hiddenFromNotifications"`
	Dashboards              []string `json:"dashboards"` // ids of the dashboards with the component
}

// PublicDashboard is a dashboard with a public page, and its organization. Its components include hidden ones (see Visible).
type PublicDashboard struct {
	DashboardRecord
	Organization string `json:"organization"`
}

// PublicAddress is the address at which visitors find a dashboard: a slug or a host. Exactly one of the two is set.
type PublicAddress struct {
	Slug string `json:"slug,omitempty"`
	Host string `json:"host,omitempty"` // in lower case
}

// Reference returns the data about the dashboard that a message contains.
func (d DashboardRecord) Reference() Dashboard {
	return Dashboard{ID: d.ID, PublicID: d.PublicID, Name: d.Name, URL: d.URL, Timezone: d.Timezone, Locale: d.Locale}
}

// Has reports whether the component is on the dashboard.
func (d DashboardRecord) Has(component string) bool {
	return slices.ContainsFunc(d.Components, func(c ComponentRecord) bool { return c.ID == component })
}

// Visible returns the dashboard with the components that its page shows.
func (d DashboardRecord) Visible() DashboardRecord {
	d.Components = slices.DeleteFunc(slices.Clone(d.Components), func(c ComponentRecord) bool { return c.Hidden })
	return d
}
