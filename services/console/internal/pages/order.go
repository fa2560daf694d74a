package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// orderRow is a row of a list that a member puts in order.
type orderRow struct {
	Name, Value, Label string
	Shown              bool   // the module is shown
	Group              string // group of the component on the dashboard
	First, Last        bool
	Up, Down           bool // the button has moved the row, so it gets the focus
}

// orderRows returns the rows of the field with the name.
func orderRows(form *forms.Form, name string) (rows []orderRow) {
	field := form.Field(name)
	_, moved, _ := strings.Cut(form.Value("move"), " ")
	way, _, _ := strings.Cut(form.Value("move"), " ")
	for i, value := range field.Values {
		row := orderRow{Name: name, Value: value, Label: optionLabel(field, value), First: i == 0, Last: i == len(field.Values)-1}
		if name == "components" {
			if groups := form.Field("groups").Values; i < len(groups) {
				row.Group = groups[i]
			}
		} else {
			row.Shown = form.Field("modules").Has(value)
		}
		row.Up, row.Down = moved == value && way == "up", moved == value && way == "down"
		rows = append(rows, row)
	}
	return rows
}

func optionLabel(field *forms.Field, value string) string {
	for _, option := range field.Options {
		if option.Value == value {
			return option.Label
		}
	}
	return value
}

// rearrange does what a button says: it moves, adds or removes a row. It returns what it has done, or nothing if the form was
// sent by another button.
func rearrange(form *forms.Form, name string) string {
	field := form.Field(name)
	way, value, _ := strings.Cut(form.Value("move"), " ")
	at := slices.Index(field.Values, value)
	label := optionLabel(field, value)
	var groups *forms.Field
	if name == "components" {
		groups = form.Field("groups")
		for len(groups.Values) < len(field.Values) {
			groups.Values = append(groups.Values, "")
		}
	}
	swap := func(to int) string {
		if to < 0 || to >= len(field.Values) {
			return isolate(label) + " stays where it is."
		}
		field.Values[at], field.Values[to] = field.Values[to], field.Values[at]
		if groups != nil {
			groups.Values[at], groups.Values[to] = groups.Values[to], groups.Values[at]
		}
		return fmt.Sprintf("%s is at place %d of %d. Nothing is saved yet.", isolate(label), to+1, len(field.Values))
	}
	switch {
	case way == "up" && at >= 0:
		return swap(at - 1)
	case way == "down" && at >= 0:
		return swap(at + 1)
	case way == "remove" && at >= 0 && groups != nil:
		field.Values, groups.Values = slices.Delete(field.Values, at, at+1), slices.Delete(groups.Values, at, at+1)
		return label + " is taken off. Nothing is saved yet."
	case way == "add" && groups != nil:
		chosen := form.Value("add")
		if chosen == "" || field.Has(chosen) {
			return "Choose a component to add."
		}
		field.Values, groups.Values = append(field.Values, chosen), append(groups.Values, "")
		form.Field("add").Values = nil
		return optionLabel(field, chosen) + " is added at the end. Nothing is saved yet."
	}
	return ""
}
