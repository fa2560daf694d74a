package catalog

import (
	"context"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
)

// setAliases sets the former paths of the events, on the dashboards that show the event, or else on the dashboard of the
// import. It also sets those of unchanged events, so that a repeated import completes one that was interrupted. The audit log
// has the entry of the import only.
func (i *importing) setAliases(ctx context.Context, lines []*importLine) error {
	var components []string
	for _, l := range lines {
		if len(l.Aliases) > 0 {
			components = append(components, i.componentsOf(l)...)
		}
	}
	holding, err := i.c.DashboardsHolding(ctx, i.command.Organization, components)
	if err != nil {
		return err
	}
	wanted := map[string][]Alias{} // by dashboard
	for _, l := range lines {
		id := i.results[l.at].EventID
		if id == "" || i.results[l.at].Status == ImportRefused {
			continue
		}
		at := eventPlaces{components: i.componentsOf(l), dashboards: l.DashboardIDs}
		on := at.on(holding)
		if len(on) == 0 {
			on = []string{i.in.DashboardID}
		}
		for _, path := range l.Aliases {
			for _, dashboard := range on {
				wanted[dashboard] = append(wanted[dashboard], Alias{Path: path, EventID: id})
			}
		}
	}
	ctx = audit.With(ctx, audit.Origin{})
	for _, dashboard := range slices.Sorted(maps.Keys(wanted)) {
		if _, err := i.c.SetAliases(ctx, i.command, dashboard, wanted[dashboard]); err != nil {
			return err
		}
	}
	return nil
}

// componentsOf returns the ids of the components that a line names.
func (i *importing) componentsOf(l *importLine) []string {
	ids := make([]string, len(l.Components))
	for n, named := range l.Components {
		ids[n] = i.components[named.Key].ID
	}
	return ids
}
