package catalog

import (
	"context"
	"math/rand/v2"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// nearPlaces is the maximum number of free places from which freePlace selects one at random. So concurrent creates
// rarely select the same place.
const nearPlaces = 64

// freePlace returns a place, from 1 on, for a new record of an organization that may have limit records in the
// collection. It returns a Conflict if the organization has limit records. plural is the name of the records in this fault.
//
// A write cannot change two records, so a counter of records would be wrong after a process died between two writes.
// Instead, the place of a record is unique in the organization, and the write that stores a record takes the
// place. If the organization may have n more records, a new record gets one of the first n free places. Let p be
// the last of these n places. The p places up to p, and the records with higher places, are limit together. So
// concurrent creates cannot exceed the limit. Deleting a record frees its place. A create that fails takes no place.
func freePlace[T any](ctx context.Context, from Collection[T], organization string, limit int, plural string) (int64, error) {
	query := owned(organization, find.Query{Order: []find.Order{{Field: FieldPlace}}})
	taken, err := from.Keys(ctx, query, FieldPlace)
	if err != nil {
		return 0, err
	}
	room := limit - len(taken)
	if room <= 0 {
		return 0, fault.New(fault.Conflict, "Your organization may have %d %s. Delete one first.", limit, plural)
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
