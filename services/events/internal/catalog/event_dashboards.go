package catalog

import (
	"fmt"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// maxEventDashboards is the maximum number of dashboards that an event without components names.
const maxEventDashboards = 50

func errBesideComponents() error {
	return fault.Field("dashboardIds", "must be absent beside components: the event is on the dashboards of its components")
}

// checkDashboardIDs returns a fault if ids has more than maxEventDashboards, an id twice, or an id that is not in known.
func checkDashboardIDs(ids []string, known map[string]bool) error {
	if len(ids) > maxEventDashboards {
		return fault.Field("dashboardIds", "must be at most %d dashboards", maxEventDashboards)
	}
	for i, id := range ids {
		switch field := fmt.Sprintf("dashboardIds[%d]", i); {
		case !known[id]:
			return fault.Field(field, "must be a dashboard of the organization")
		case slices.Contains(ids[:i], id):
			return fault.Field(field, "must not be named twice")
		}
	}
	return nil
}
