package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/audit"
)

// setAliases sets the former paths of each event on the dashboards that show the event, or on the dashboard of the import if
// none shows it. It also sets the paths of unchanged events, so that a repeated import completes an interrupted import. It
// does not change a path that leads elsewhere already, and the result of the event names this path. It leaves no audit entry.
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
	for at, refused := range i.refusedPaths {
		i.results[at].Error = "aliases: " + refused.text()
	}
	return nil
}

// setAliasesOn sets aliases of a dashboard. from has, for each alias, the position of its event in the request.
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

// maxNamedPaths is the number of paths that the result of an event names for one reason.
const maxNamedPaths = 10

// refusedPaths are the paths of an event that were not set, by reason.
type refusedPaths map[string][]string

// aliasRefused records that a path of an event was not set. setAliases adds the path to the Error of the event's result. The
// Status of the result does not change.
func (i *importing) aliasRefused(at int, path, why string) {
	if i.refusedPaths == nil {
		i.refusedPaths = map[int]refusedPaths{}
	}
	if i.refusedPaths[at] == nil {
		i.refusedPaths[at] = refusedPaths{}
	}
	if paths := i.refusedPaths[at][why]; !slices.Contains(paths, path) { // the event may be on several dashboards
		i.refusedPaths[at][why] = append(paths, path)
	}
}

// text returns the first maxNamedPaths paths of each reason, and the number of its paths if there are more.
func (r refusedPaths) text() string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(r)) {
		paths := r[why]
		named := strings.Join(paths[:min(len(paths), maxNamedPaths)], ", ")
		if len(paths) > maxNamedPaths {
			named = fmt.Sprintf("%d paths, the first %d of which are %s", len(paths), maxNamedPaths, named)
		}
		parts = append(parts, named+": "+why)
	}
	return strings.Join(parts, " ")
}

// componentsOf returns the ids of the components that a line names.
func (i *importing) componentsOf(l *importLine) []string {
	ids := make([]string, len(l.Components))
	for n, named := range l.Components {
		ids[n] = i.components[named.Key].ID
	}
	return ids
}
