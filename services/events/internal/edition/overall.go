package edition

import (
	"context"
	"iter"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// Overall is the state of a whole dashboard.
type Overall struct {
	State    catalog.Impact // the worst state of the components; at least UnderMaintenance while a maintenance is active
	Incident bool           // an incident is active
}

// overallOf returns the state of a dashboard with the components and the active events.
func overallOf(components []ShownComponent, active iter.Seq[*ShownEvent]) Overall {
	of := Overall{State: catalog.Operational}
	for i := range components {
		if components[i].State.Worse(of.State) {
			of.State = components[i].State
		}
	}
	for event := range active {
		if event.Type == catalog.Incident {
			of.Incident = true
		} else if catalog.UnderMaintenance.Worse(of.State) {
			of.State = catalog.UnderMaintenance
		}
	}
	return of
}

// Overall returns the overall state of the dashboard at s.At.
func (s *Snapshot) Overall() Overall {
	return overallOf(s.Components, func(yield func(*ShownEvent) bool) {
		for i := range s.Events {
			if s.Events[i].active(s.At) && !yield(&s.Events[i]) {
				return
			}
		}
	})
}

// Unexplained reports whether an incident is active although all components are operational or under maintenance.
func (o Overall) Unexplained() bool {
	return o.Incident && (o.State == catalog.Operational || o.State == catalog.UnderMaintenance)
}

// Indicator is the state of a dashboard in a word, as the read interface of Statuspage shows it.
type Indicator string

const (
	None        Indicator = "none"
	Minor       Indicator = "minor"
	Major       Indicator = "major"
	Critical    Indicator = "critical"
	Maintenance Indicator = "maintenance"
)

// Indicator returns the word for the state.
func (o Overall) Indicator() Indicator {
	if o.Unexplained() {
		return Minor
	}
	switch o.State {
	case catalog.UnderMaintenance:
		return Maintenance
	case catalog.Degraded:
		return Minor
	case catalog.PartialOutage:
		return Major
	case catalog.MajorOutage:
		return Critical
	}
	return None
}

// Description returns the words for the state in the read interface of Statuspage.
func (o Overall) Description() string {
	if o.Unexplained() {
		return "Minor Service Outage"
	}
	switch o.State {
	case catalog.UnderMaintenance:
		return "Service Under Maintenance"
	case catalog.Degraded:
		return "Partially Degraded Service"
	case catalog.PartialOutage:
		return "Partial System Outage"
	case catalog.MajorOutage:
		return "Major System Outage"
	}
	return "All Systems Operational"
}

// Indicators returns the present indicators of dashboards, by id. It reads only Indicator and ChangesAt of each page,
// unless ChangesAt has passed. Then it reads the page, and renders it again if it is overdue. It does not read DayEndsAt,
// because the end of a day changes no indicator.
func (e *Editions) Indicators(ctx context.Context, dashboards []catalog.Dashboard) (map[string]Indicator, error) {
	slugs := find.Values(dashboards, func(d catalog.Dashboard) string { return d.Slug })
	rows, err := e.store.Pages.Keys(ctx, find.Query{Where: []find.Condition{find.In(catalog.FieldSlug, slugs...)}}, FieldIndicator, FieldChangesAt)
	if err != nil {
		return nil, err
	}
	indicators := make(map[string]Indicator, len(dashboards))
	for _, row := range rows {
		word, _ := row.Values[0].(string)
		if changesAt, there := row.Values[1].(int64); !there || e.Now().UnixMilli() < changesAt {
			indicators[row.Key] = Indicator(word)
		}
	}
	for i := range dashboards {
		if id := dashboards[i].ID; indicators[id] == "" {
			if indicators[id], err = e.indicatorOf(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	return indicators, nil
}

// indicatorOf returns the present indicator of a dashboard; None if the dashboard has no page. It renders the page
// again if it is overdue.
func (e *Editions) indicatorOf(ctx context.Context, dashboardID string) (Indicator, error) {
	page, err := e.present(ctx, dashboardID)
	if err != nil {
		return None, fault.UnlessMissing(err)
	}
	return page.Indicator, nil
}

// PresentOverall returns the present state of a dashboard; the zero Overall if the dashboard has no page. It renders
// the page again if it is overdue.
func (e *Editions) PresentOverall(ctx context.Context, dashboardID string) (Overall, error) {
	page, err := e.present(ctx, dashboardID)
	if err != nil {
		return Overall{}, fault.UnlessMissing(err)
	}
	of, err := e.overall(ctx, page)
	return of, fault.UnlessMissing(err)
}

// present returns the page of a dashboard. It renders the page again if it is overdue. It returns NotFound for a
// dashboard that has no page or was deleted.
func (e *Editions) present(ctx context.Context, dashboardID string) (PublishedPage, error) {
	page, err := e.store.Pages.Get(ctx, dashboardID)
	if err == nil && page.Removed {
		return PublishedPage{}, fault.New(fault.NotFound, "There is no such dashboard.")
	}
	return e.current(ctx, page, err)
}

// overall returns the state that a page shows.
func (e *Editions) overall(ctx context.Context, page PublishedPage) (Overall, error) {
	of, err := e.edition(ctx, page.EditionID)
	if err != nil {
		return Overall{}, err
	}
	return overallOf(of.state.Snapshot.Components, of.state.active()), nil
}
