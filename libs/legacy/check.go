package legacy

import (
	"fmt"
	"slices"
	"strings"
)

// checkFields returns the faults of declared fields.
func checkFields(where string, fields []Field) []error {
	var problems []error
	complain := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("legacy: "+where+": "+format, args...))
	}
	seen := map[string]bool{"id": true, "resource_uri": true, "": true}
	for _, field := range fields {
		if seen[field.Name] || strings.Contains(field.Name, "__") || isReserved(field.Name) {
			complain("a field cannot be named %q, or two fields have the name", field.Name)
		}
		seen[field.Name] = true
		if (field.Type == Related) != (field.Relation != nil) {
			complain("%s: Relation goes with the type Related, and only with it", field.Name)
		}
		if !slices.Contains([]Type{String, Integer, Boolean, Datetime, Related, Object, List}, field.Type) {
			complain("%s: there is no type %q", field.Name, field.Type)
		}
		if field.InputOnly && field.Find != "" {
			complain("%s: an InputOnly field must not have a Find", field.Name)
		}
		if !field.defaultFits() {
			complain("%s: the default %v is not of the type %s", field.Name, field.Default, field.Type)
		}
		problems = append(problems, checkFields(where+": "+field.Name, field.Fields)...)
		if field.Relation != nil {
			problems = append(problems, field.checkRelation(where+": "+field.Name)...)
		}
	}
	return problems
}

func (field Field) defaultFits() bool {
	switch field.Default.(type) {
	case nil:
		return true
	case string:
		return field.Type == String
	case bool:
		return field.Type == Boolean
	}
	return false
}

func (field Field) checkRelation(where string) []error {
	relation := field.Relation
	problems := append(checkFields(where, relation.Items), checkFields(where, relation.New)...)
	problems = append(problems, checkFields(where, relation.Fields)...)
	if _, known := findRow(relation.To); !known {
		problems = append(problems, fmt.Errorf("legacy: %s: there is no resource %q", where, relation.To))
	}
	if relation.Match != nil && field.Find == "" {
		problems = append(problems, fmt.Errorf("legacy: %s: Match needs a Find for the keys", where))
	}
	if _, known := fieldNamed(relation.Items, relation.Bare); relation.Bare != "" && !known {
		problems = append(problems, fmt.Errorf("legacy: %s: there is no item field %q", where, relation.Bare))
	}
	return problems
}
