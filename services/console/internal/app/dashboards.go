package app

import (
	"context"
	"net/url"
	"time"
)

const dashboardsPath = "/app/dashboards"

// Dashboards is a page of a list of dashboards.
type Dashboards struct {
	Dashboards []Dashboard `json:"dashboards"`
	NextToken  *string     `json:"nextToken"`
}

// Dashboard is a public page.
type Dashboard struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	Slug           string            `json:"slug"`
	PublicID       Nullable          `json:"publicId"`
	GroupPublicIDs map[string]string `json:"groupPublicIds"` // public ids by the names of the groups
	URL            string            `json:"url"`
	Enabled        bool              `json:"enabled"`
	Description    string            `json:"description"`
	Timezone       string            `json:"timezone"`
	Locale         string            `json:"locale"`
	CustomDomains  []string          `json:"customDomains"`
	Domains        []Domain          `json:"domains"`
	Branding       Branding          `json:"branding"`
	Links          Links             `json:"links"`
	Subscriptions  Subscriptions     `json:"subscriptions"`
	SearchIndexing bool              `json:"searchIndexing"`
	Access         Access            `json:"access"`
	Components     []Placed          `json:"components"`
	Indicator      string            `json:"indicator"`
	CreatedAt      time.Time         `json:"createdAt"`
	UpdatedAt      time.Time         `json:"updatedAt"`
	Version        int64             `json:"version"`
}

// Domain is a custom domain. TXT is nil if the installation requires no proof.
type Domain struct {
	Host     string  `json:"host"`
	Verified bool    `json:"verified"`
	TXT      *string `json:"txt"`
}

// Branding is how a dashboard looks.
type Branding struct {
	LogoURL      Nullable `json:"logoUrl"`
	FaviconURL   Nullable `json:"faviconUrl"`
	PrimaryColor Nullable `json:"primaryColor"`
	Theme        string   `json:"theme"`
}

// Links are the links of a dashboard.
type Links struct {
	HomepageURL Nullable         `json:"homepageUrl"`
	SupportURL  Nullable         `json:"supportUrl"`
	Navigation  []NavigationLink `json:"navigation"`
}

// NavigationLink is a link at the top of a dashboard.
type NavigationLink struct {
	Text string `json:"text"`
	Href string `json:"href"`
}

// Subscriptions are the channels that visitors may use.
type Subscriptions struct {
	Email    bool `json:"email"`
	SMS      bool `json:"sms"`
	WhatsApp bool `json:"whatsapp"`
	Webhook  bool `json:"webhook"`
	Teams    bool `json:"teams"`
	GChat    bool `json:"gchat"`
	Slack    bool `json:"slack"`
	Discord  bool `json:"discord"`
}

// Access says who may read a dashboard.
type Access struct {
	Mode        string   `json:"mode"`
	PasswordSet bool     `json:"passwordSet"`
	AllowedIPs  []string `json:"allowedIps"`
}

// Placement is a component on a dashboard.
type Placement struct {
	ComponentID string `json:"componentId"`
	GroupName   string `json:"groupName"`
}

// Placed is a component on a dashboard, with its name.
type Placed struct {
	Placement
	Name string `json:"name"`
}

// Dashboards lists the dashboards.
func (c *Caller) Dashboards(ctx context.Context, query url.Values) (Dashboards, error) {
	return call[Dashboards](ctx, c, request{service: events, method: "GET", path: dashboardsPath, query: query})
}

// DashboardResult is one dashboard.
type DashboardResult struct {
	Dashboard Dashboard `json:"dashboard"`
}

// Dashboard returns a dashboard.
func (c *Caller) Dashboard(ctx context.Context, id string) (DashboardResult, error) {
	return call[DashboardResult](ctx, c, request{service: events, method: "GET", path: dashboardAt(id)})
}

func dashboardAt(id string) string { return dashboardsPath + "/" + url.PathEscape(id) }

// DashboardChange is a change of a dashboard. A member that is nil is not changed.
type DashboardChange struct {
	Name           *string            `json:"name,omitempty"`
	Slug           *string            `json:"slug,omitempty"`
	PublicID       *Nullable          `json:"publicId,omitempty"`
	GroupPublicIDs *map[string]string `json:"groupPublicIds,omitempty"`
	Enabled        *bool              `json:"enabled,omitempty"`
	Description    *string            `json:"description,omitempty"`
	Timezone       *string            `json:"timezone,omitempty"`
	Locale         *string            `json:"locale,omitempty"`
	CustomDomains  *[]string          `json:"customDomains,omitempty"`
	Branding       *Branding          `json:"branding,omitempty"`
	Links          *Links             `json:"links,omitempty"`
	Subscriptions  *Subscriptions     `json:"subscriptions,omitempty"`
	SearchIndexing *bool              `json:"searchIndexing,omitempty"`
	Access         *NewAccess         `json:"access,omitempty"`
}

// NewAccess says who may read a dashboard.
type NewAccess struct {
	Mode       string    `json:"mode"`
	Password   string    `json:"password,omitempty"`
	AllowedIPs *[]string `json:"allowedIps,omitempty"`
}

// NewDashboard is a dashboard to create.
type NewDashboard struct {
	DashboardChange
	Components *[]Placement `json:"components,omitempty"`
}

// AddDashboard creates a dashboard.
func (c *Caller) AddDashboard(ctx context.Context, in NewDashboard) (DashboardResult, error) {
	return call[DashboardResult](ctx, c, request{service: events, method: "POST", path: dashboardsPath, body: in})
}

// DeleteDashboard deletes a dashboard.
func (c *Caller) DeleteDashboard(ctx context.Context, id string) (struct{}, error) {
	return call[struct{}](ctx, c, request{service: events, method: "DELETE", path: dashboardAt(id)})
}

// ChangeDashboard changes a dashboard that has the version.
func (c *Caller) ChangeDashboard(ctx context.Context, id string, version int64, in DashboardChange) (DashboardResult, error) {
	return call[DashboardResult](ctx, c, request{service: events, method: "PATCH", path: dashboardAt(id), version: version, body: in})
}

// Placements are the components of a dashboard, in their order.
type Placements struct {
	Components []Placement `json:"components"`
}

// PlaceComponents replaces the components of a dashboard that has the version.
func (c *Caller) PlaceComponents(ctx context.Context, id string, version int64, in Placements) (DashboardResult, error) {
	return call[DashboardResult](ctx, c, request{service: events, method: "PUT", path: dashboardAt(id) + "/components", version: version, body: in})
}

// ContentResult is the content of a dashboard.
type ContentResult struct {
	Content Content `json:"content"`
}

// Content says what a dashboard shows.
type Content struct {
	Modules      Modules  `json:"modules"`
	Order        []string `json:"order"`
	Uptime       Uptime   `json:"uptime"`
	Announcement Nullable `json:"announcement"`
}

// Modules are the parts of a dashboard that are shown.
type Modules struct {
	Announcement        bool `json:"announcement"`
	OverallStatus       bool `json:"overallStatus"`
	ActiveIncidents     bool `json:"activeIncidents"`
	ActiveMaintenance   bool `json:"activeMaintenance"`
	Components          bool `json:"components"`
	UptimeHistory       bool `json:"uptimeHistory"`
	UpcomingMaintenance bool `json:"upcomingMaintenance"`
	EventHistory        bool `json:"eventHistory"`
	Subscribe           bool `json:"subscribe"`
	About               bool `json:"about"`
}

// Uptime says how a dashboard shows the uptime.
type Uptime struct {
	WindowDays          int     `json:"windowDays"`
	ShowPercentage      bool    `json:"showPercentage"`
	Precision           int     `json:"precision"`
	PartialOutageWeight float64 `json:"partialOutageWeight"`
	HistoryDays         int     `json:"historyDays"`
}

// Content returns the content of a dashboard.
func (c *Caller) Content(ctx context.Context, id string) (ContentResult, error) {
	return call[ContentResult](ctx, c, request{service: events, method: "GET", path: dashboardAt(id) + "/content"})
}

// SetContent replaces the content of a dashboard that has the version.
func (c *Caller) SetContent(ctx context.Context, id string, version int64, in Content) (ContentResult, error) {
	return call[ContentResult](ctx, c, request{service: events, method: "PUT", path: dashboardAt(id) + "/content", version: version, body: in})
}

// Preview is a dashboard with values that are not stored. A member that is nil has the stored value.
type Preview struct {
	Dashboard  *DashboardChange `json:"dashboard,omitempty"`
	Components *[]Placement     `json:"components,omitempty"`
	Content    *Content         `json:"content,omitempty"`
}

// PreviewResult is a page with its Content-Security-Policy.
type PreviewResult struct {
	HTML   string `json:"html"`
	Policy string `json:"policy"`
}

// Preview returns the page that visitors would get.
func (c *Caller) Preview(ctx context.Context, id string, in Preview) (PreviewResult, error) {
	return call[PreviewResult](ctx, c, request{service: events, method: "POST", path: dashboardAt(id) + "/preview", body: in})
}
