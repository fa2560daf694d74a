package catalog

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

var publicIDForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ShownID returns the id of a record in files and webhooks in the format of Statuspage: its public id, or the platform's
// id if it has no public id. A public id is the id that a page, group, component, event or entry had in another product.
// Programs that read the page of that product then find the ids that they know.
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

// maxGroupIDs is the maximum number of groups with public ids on a dashboard. It bounds the size of the record.
const maxGroupIDs = 500

// checkPublicID returns a fault unless id is empty or has the form of a public id.
func checkPublicID(field, id string) error {
	if id != "" && !publicIDForm.MatchString(id) {
		return fault.Field(field, "must be 1 to 64 of A-Z, a-z, 0-9, _ and -")
	}
	return nil
}

// checkPublicIDs checks the public ids of the dashboard and its groups.
func (d *Dashboard) checkPublicIDs() error {
	if len(d.GroupPublicIDs) > maxGroupIDs {
		return fault.Field("groupPublicIds", "must be at most %d groups", maxGroupIDs)
	}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.GroupPublicIDs)) {
		id, field := d.GroupPublicIDs[name], "groupPublicIds["+strconv.Quote(name)+"]"
		switch {
		case blank(name) || utf8.RuneCountInString(name) > maxGroupName:
			return fault.Field("groupPublicIds", "must have names of groups, of 1 to %d characters", maxGroupName)
		case !publicIDForm.MatchString(id):
			return checkPublicID(field, cmp.Or(id, " "))
		case used[id]:
			return fault.Field(field, "must not be the id of two groups")
		}
		used[id] = true
	}
	return checkPublicID("publicId", d.PublicID)
}
