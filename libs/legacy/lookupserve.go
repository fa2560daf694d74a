package legacy

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// lookupName is a find field of a lookup's rows, beside defaultFindID. The rows are in memory.
const lookupName = "name"

func lookupFields(resource string) []Field {
	return []Field{{Name: resource, Type: String, Unique: true, Readonly: true, Find: lookupName, Help: "Name of the value."}}
}

func lookup(resource string, all []Named) Declared {
	return Resource[Named]{
		Name:   resource,
		Fields: lookupFields(resource),
		ID:     func(one Named) int64 { return one.ID },
		View: func(one Named) any { // encoding/json sorts the two members as the views of the lookups have them
			return map[string]string{"resource_uri": URI(resource, one.ID), resource: one.Name}
		},
		List: func(_ context.Context, _ passport.Passport, query find.Query) ([]Named, int64, error) {
			found := selectNamed(all, query.Where)
			slices.SortStableFunc(found, func(a, b Named) int { return compareNamed(a, b, query.Order) })
			from, to := min(query.Offset, len(found)), len(found)
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
			one, found := namedBy(all, func(one Named) bool { return one.ID == id })
			if !found {
				return "", fault.New(fault.NotFound, "There is no %s %d.", resource, id)
			}
			return one.Name, nil
		},
		Named: func(value string) (int64, string, bool) {
			one, found := namedBy(all, func(one Named) bool { return one.Name == value })
			return one.ID, one.Name, found
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
		return slices.ContainsFunc(where, func(c find.Condition) bool { return !one.fulfils(c) })
	})
}

// fulfils evaluates a condition that the filters of this package make.
func (n Named) fulfils(c find.Condition) bool {
	switch c.Op {
	case find.OpIn:
		return slices.ContainsFunc(c.Values, func(value any) bool { return n.compare(c.Field, value) == 0 })
	case find.OpEq:
		return n.compare(c.Field, c.Value) == 0
	case find.OpGt:
		return n.compare(c.Field, c.Value) > 0
	case find.OpGte:
		return n.compare(c.Field, c.Value) >= 0
	case find.OpLt:
		return n.compare(c.Field, c.Value) < 0
	case find.OpLte:
		return n.compare(c.Field, c.Value) <= 0
	case find.OpText:
		return matchText(n.Name, c)
	default: // find.OpAbsent: every row has both fields
		return c.Value == false
	}
}

// compare orders a field of the row and a value of the field's type.
func (n Named) compare(field string, value any) int {
	if field == lookupName {
		text, _ := value.(string)
		return strings.Compare(n.Name, text)
	}
	id, _ := value.(int64)
	return cmp.Compare(n.ID, id)
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

func compareNamed(a, b Named, orders []find.Order) int {
	for _, order := range orders {
		result := cmp.Compare(a.ID, b.ID)
		if order.Field == lookupName {
			result = strings.Compare(a.Name, b.Name)
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
