package catalog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
)

// Uptime returns the report about all components of a dashboard, also hidden components. If dashboardID is empty, it
// returns the report about one component, with the time zone and weight of the oldest dashboard on which the component is
// placed, or with those of a new dashboard if there is none.
func (c *Catalog) Uptime(ctx context.Context, organization string, yearMonth, dashboardID, componentID string) (uptime.Report, error) {
	components, dashboard, err := c.reportedOn(ctx, organization, dashboardID, componentID)
	if err != nil {
		return uptime.Report{}, err
	}
	report, err := uptime.NewReport(yearMonth, dashboard.Zone(), dashboard.Content.Uptime.PartialOutageWeight, c.now())
	if err != nil {
		return uptime.Report{}, err
	}
	spans, err := c.spans(ctx, organization, components, report.From, report.To)
	for i := range components {
		report.Add(components[i].ID, components[i].Name, components[i].Since(), spans[components[i].ID])
	}
	return report, err
}

// reportedOn returns the components of a report, and the dashboard whose time zone and weight apply.
func (c *Catalog) reportedOn(ctx context.Context, organization, dashboardID, componentID string) ([]Component, Dashboard, error) {
	if dashboardID != "" {
		dashboard, err := c.Dashboard(ctx, organization, dashboardID)
		if err != nil {
			return nil, Dashboard{}, err
		}
		there, err := c.ComponentsOn(ctx, organization, []Dashboard{dashboard})
		var components []Component
		for _, id := range dashboard.ComponentIDs() {
			if component, found := there[id]; found {
				components = append(components, component)
			}
		}
		return components, dashboard, err
	}
	components, err := c.ComponentsByID(ctx, organization, []string{componentID})
	if err == nil && len(components) == 0 {
		err = fault.New(fault.NotFound, "There is no such component.")
	}
	if err != nil {
		return nil, Dashboard{}, err
	}
	dashboards, err := c.dashboardsShowing(ctx, organization, []string{componentID})
	slices.SortFunc(dashboards, func(a, b Dashboard) int { return cmp.Compare(a.LegacyID, b.LegacyID) })
	return components, append(dashboards, c.newDashboard(organization, ""))[0], err
}

// spans returns, by component, the spans in which events or states by hand affect the component and that overlap the time
// between from and to.
func (c *Catalog) spans(ctx context.Context, organization string, components []Component, from, to time.Time) (map[string][]uptime.Span, error) {
	spans := make(map[string][]uptime.Span, len(components))
	for _, component := range components {
		spans[component.ID] = component.spansBetween(from, to)
	}
	scope := "" // all events
	if len(components) == 1 {
		scope = components[0].ID
	}
	err := c.store.EventsBetween(ctx, organization, []string{scope}, from, &to, to, func(event *Event) {
		for _, link := range event.Links {
			if former, asked := spans[link.ComponentID]; asked {
				spans[link.ComponentID] = append(former, event.spansOn(link, to)...)
			}
		}
	})
	return spans, err
}
