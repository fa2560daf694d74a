package catalog

import (
	"cmp"
	"regexp"
	"slices"
)

// A public id is the id that a page, group, component, event or entry had on a page of another product. It is empty, or
// 1 to 64 of A-Z, a-z, 0-9, _ and -. Files and webhooks in the format of Statuspage show it in place of the platform's
// id, so clients of the former page find what they know.
var publicID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ShownID returns the public id, or the platform's id of a record that has no public id.
func ShownID(publicID, id string) string { return cmp.Or(publicID, id) }

// GroupIDs returns the public ids of the dashboard's groups.
func (d *Dashboard) GroupIDs() []string {
	ids := make([]string, 0, len(d.GroupPublicIDs))
	for _, id := range d.GroupPublicIDs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
