package legacy

import (
	"fmt"
	"slices"
	"strings"
)

// checkFields returns the errors in the declarations of fields.
func checkFields(where string, fields []Field) []error {
	var problems []error
	seen := map[string]bool{"id": true, "resource_uri": true, "": true}
	for _, field := range fields {
		complain := func(wrong bool, format string, args ...any) {
			if wrong {
				problems = append(problems, fmt.Errorf("legacy: "+where+": "+field.Name+": "+format, args...))
			}
		}
		complain(seen[field.Name] || strings.Contains(field.Name, "__") || isReserved(field.Name),
			"a field cannot be named so, or two fields have the name")
		seen[field.Name] = true
		complain((field.Type == Related) != (field.Relation != nil), "Relation goes with the type Related, and only with it")
		complain(!slices.Contains([]Type{String, Integer, Boolean, Datetime, Related, Object, List}, field.Type),
			"there is no type %q", field.Type)
		complain(field.InputOnly && field.Find != "", "an InputOnly field must not have a Find")
		_, text := field.Default.(string)
		_, flag := field.Default.(bool)
		complain(field.Default != nil && !(text && field.Type == String) && !(flag && field.Type == Boolean),
			"the default %v is not of the type %s", field.Default, field.Type)
		inner := field.Fields
		if relation := field.Relation; relation != nil {
			_, known := findRow(relation.To)
			complain(!known, "there is no resource %q", relation.To)
			complain(relation.Match != nil && field.Find == "", "Match needs a Find for the keys")
			_, known = fieldNamed(relation.Items, relation.Bare)
			complain(relation.Bare != "" && !known, "there is no item field %q", relation.Bare)
			problems = append(problems, checkFields(where+": "+field.Name, relation.Items)...)
			problems = append(problems, checkFields(where+": "+field.Name, relation.New)...)
			inner = relation.Fields
		}
		problems = append(problems, checkFields(where+": "+field.Name, inner)...)
	}
	return problems
}
