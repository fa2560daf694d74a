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

// findID is the declared find field with the integer id of a record.
const findID = "legacyId"

// translator converts query parameters to conditions on declared find fields.
type translator struct {
	ctx    context.Context
	caller passport.Passport
}

// where returns the conditions of all filters among the parameters, in their order. It ignores reserved parameters and
// parameters that do not start with the name of a field.
func (t translator) where(fields []Field, all params) ([]find.Condition, error) {
	var where []find.Condition
	for _, name := range all.names {
		path := strings.Split(name, "__")
		field, known := fieldNamed(fields, path[0])
		if !known || isReserved(name) {
			continue
		}
		conditions, err := t.field(field, path[1:], all.values[name])
		if refused := fault.As(err); err != nil && refused.Kind == fault.Invalid {
			return nil, invalid("%s: %s", printable(name), refused.Message)
		}
		if err != nil {
			return nil, fmt.Errorf("resolving the filter %q: %w", name, err)
		}
		where = append(where, conditions...)
	}
	return where, nil
}

// isReserved reports whether a parameter is never a filter. No field has such a name.
func isReserved(name string) bool {
	return slices.Contains([]string{"limit", "offset", "order_by", "format"}, name)
}

func fieldNamed(fields []Field, name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(field Field) bool { return field.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// idField returns the field id. Lists can be filtered and ordered by it. It is not in the output.
func idField(find string) Field { return Field{Name: "id", Type: Integer, Find: find} }

// field translates the path after the name of a field. The path is a lookup, or names of fields of related resources
// and then a lookup.
func (t translator) field(field Field, path, values []string) ([]find.Condition, error) {
	relation := field.Relation
	if relation == nil {
		return field.compare(path, values)
	}
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

// without translates isnull on a field of the related records, for a relation with Match. If each record refers to
// exactly one related record, Match gets the condition. Otherwise Match cannot find the records without a related
// record, so isnull only tests whether the record has a related record. If a record can have several related records
// and the field may be null, the result is an error: the records without a related record and those with a null field
// would need an OR, which queries do not have.
func (t translator) without(field, sub Field, path, values []string) ([]find.Condition, error) {
	conditions, err := t.field(sub, path, values)
	several := field.Multi || field.Relation.Many
	switch {
	case err != nil:
		return nil, err
	case !several && !field.Nullable:
		return t.lift(field, conditions)
	case field.own() == "" || several && sub.mayBeNull(path[:len(path)-1]):
		return nil, wrongLookup("isnull")
	}
	return absent(field.own(), values[len(values)-1])
}

// own returns the find field of this record that is absent if the record has no related record. It returns "" if
// there is no such field.
func (field Field) own() string {
	if field.Relation.Many {
		return field.Relation.Any
	}
	return field.Find
}

// mayBeNull reports whether the field at the end of path, or a field on the way to it, is nullable.
func (field Field) mayBeNull(path []string) bool {
	if field.Nullable || len(path) == 0 || field.Relation == nil {
		return field.Nullable
	}
	sub, known := fieldNamed(field.Relation.Fields, path[0])
	return known && sub.mayBeNull(path[1:])
}

// bare translates a filter by the relation itself, without a field behind it. The values are ids or URIs.
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
		return nil, wrongLookup(lookup)
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
		return nil, invalid("must be an id or a resource_uri of %s, not '%s'", relation.To, printable(value))
	}
	return t.lift(field, conditions)
}

func (r *Relation) idField(multi bool) Field {
	id := idField(r.FindID)
	if r.Match != nil && id.Find == "" {
		id.Find = findID
	}
	id.Multi = multi && r.Match == nil
	return id
}

// lift converts conditions on the related records to conditions on this record. With a Match, it calls Match and
// requires one of the returned keys. Without a Match, it returns the conditions as they are, because they are on find
// fields of this record.
func (t translator) lift(field Field, conditions []find.Condition) ([]find.Condition, error) {
	if field.Relation.Match == nil {
		return conditions, nil
	}
	var keys []any
	if !matchesNothing(conditions) {
		found, err := field.Relation.Match(t.ctx, t.caller, conditions)
		if err != nil {
			return nil, err
		}
		for _, key := range found {
			keys = append(keys, key)
		}
	}
	return field.has(keys), nil
}

// has returns the condition that the field has one of the values.
func (field Field) has(values []any) []find.Condition {
	switch {
	case field.Multi:
		return []find.Condition{find.Has(field.Find, values...)}
	case len(values) == 1:
		return []find.Condition{find.Eq(field.Find, values[0])}
	}
	return []find.Condition{find.In(field.Find, values...)}
}

// matchesNothing reports whether a condition excludes all records, so that no query is needed.
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
	return "", wrongLookup(strings.Join(path, "__"))
}

func wrongLookup(lookup string) error {
	return invalid("must end in a lookup that this field has, not '%s'", printable(lookup))
}

// compare translates a lookup on a field that is not a relation.
func (field Field) compare(path, values []string) ([]find.Condition, error) {
	lookup, err := lookupOf(path)
	if err != nil {
		return nil, err
	}
	if field.Find == "" {
		return nil, invalid("must be a field that filters lists")
	}
	value := values[len(values)-1]
	text := field.Type == String && !field.Multi
	switch {
	case field.Normal == nil:
	case lookup == "exact" || lookup == "iexact":
		return field.same([]string{value}), nil
	case lookup == "in":
		return field.same(splitValues(values)), nil
	}
	switch lookup {
	case "exact":
		if field.Nullable && isNone(value) {
			return []find.Condition{find.Absent(field.Find)}, nil
		}
		return field.oneOf([]string{value})
	case "in":
		return field.oneOf(splitValues(values))
	case "isnull":
		return absent(field.Find, value)
	case "iexact":
		if field.Type != String {
			return field.oneOf([]string{value})
		}
	}
	if match, fold, ok := textMatch(lookup); ok && text {
		return []find.Condition{find.Text(field.Find, match, value, fold)}, nil
	}
	if field.Multi || field.Type == Boolean {
		return nil, wrongLookup(lookup)
	}
	return field.inOrder(lookup, value)
}

// inOrder translates the lookups gt, gte, lt, lte and range.
func (field Field) inOrder(lookup, value string) ([]find.Condition, error) {
	bounds := map[string]func(string, any) find.Condition{"gt": find.Gt, "gte": find.Gte, "lt": find.Lt, "lte": find.Lte}
	if bound, ok := bounds[lookup]; ok {
		limit, err := field.parse(value)
		return []find.Condition{bound(field.Find, limit)}, err
	}
	if lookup != "range" {
		return nil, wrongLookup(lookup)
	}
	from, to, two := strings.Cut(value, ",")
	if !two || strings.Contains(to, ",") {
		return nil, invalid("must be two values with a comma between them")
	}
	least, err := field.parse(from)
	if err != nil {
		return nil, err
	}
	most, err := field.parse(to)
	return []find.Condition{find.Gte(field.Find, least), find.Lte(field.Find, most)}, err
}

// oneOf returns the condition that the field equals one of the texts.
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
	return field.has(values), nil
}

// same returns the condition that Compared is the normal form of one of the texts.
func (field Field) same(texts []string) []find.Condition {
	var values []any
	for _, text := range texts {
		if normal, ok := field.Normal(text); ok && !slices.Contains(values, any(normal)) {
			values = append(values, normal)
		}
	}
	field.Find = field.Compared
	return field.has(values)
}

// parse returns the value of a filter as a value of the field's type.
func (field Field) parse(text string) (any, error) {
	switch field.Type {
	case Integer:
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number, nil
		}
	case Boolean:
		if flag, err := parseFlag(text); err == nil {
			return flag, nil
		}
	case Datetime:
		if t, ok := ParseTime(text); ok {
			return t, nil
		}
	default:
		return text, nil
	}
	return nil, invalid("must be of the type %s, not '%s'", field.Type, printable(text))
}

// parseFlag parses a boolean in a query: true, t, 1, false, f or 0 in any case.
func parseFlag(text string) (bool, error) { return strconv.ParseBool(strings.ToLower(text)) }

func isNone(text string) bool { return slices.Contains([]string{"nil", "none", "None", "null"}, text) }

func absent(field, value string) ([]find.Condition, error) {
	flag, err := parseFlag(value)
	if err != nil {
		return nil, invalid("must be true or false, not '%s'", printable(value))
	}
	if flag {
		return []find.Condition{find.Absent(field)}, nil
	}
	return []find.Condition{find.Present(field)}, nil
}

// textMatch translates a text lookup such as contains or icontains. A leading i means that the comparison ignores case.
func textMatch(lookup string) (match find.Match, fold, ok bool) {
	name, fold := strings.CutPrefix(lookup, "i")
	match, ok = map[string]find.Match{
		"exact": find.Whole, "contains": find.Substring, "startswith": find.Prefix, "endswith": find.Suffix,
	}[name]
	return match, fold, ok
}

// splitValues returns the elements of all comma-separated lists in the values of a repeated parameter.
func splitValues(values []string) []string { return strings.Split(strings.Join(values, ","), ",") }
