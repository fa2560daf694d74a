package api

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

func (a api) peerDashboard(c *gin.Context) error {
	dashboard, err := a.catalog.Dashboard(c.Request.Context(), c.Param(web.OrganizationParam), c.Param("id"))
	return a.showDashboard(c, dashboard, err)
}

func (a api) peerFirstDashboard(c *gin.Context) error {
	dashboard, err := a.catalog.FirstDashboard(c.Request.Context(), c.Param(web.OrganizationParam))
	return a.showDashboard(c, dashboard, err)
}

// peerPageStatus handles the call of peer.Events.PageStatus.
func (a api) peerPageStatus(c *gin.Context) error {
	dashboard, err := a.catalog.Dashboard(c.Request.Context(), c.Param(web.OrganizationParam), c.Param("id"))
	if err != nil {
		return err
	}
	of, err := a.editions.PresentOverall(c.Request.Context(), dashboard.ID)
	return show(c, topic.PageStatus{Indicator: string(of.Indicator()), Description: of.Description()}, err)
}

func (a api) peerCreateDashboard(c *gin.Context) error {
	in, err := web.Body[peer.NewDashboard](c)
	if err != nil {
		return err
	}
	id, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return fault.Field("id", "must be a UUID")
	}
	dashboard, err := a.catalog.CreateDashboard(c.Request.Context(), c.Param(web.OrganizationParam), id.String(), in.Name)
	return a.showDashboard(c, dashboard, err)
}

func (a api) peerPlan(c *gin.Context) error {
	in, err := web.Body[peer.Plan](c)
	if err != nil {
		return err
	}
	return show(c, in, a.catalog.SetIntegrations(c.Request.Context(), c.Param(web.OrganizationParam), in.Integrations))
}

func (a api) peerEvent(c *gin.Context) error {
	state, err := a.catalog.EventState(c.Request.Context(), c.Param(web.OrganizationParam), c.Param("id"))
	return show(c, state, err)
}

// show responds with the view as JSON, or returns err if it is not nil.
func show(c *gin.Context, view any, err error) error {
	if err == nil {
		c.PureJSON(http.StatusOK, view)
	}
	return err
}

func (a api) showDashboard(c *gin.Context, dashboard catalog.Dashboard, err error) error {
	if err != nil {
		return err
	}
	views, err := a.peerViews(c.Request.Context(), c.Param(web.OrganizationParam), []catalog.Dashboard{dashboard})
	return show(c, append(views, topic.DashboardRecord{})[0], err)
}

func (a api) peerDashboards(c *gin.Context) error {
	ids, err := web.Body[[]string](c)
	if err != nil {
		return err
	}
	dashboards, err := a.catalog.DashboardsByID(c.Request.Context(), c.Param(web.OrganizationParam), ids)
	if err != nil {
		return err
	}
	views, err := a.peerViews(c.Request.Context(), c.Param(web.OrganizationParam), dashboards)
	return show(c, views, err)
}

// peerViews returns the views of dashboards with the components on them.
func (a api) peerViews(ctx context.Context, organization string, dashboards []catalog.Dashboard) ([]topic.DashboardRecord, error) {
	components, err := a.catalog.ComponentsOn(ctx, organization, dashboards)
	if err != nil {
		return nil, err
	}
	shown, err := a.peerComponentViews(ctx, organization, slices.Collect(maps.Values(components)))
	byID := find.Index(shown, func(component topic.ComponentRecord) string { return component.ID })
	views := make([]topic.DashboardRecord, len(dashboards))
	for i := range dashboards {
		d := &dashboards[i]
		views[i] = topic.DashboardRecord{ID: d.ID, PublicID: d.PublicID, Name: d.Name, Slug: d.Slug, URL: a.pageURL(d), Timezone: d.Timezone, Locale: d.Locale, Components: []topic.ComponentRecord{}}
		if d.Enabled {
			views[i].Channels = d.Channels()
		}
		for _, id := range d.ComponentIDs() {
			if component, there := byID[id]; there {
				views[i].Components = append(views[i].Components, component)
			}
		}
	}
	return views, err
}

// pageURL returns the URL of the dashboard for links in messages. It is empty for a disabled dashboard, because its
// page responds 404.
func (a api) pageURL(d *catalog.Dashboard) string {
	if !d.Enabled {
		return ""
	}
	return a.Addresses.URL(d)
}

// peerPublicDashboard handles the call of peer.Events.PublicDashboard.
func (a api) peerPublicDashboard(c *gin.Context) error {
	in, err := web.Body[topic.PublicAddress](c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	dashboard, err := a.editions.PublicDashboard(ctx, edition.Address(in))
	if err != nil {
		return err
	}
	views, err := a.peerViews(ctx, dashboard.OrganizationID, []catalog.Dashboard{dashboard})
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, topic.PublicDashboard{DashboardRecord: views[0], Organization: dashboard.OrganizationID})
	return nil
}

// peerOnlyDashboard handles the call of peer.Events.OnlyDashboard.
func (a api) peerOnlyDashboard(c *gin.Context) error {
	slug, err := a.editions.OnlyDashboard(c.Request.Context())
	return show(c, peer.OnlyDashboard{Slug: slug}, err)
}

// peerFrame handles the call of peer.Events.Frame.
func (a api) peerFrame(c *gin.Context) error {
	file, err := a.editions.DashboardFile(c.Request.Context(), c.Param("id"), peer.FrameFile)
	if err != nil {
		return err
	}
	plain, _ := file.In("identity")
	c.Data(http.StatusOK, file.Media, plain.Body)
	return nil
}

func (a api) peerComponents(c *gin.Context) error {
	query, err := web.Body[peer.ComponentQuery](c)
	if err != nil {
		return err
	}
	components, err := a.componentsOf(c, query)
	if err != nil {
		return err
	}
	views, err := a.peerComponentViews(c.Request.Context(), c.Param(web.OrganizationParam), components)
	return show(c, views, err)
}

func (a api) componentsOf(c *gin.Context, query peer.ComponentQuery) ([]catalog.Component, error) {
	ctx, organization := c.Request.Context(), c.Param(web.OrganizationParam)
	if query.IDs != nil {
		return a.catalog.ComponentsByID(ctx, organization, query.IDs)
	}
	where, err := conditions(query.Where)
	if err != nil {
		return nil, err
	}
	return a.catalog.ComponentsWhere(ctx, organization, where)
}

// conditions restores the types of values that were sent as JSON. It returns a fault for a field that is not in known.
// known does not contain the organization, so a caller cannot select another organization.
func conditions(sent []find.Condition) ([]find.Condition, error) {
	out := make([]find.Condition, len(sent))
	known := []string{catalog.FieldLegacyID, "name", "description", "group", "hidden", "hiddenFromNotifications"}
	for i, condition := range sent {
		if !slices.Contains(known, condition.Field) {
			return nil, fault.Field("where", "must name fields of a component, not %q", condition.Field)
		}
		condition.Value = exact(condition.Value)
		for j, value := range condition.Values {
			condition.Values[j] = exact(value)
		}
		out[i] = condition
	}
	return out, nil
}

// exact converts a float64 that is a whole number, as JSON decodes it, to int64. It returns any other value unchanged.
func exact(value any) any {
	if number, ok := value.(float64); ok && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return int64(number)
	}
	return value
}

func (a api) peerComponentViews(ctx context.Context, organization string, components []catalog.Component) ([]topic.ComponentRecord, error) {
	holding, err := a.catalog.DashboardsHolding(ctx, organization, catalog.ComponentKeys(components))
	return find.Values(components, func(component catalog.Component) topic.ComponentRecord {
		return topic.ComponentRecord{
			ID: component.ID, LegacyID: component.LegacyID, Name: component.Name, Description: component.Description,
			Group: component.Group, Hidden: component.Hidden, HiddenFromNotifications: component.HiddenFromNotifications,
			Dashboards: append([]string{}, holding[component.ID]...),
		}
	}), err
}
