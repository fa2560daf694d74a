package legacy

import (
	"context"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// The find fields of a lookup's rows, which are kept in memory.
const (
	lookupID   = "legacyId"
	lookupName = "name"
)

func lookupFields(field string) []Field {
	return []Field{{Name: field, Type: String, Unique: true, Readonly: true, Find: lookupName, Help: "Name of the value."}}
}

func lookup(resource, field string, all []Named) Declared {
	type view = map[string]string // the two members sort as they should
	return Resource[Named]{
		Name:   resource,
		Fields: lookupFields(field),
		ID:     func(one Named) int64 { return one.ID },
		View: func(one Named) any {
			return view{"resource_uri": URI(resource, one.ID), field: one.Name}
		},
		List: func(_ context.Context, _ passport.Passport, query find.Query) ([]Named, int64, error) {
			found := selectNamed(all, query.Where)
			slices.SortStableFunc(found, func(a, b Named) int { return compareNamed(a, b, query.Order) })
			from := min(query.Offset, len(found))
			to := len(found)
			if query.Limit > 0 {
				to = min(from+query.Limit, to)
			}
			return found[from:to], int64(len(found)), nil
		},
	}
}

func lookupRelation(resource string, all []Named) *Relation {
	return &Relation{
		To:     resource,
		Fields: lookupFields(resource),
		Resolve: func(_ context.Context, _ passport.Passport, id int64) (string, error) {
			for _, one := range all {
				if one.ID == id {
					return one.Name, nil
				}
			}
			return "", fault.New(fault.NotFound, "There is no %s %d.", resource, id)
		},
		Named: func(value string) (int64, string, bool) {
			for _, one := range all {
				if one.Name == value {
					return one.ID, one.Name, true
				}
			}
			return 0, "", false
		},
		Match: func(_ context.Context, _ passport.Passport, where []find.Condition) ([]string, error) {
			var keys []string
			for _, one := range selectNamed(all, where) {
				keys = append(keys, one.Name)
			}
			return keys, nil
		},
	}
}

func selectNamed(all []Named, where []find.Condition) []Named {
	return slices.DeleteFunc(slices.Clone(all), func(one Named) bool {
		return slices.ContainsFunc(where, func(c find.Condition) bool { return !one.holds(c) })
	})
}

// holds evaluates what the filters of this package can ask of a lookup's row.
func (n Named) holds(c find.Condition) bool {
	var own any = n.Name
	if c.Field == lookupID {
		own = n.ID
	}
	switch c.Op {
	case find.OpEq:
		return own == c.Value
	case find.OpIn:
		return slices.Contains(c.Values, own)
	case find.OpGt:
		return compareValues(own, c.Value) > 0
	case find.OpGte:
		return compareValues(own, c.Value) >= 0
	case find.OpLt:
		return compareValues(own, c.Value) < 0
	case find.OpLte:
		return compareValues(own, c.Value) <= 0
	case find.OpText:
		return matchText(n.Name, c)
	default: // find.OpAbsent: every row has both
		return c.Value == false
	}
}

func matchText(text string, c find.Condition) bool {
	part, _ := c.Value.(string)
	if c.Fold {
		text, part = strings.ToLower(text), strings.ToLower(part)
	}
	switch c.Match {
	case find.Prefix:
		return strings.HasPrefix(text, part)
	case find.Suffix:
		return strings.HasSuffix(text, part)
	case find.Substring:
		return strings.Contains(text, part)
	default:
		return text == part
	}
}

// compareValues orders two texts or two integers.
func compareValues(a, b any) int {
	if text, ok := a.(string); ok {
		other, _ := b.(string)
		return strings.Compare(text, other)
	}
	id, _ := a.(int64)
	other, _ := b.(int64)
	switch {
	case id < other:
		return -1
	case id > other:
		return 1
	}
	return 0
}

func compareNamed(a, b Named, orders []find.Order) int {
	for _, order := range orders {
		result := compareValues(a.ID, b.ID)
		if order.Field == lookupName {
			result = compareValues(a.Name, b.Name)
		}
		if order.Descending {
			result = -result
		}
		if result != 0 {
			return result
		}
	}
	return 0
}
