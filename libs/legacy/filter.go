package legacy

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

const defaultFindID = "legacyId"

// translator turns query parameters into conditions on declared find fields.
type translator struct {
	ctx    context.Context
	caller passport.Passport
}

// where are the conditions of all filters among the parameters, in their order. What
// does not start with the name of a field is no filter and ignored.
func (t translator) where(fields []Field, all params) ([]find.Condition, error) {
	var where []find.Condition
	for _, one := range all {
		if isReserved(one.name) {
			continue
		}
		path := strings.Split(one.name, "__")
		field, known := fieldNamed(fields, path[0])
		if !known {
			continue
		}
		conditions, err := t.field(field, path[1:], one.values)
		if err != nil {
			return nil, filterFault(one.name, err)
		}
		where = append(where, conditions...)
	}
	return where, nil
}

// isReserved: these are no filters, whatever the fields of a resource are called.
func isReserved(name string) bool {
	return slices.Contains([]string{"limit", "offset", "order_by", "format"}, name)
}

func filterFault(name string, err error) error {
	if one := fault.As(err); one.Kind == fault.Invalid {
		return fault.New(fault.Invalid, "Invalid filter '%s': %s", printable(name), one.Message)
	}
	return fmt.Errorf("resolving the filter %q: %w", name, err)
}

func fieldNamed(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(field Field) bool { return field.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// idField is the field every resource has for filters and ordering without showing it.
func idField(find string) Field { return Field{Name: "id", Type: Integer, Find: find} }

// field translates what follows the name of a field: a lookup, or the name of a field
// of the related resource and so on.
func (t translator) field(field Field, path, values []string) ([]find.Condition, error) {
	if field.Relation == nil {
		return field.compare(path, values)
	}
	relation := field.Relation
	if len(path) > 0 {
		fields := append([]Field{relation.idField(field.Multi)}, relation.Fields...)
		if sub, known := fieldNamed(fields, path[0]); known {
			if path[len(path)-1] == "isnull" && relation.Match != nil {
				return t.without(field, sub, path[1:], values)
			}
			conditions, err := t.field(sub, path[1:], values)
			if err != nil {
				return nil, err
			}
			return t.lift(field, conditions)
		}
	}
	return t.bare(field, path, values)
}

// without translates an isnull behind a relation over Match: what refers to nothing has
// nothing of what is behind it. Those are no related records that Match could find, so
// they and records that refer to a record without a value exclude each other: a relation
// that may be null, or is to several records or none, leads only to fields that may not.
func (t translator) without(field, sub Field, path, values []string) ([]find.Condition, error) {
	conditions, err := t.field(sub, path, values)
	several := field.Multi || field.Relation.Many
	switch {
	case err != nil:
		return nil, err
	case !several && !field.Nullable:
		return t.lift(field, conditions)
	case field.own() == "" || several && sub.mayBeNull(path[:len(path)-1]):
		return nil, invalid("the lookup 'isnull' is not possible here.")
	}
	return absent(field.own(), values[len(values)-1])
}

// own is the find field of this record that is absent when a relation leads to nothing;
// empty when there is none.
func (field Field) own() string {
	if field.Relation.Many {
		return field.Relation.Any
	}
	return field.Find
}

// mayBeNull reports whether there may be nothing at the end of the path behind the field.
func (field Field) mayBeNull(path []string) bool {
	if field.Nullable || len(path) == 0 || field.Relation == nil {
		return field.Nullable
	}
	sub, known := fieldNamed(field.Relation.Fields, path[0])
	return known && sub.mayBeNull(path[1:])
}

// bare translates a relation without the name of a sub-field: ids or URIs.
func (t translator) bare(field Field, path, values []string) ([]find.Condition, error) {
	relation := field.Relation
	lookup, err := lookupOf(path)
	if err != nil {
		return nil, err
	}
	value := values[len(values)-1]
	if field.Nullable && lookup == "exact" && isNone(value) {
		lookup, value = "isnull", "true"
	}
	if lookup == "isnull" && field.own() != "" {
		return absent(field.own(), value)
	}
	id := relation.idField(field.Multi)
	if id.Find == "" || lookup != "exact" && lookup != "in" {
		return nil, invalid("this lookup is not possible here.")
	}
	references := []string{value}
	if lookup == "in" {
		references = splitValues(values)
	}
	for i, reference := range references {
		if number, ok := parseURI(relation.To, reference); ok {
			references[i] = strconv.FormatInt(number, 10)
		}
	}
	conditions, err := id.oneOf(references)
	if err != nil {
		return nil, err
	}
	return t.lift(field, conditions)
}

func (r *Relation) idField(multi bool) Field {
	id := idField(r.FindID)
	if r.Match != nil && id.Find == "" {
		id.Find = defaultFindID
	}
	id.Multi = multi && r.Match == nil
	return id
}

// lift makes conditions on the related records one on this record's field.
func (t translator) lift(field Field, conditions []find.Condition) ([]find.Condition, error) {
	if field.Relation.Match == nil {
		return conditions, nil
	}
	var keys []string
	if !matchesNothing(conditions) {
		found, err := field.Relation.Match(t.ctx, t.caller, conditions)
		if err != nil {
			return nil, err
		}
		keys = found
	}
	switch {
	case field.Multi:
		return []find.Condition{find.Has(field.Find, keys...)}, nil
	case len(keys) == 1:
		return []find.Condition{find.Eq(field.Find, keys[0])}, nil
	}
	return []find.Condition{find.In(field.Find, keys...)}, nil
}

// matchesNothing reports a condition that no record can fulfil, so that nobody is asked.
func matchesNothing(where []find.Condition) bool {
	return slices.ContainsFunc(where, func(c find.Condition) bool {
		return (c.Op == find.OpIn || c.Op == find.OpHas) && len(c.Values) == 0
	})
}

func lookupOf(path []string) (string, error) {
	switch len(path) {
	case 0:
		return "exact", nil
	case 1:
		return path[0], nil
	}
	return "", invalid("there is nothing called '%s' here.", printable(strings.Join(path, "__")))
}

// compare translates a lookup on a field that is no relation.
func (field Field) compare(path, values []string) ([]find.Condition, error) {
	lookup, err := lookupOf(path)
	if err != nil {
		return nil, err
	}
	if field.Find == "" {
		return nil, invalid("the field does not allow filtering.")
	}
	value := values[len(values)-1]
	switch lookup {
	case "exact":
		if field.Nullable && isNone(value) {
			return []find.Condition{find.Absent(field.Find)}, nil
		}
		return field.oneOf([]string{value})
	case "in":
		return field.oneOf(splitValues(values))
	case "iexact":
		if field.Type != String {
			return field.oneOf([]string{value})
		}
	}
	if lookup == "isnull" {
		return absent(field.Find, value)
	}
	if field.Multi {
		return nil, invalid("the lookup '%s' is not possible here.", printable(lookup))
	}
	if match, fold, ok := textMatch(lookup); ok && field.Type == String {
		return []find.Condition{find.Text(field.Find, match, value, fold)}, nil
	}
	return field.inOrder(lookup, value)
}

// inOrder translates the lookups that need an order of values.
func (field Field) inOrder(lookup, value string) ([]find.Condition, error) {
	if field.Type == Boolean {
		return nil, invalid("the lookup '%s' is not possible here.", printable(lookup))
	}
	bounds := map[string]func(string, any) find.Condition{"gt": find.Gt, "gte": find.Gte, "lt": find.Lt, "lte": find.Lte}
	if bound, ok := bounds[lookup]; ok {
		limit, err := field.parse(value)
		return []find.Condition{bound(field.Find, limit)}, err
	}
	if lookup != "range" {
		return nil, invalid("there is no lookup or field '%s'.", printable(lookup))
	}
	from, to, two := strings.Cut(value, ",")
	if !two || strings.Contains(to, ",") {
		return nil, invalid("two values are needed, with a comma between.")
	}
	least, err := field.parse(from)
	if err != nil {
		return nil, err
	}
	most, err := field.parse(to)
	return []find.Condition{find.Gte(field.Find, least), find.Lte(field.Find, most)}, err
}

// oneOf is equality with one of the values.
func (field Field) oneOf(texts []string) ([]find.Condition, error) {
	values := make([]any, 0, len(texts))
	seen := make(map[any]bool, len(texts))
	for _, text := range texts {
		value, err := field.parse(text)
		if err != nil {
			return nil, err
		}
		if !seen[value] {
			seen[value] = true
			values = append(values, value)
		}
	}
	switch {
	case field.Multi:
		return []find.Condition{find.Has(field.Find, values...)}, nil
	case len(values) == 1:
		return []find.Condition{find.Eq(field.Find, values[0])}, nil
	}
	return []find.Condition{find.In(field.Find, values...)}, nil
}

// parse reads a filter's value as the field's type.
func (field Field) parse(text string) (any, error) {
	switch field.Type {
	case Integer:
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number, nil
		}
	case Boolean:
		if flag, ok := parseFlag(text); ok {
			return flag, nil
		}
	case Datetime:
		if t, ok := ParseTime(text); ok {
			return t, nil
		}
	default:
		return text, nil
	}
	return nil, invalid("'%s' is not a value of the type %s.", printable(text), field.Type)
}

// parseFlag reads a boolean in a query, in the forms the Tastypie family accepts.
func parseFlag(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "t", "1":
		return true, true
	case "false", "f", "0":
		return false, true
	}
	return false, false
}

func isNone(text string) bool {
	return text == "nil" || text == "none" || text == "None" || text == "null"
}

func absent(field, value string) ([]find.Condition, error) {
	flag, ok := parseFlag(value)
	if !ok {
		return nil, invalid("'%s' is not a boolean.", printable(value))
	}
	if flag {
		return []find.Condition{find.Absent(field)}, nil
	}
	return []find.Condition{find.Present(field)}, nil
}

func textMatch(lookup string) (match find.Match, fold, ok bool) {
	switch lookup {
	case "iexact":
		return find.Whole, true, true
	case "contains", "icontains":
		return find.Substring, lookup[0] == 'i', true
	case "startswith", "istartswith":
		return find.Prefix, lookup[0] == 'i', true
	case "endswith", "iendswith":
		return find.Suffix, lookup[0] == 'i', true
	}
	return "", false, false
}

// splitValues are the values of a comma list, its repeats merged.
func splitValues(values []string) []string { return strings.Split(strings.Join(values, ","), ",") }
