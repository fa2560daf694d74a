package catalog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/google/uuid"
)

// ComponentFilter selects the components of a list. A zero field does not filter.
type ComponentFilter struct {
	Text   string // words or parts of words, each of which must be in the name; case does not matter
	Status Impact
	// LegacyID selects the only component with this id of the legacy interface. The other fields are ignored then.
	LegacyID int64
}

// PageOfComponents returns a page of components, in the order of their creation. after is Next of the previous page, or
// empty.
func (c *Catalog) PageOfComponents(ctx context.Context, organization string, filter ComponentFilter, limit int, after string) (find.Page[Component], error) {
	if utf8.RuneCountInString(filter.Text) > maxSearched {
		return find.Page[Component]{}, fault.Field("q", "must be at most %d characters", maxSearched)
	}
	if filter == (ComponentFilter{}) {
		return c.store.Components.Find(ctx, owned(organization, find.Query{Limit: limit, After: after}))
	}
	if filter.LegacyID != 0 {
		return c.store.Components.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldLegacyID, filter.LegacyID)}, Limit: limit, After: after}))
	}
	var healths map[string]Health
	if filter.Status != "" {
		var err error
		if healths, err = c.Healths(ctx, organization); err != nil {
			return find.Page[Component]{}, err
		}
	}
	text := soughtIn(filter.Text)
	if filter.Status != "" && filter.Status != Operational {
		return c.pageOfAffected(ctx, organization, withStatus(healths, filter.Status), text, limit, after)
	}
	keys, next, err := searchKeys(ctx, c.store.Components, owned(organization, find.Query{After: after}), limit, func(row find.Row) bool {
		name, _ := row.Values[0].(string)
		return cmp.Or(healths[row.Key].Status, Operational) == Operational && text.in(find.Fold(name))
	}, fieldName)
	if err != nil {
		return find.Page[Component]{}, err
	}
	components, err := c.store.Components.GetMany(ctx, keys)
	return find.Page[Component]{Items: components, Next: next}, err
}

// sought is the words to search for, as find.Fold returns them.
type sought []string

func soughtIn(text string) sought { return strings.Fields(find.Fold(text)) }

// in reports whether the folded text contains each word of s, in any order.
func (s sought) in(folded string) bool {
	return !slices.ContainsFunc(s, func(word string) bool { return !strings.Contains(folded, word) })
}

// withStatus returns the ids of the components with the status, in the order of their creation. status is not
// Operational.
func withStatus(healths map[string]Health, status Impact) []string {
	ids := slices.Sorted(maps.Keys(healths))
	return slices.DeleteFunc(ids, func(id string) bool { return healths[id].Status != status })
}

// pageOfAffected returns a page of those components with the ids whose name contains the words of text. Next of the page
// is the id of its last component, or empty. It returns Invalid if after is not an id.
func (c *Catalog) pageOfAffected(ctx context.Context, organization string, ids []string, text sought, limit int, after string) (page find.Page[Component], err error) {
	if after != "" && uuid.Validate(after) != nil {
		return page, fault.Field("nextToken", "must be a nextToken of this list with the same filters")
	}
	found, err := c.store.ComponentsOf(ctx, organization, ids)
	if err != nil {
		return page, err
	}
	for _, id := range ids {
		component, there := found[id]
		if !there || id <= after || !text.in(find.Fold(component.Name)) {
			continue
		}
		if len(page.Items) == limit {
			page.Next = page.Items[limit-1].ID
			break
		}
		page.Items = append(page.Items, component)
	}
	return page, nil
}

// searchKeys returns the keys of at most limit records of the query that match, in the order of the query. next is the
// position after which the next page begins, or empty if the list ends. searchKeys reads fields of the records, not whole
// records. It examines at most maxExamined records, so it may return fewer keys than limit although next is not empty.
func searchKeys[T any](ctx context.Context, from find.Collection[T], query find.Query, limit int, matches func(find.Row) bool, fields ...string) (keys []string, next string, err error) {
	query.Limit = searchBatch
	for examined := 0; examined < maxExamined; examined += searchBatch {
		rows, err := from.Keys(ctx, query, fields...)
		if err != nil {
			return nil, "", err
		}
		for _, row := range rows {
			if !matches(row) {
				continue
			}
			if len(keys) == limit {
				return keys, next, nil
			}
			keys, next = append(keys, row.Key), row.Position
		}
		if len(rows) < searchBatch {
			return keys, "", nil
		}
		query.After = rows[len(rows)-1].Position
	}
	return keys, query.After, nil
}

// ComponentCounts is the number of components, and the number of components with each status.
type ComponentCounts struct {
	Total    int64
	ByStatus map[Impact]int64
}

// CountComponents counts the components of the organization. It reads only the components with an active event or a state
// by hand.
func (c *Catalog) CountComponents(ctx context.Context, organization string) (ComponentCounts, error) {
	counts := ComponentCounts{ByStatus: map[Impact]int64{}}
	var err error
	if counts.Total, err = c.store.Components.Count(ctx, owned(organization, find.Query{})); err != nil {
		return counts, err
	}
	healths, err := c.Healths(ctx, organization)
	if err != nil {
		return counts, err
	}
	there, err := c.store.ComponentsOf(ctx, organization, slices.Collect(maps.Keys(healths)))
	affected := int64(0)
	for id := range there {
		if status := healths[id].Status; status != Operational {
			counts.ByStatus[status]++
			affected++
		}
	}
	counts.ByStatus[Operational] = max(0, counts.Total-affected)
	return counts, err
}
