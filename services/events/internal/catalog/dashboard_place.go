package catalog

import (
	"context"
	"math/rand/v2"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// nearPlaces is the number of free places among which freePlace selects, so that concurrent creates rarely select the same.
const nearPlaces = 64

// freePlace returns a place, from 1 on, for a new dashboard of an organization that may have limit dashboards.
//
// No write spans two records, so no counter of dashboards could be exact without claims that outlive a killed process.
// Instead, no two dashboards of an organization have the same place, and the write that stores a dashboard takes the
// place. If there is room for n dashboards, a new one may have one of the first n free places. The last of them is p:
// all dashboards with places up to p, and those with others, are at most limit, however many creates run. A deletion
// leaves the place with the record, and a create that fails has taken none.
func (c *Catalog) freePlace(ctx context.Context, organization string, limit int) (int64, error) {
	query := owned(organization, find.Query{Order: []find.Order{{Field: FieldPlace}}})
	taken, err := c.store.Dashboards.Keys(ctx, query, FieldPlace)
	if err != nil {
		return 0, err
	}
	room := limit - len(taken)
	if room <= 0 {
		return 0, fault.New(fault.Conflict, "Your organization may have %d dashboards. Delete one first.", limit)
	}
	skip := rand.IntN(min(room, nearPlaces))
	place := int64(1)
	for _, row := range taken {
		other, _ := row.Values[0].(int64)
		free := int(other - place)
		if free > skip {
			break
		}
		skip -= free
		place = other + 1
	}
	return place + int64(skip), nil
}
