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

// Lookup is a resource with fixed values that are in memory.
type Lookup string

const (
	StatusLookup   Lookup = "status" // the status of an event or an update
	SeverityLookup Lookup = "severity"
	TypeLookup     Lookup = "type" // the type of an event
)

// Lookups returns the resources of all lookups.
func Lookups() []Declared {
	return []Declared{StatusLookup.resource(), SeverityLookup.resource(), TypeLookup.resource()}
}

func (l Lookup) names() []string {
	switch l {
	case StatusLookup:
		return []string{"planning", "investigating", "resolved", "started", "completed",
			"inprogress", "verifying", "update", "identified", "monitoring"}
	case SeverityLookup:
		return []string{"minor_performance", "major_performance", "minor_outage", "major_outage"}
	default:
		return []string{"incident", "maintenance"}
	}
}

// Value is a value of a lookup. Its id, from 1, is permanent.
type Value struct {
	lookup Lookup
	id     int64
	name   string
}

// MarshalJSON implements json.Marshaler: {"resource_uri": "/api/v1/status/2/", "status": "investigating"}.
func (v Value) MarshalJSON() ([]byte, error) {
	return []byte(`{"resource_uri":"` + URI(string(v.lookup), v.id) + `","` + string(v.lookup) + `":"` + v.name + `"}`), nil
}

// Value returns the value with the name, and nil if there is none.
func (l Lookup) Value(name string) *Value {
	i := slices.Index(l.names(), name)
	if i < 0 {
		return nil
	}
	return &Value{lookup: l, id: int64(i + 1), name: name}
}

// lookupName is a find field of a Value, beside findID.
const lookupName = "name"

func (v Value) field(name string) any {
	if name == lookupName {
		return v.name
	}
	return v.id
}

// Relation returns a relation to the lookup. Its keys are the names of the values, so the Find of a field with this
// relation contains the name. A body may send the name instead of a URI. Filters like status__status__in need no second
// query.
func (l Lookup) Relation() *Relation {
	return &Relation{
		To:     string(l),
		Fields: l.fields(),
		Resolve: func(_ context.Context, _ passport.Passport, id int64) (string, error) {
			names := l.names()
			if id < 1 || id > int64(len(names)) {
				return "", fault.New(fault.NotFound, "There is no %s %d.", l, id)
			}
			return names[id-1], nil
		},
		Named: func(name string) (int64, string, bool) {
			if value := l.Value(name); value != nil {
				return value.id, name, true
			}
			return 0, "", false
		},
		Match: func(_ context.Context, _ passport.Passport, where []find.Condition) ([]string, error) {
			return find.Values(l.find(where), func(value Value) string { return value.name }), nil
		},
	}
}

func (l Lookup) fields() []Field {
	return []Field{{Name: string(l), Type: String, Unique: true, Readonly: true, Find: lookupName, Help: "Name of the value.",
		Keywords: map[string]any{"enum": l.names()}}}
}

func (l Lookup) doc() Doc {
	doc := Doc{Name: "Type", Names: "Types", One: "a type", Many: "types"}
	switch l {
	case StatusLookup:
		doc = Doc{Name: "Status", Names: "Statuses", One: "a status", Many: "statuses"}
	case SeverityLookup:
		doc = Doc{Name: "Severity", Names: "Severities", One: "a severity", Many: "severities"}
	}
	doc.Record = string(encode(l.Value(l.names()[1])))
	return doc
}

func (l Lookup) resource() Declared {
	return Resource[Value]{
		Name:   string(l),
		Fields: l.fields(),
		Doc:    l.doc(),
		ID:     func(value Value) int64 { return value.id },
		View:   func(value Value) any { return value },
		List: func(_ context.Context, _ passport.Passport, query find.Query) ([]Value, int64, error) {
			found := l.find(query.Where)
			slices.SortStableFunc(found, func(a, b Value) int {
				for _, order := range query.Order {
					if result := compare(a.field(order.Field), b.field(order.Field)); result != 0 && order.Descending {
						return -result
					} else if result != 0 {
						return result
					}
				}
				return 0
			})
			from := min(query.Offset, len(found))
			return found[from:min(from+query.Limit, len(found))], int64(len(found)), nil
		},
	}
}

// find returns the values that fulfil all conditions.
func (l Lookup) find(where []find.Condition) []Value {
	var found []Value
	for i, name := range l.names() {
		value := Value{lookup: l, id: int64(i + 1), name: name}
		if !slices.ContainsFunc(where, func(c find.Condition) bool { return !fulfils(value.field(c.Field), c) }) {
			found = append(found, value)
		}
	}
	return found
}

// fulfils reports whether value fulfils the condition. It supports the conditions that the filters of this package
// create.
func fulfils(value any, c find.Condition) bool {
	switch c.Op {
	case find.OpIn:
		return slices.Contains(c.Values, value)
	case find.OpEq:
		return value == c.Value
	case find.OpGt:
		return compare(value, c.Value) > 0
	case find.OpGte:
		return compare(value, c.Value) >= 0
	case find.OpLt:
		return compare(value, c.Value) < 0
	case find.OpLte:
		return compare(value, c.Value) <= 0
	case find.OpText:
		return c.Match.Matches(value.(string), c.Value.(string), c.Fold)
	default: // find.OpAbsent: every value has both fields
		return c.Value == false
	}
}

// compare orders two values of a find field: two texts or two ids.
func compare(a, b any) int {
	if text, ok := a.(string); ok {
		return strings.Compare(text, b.(string))
	}
	return cmp.Compare(a.(int64), b.(int64))
}
