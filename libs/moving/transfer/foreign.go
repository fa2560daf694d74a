package transfer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// ofAnotherPage returns a *Refused if a line has the key of a component of another page of the same product: the component has another
// name and is on other dashboards only, and no component of the lines so far is on the dashboards of the import. Pages without a name
// have equal keys, and the import of one would replace the history of the other. Force imports the lines nevertheless.
func (r *run) ofAnotherPage(wanted []lines.Component, known map[string]*component) error {
	if r.Force || r.state.Own {
		return nil
	}
	var foreign error
	for i := range wanted {
		c := &wanted[i]
		there := known[c.Key]
		if there == nil || len(there.DashboardIDs) == 0 {
			continue
		}
		for _, key := range c.DashboardIDs {
			if slices.Contains(there.DashboardIDs, r.state.Dashboards[key]) {
				r.state.Own = true
				return nil
			}
		}
		if there.Name != c.Name && foreign == nil {
			foreign = &Refused{Status: http.StatusConflict, Text: fmt.Sprintf("the component %s is %q in the source, and %q on another dashboard here: another page without a name may have the same keys. "+
				"Give the page a name in its product, or write a file of lines and change %s in all keys. If the page is the same, import into the dashboard that has the component, or force the import if both dashboards are to show it", c.Key, c.Name, there.Name, scopeOf(c.Key))}
		}
	}
	return foreign
}

// scopeOf returns the source and the scope of a key.
func scopeOf(key string) string {
	parts := strings.SplitN(key, ":", 3)
	return strings.Join(parts[:min(2, len(parts))], ":")
}
