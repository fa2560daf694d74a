package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/audit"
)

// setAliases sets the former paths of the events, on the dashboards that show the event, or else on the dashboard of the
// import. It also sets those of unchanged events, so that a repeated import completes one that was interrupted. It changes no
// path that leads elsewhere already; the result of the event says so. The audit log has the entry of the import only.
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
	wanted, from := map[string][]Alias{}, map[string][]int{} // by dashboard; from: positions of the events in the request
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
				from[dashboard] = append(from[dashboard], l.at)
			}
		}
	}
	ctx = audit.With(ctx, audit.Origin{})
	for _, dashboard := range slices.Sorted(maps.Keys(wanted)) {
		if err := i.setAliasesOn(ctx, dashboard, wanted[dashboard], from[dashboard]); err != nil {
			return err
		}
	}
	return nil
}

// setAliasesOn sets aliases of a dashboard. from has the position of the event of each alias in the request.
func (i *importing) setAliasesOn(ctx context.Context, dashboard string, aliases []Alias, from []int) error {
	own, err := i.c.ownAddresses(ctx, i.command.Organization, aliases)
	if err != nil {
		return err
	}
	var allowed []Alias
	var at []int
	for n, alias := range aliases {
		if own[alias.Path] {
			i.aliasRefused(from[n], alias.Path, ownAddress)
			continue
		}
		allowed, at = append(allowed, alias), append(at, from[n])
	}
	if len(allowed) == 0 {
		return nil
	}
	results, err := i.c.setAliases(ctx, i.command, dashboard, allowed, true)
	for n, result := range results {
		if result.Status == AliasRefused || result.Status == AliasKept {
			i.aliasRefused(at[n], allowed[n].Path, result.Error)
		}
	}
	return err
}

// aliasRefused says in the result of an event, whose status stays, that a path was not set. The first such path is named.
func (i *importing) aliasRefused(at int, path, why string) {
	if result := &i.results[at]; result.Error == "" {
		result.Error = fmt.Sprintf("aliases: %s: %s", path, why)
	}
}

// componentsOf returns the ids of the components that a line names.
func (i *importing) componentsOf(l *importLine) []string {
	ids := make([]string, len(l.Components))
	for n, named := range l.Components {
		ids[n] = i.components[named.Key].ID
	}
	return ids
}
