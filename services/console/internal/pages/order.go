package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// orderRow is a row of a list that a member puts in order: a module, a component, or a group of components.
type orderRow struct {
	Name, Value, Label string
	Shown              bool   // the module is shown
	Group              string // group of the component on the dashboard
	First, Last        bool
	Up, Down           bool       // the button gets the focus: it was pressed last, or the opposite button was pressed and is disabled now
	Rows               []orderRow // components of the group
}

// ofGroup is the prefix of the Value of a group's row. The id of the first component of the group follows.
const ofGroup = "group:"

// orderedGroup is a group of values that are moved together.
type orderedGroup struct {
	name           string
	values, groups []string // groups: the name of the group of each value, as the member has typed it
}

// groupsOfOrder returns the values of the field with the name, in groups as dashboards show them. All modules are in one
// group.
func groupsOfOrder(form *forms.Form, name string) (groups []orderedGroup) {
	var typed []string
	if name == "components" {
		typed = form.Field("groups").Values
	}
	for i, value := range form.Field(name).Values {
		own, group := "", ""
		if i < len(typed) {
			own, group = typed[i], strings.TrimSpace(typed[i])
		}
		if group == "default" { // name of the group of a component that has no named group
			group = ""
		}
		at := slices.IndexFunc(groups, func(g orderedGroup) bool { return g.name == group })
		if at < 0 {
			at = len(groups)
			groups = append(groups, orderedGroup{name: group})
		}
		groups[at].values, groups[at].groups = append(groups[at].values, value), append(groups[at].groups, own)
	}
	return groups
}

// setOrder sets the values of the field with the name to the values of the groups, in their order. For components it also
// sets the names of their groups.
func setOrder(form *forms.Form, name string, groups []orderedGroup) {
	var values, typed []string
	for _, g := range groups {
		values, typed = append(values, g.values...), append(typed, g.groups...)
	}
	form.Field(name).Values = values
	if name == "components" {
		form.Field("groups").Values = typed
	}
}

// orderRows returns the rows of the field with the name. If the only group has no name, there is no row for the group.
func orderRows(form *forms.Form, name string) (rows []orderRow) {
	way, moved, _ := strings.Cut(form.Value("move"), " ")
	mark := func(row orderRow, at, all int) orderRow {
		row.First, row.Last = at == 0, at == all-1
		if row.Value == moved {
			row.Up, row.Down = way == "up" && !row.First || way == "down" && row.Last, way == "down" && !row.Last || way == "up" && row.First
		}
		return row
	}
	field, groups := form.Field(name), groupsOfOrder(form, name)
	for i, g := range groups {
		var members []orderRow
		for at, value := range g.values {
			row := orderRow{Name: name, Value: value, Label: field.LabelOf(value), Group: g.groups[at]}
			row.Shown = name == "order" && form.Field("modules").Has(value)
			members = append(members, mark(row, at, len(g.values)))
		}
		if len(groups) == 1 && g.name == "" {
			return members
		}
		rows = append(rows, mark(orderRow{Name: "group", Value: ofGroup + g.values[0], Label: groupLabel(g.name), Rows: members}, i, len(groups)))
	}
	return rows
}

func groupLabel(name string) string {
	if name == "" {
		return "Without a group"
	}
	return name
}

// rearrange moves, adds or removes a row, as the button in the field move says. It returns a text about the change. A
// search of components to add has no text. It returns false if the form was sent by another button, or the row does not
// exist.
func rearrange(form *forms.Form, name string, known []app.Component) (string, bool) {
	way, value, _ := strings.Cut(form.Value("move"), " ")
	components := name == "components"
	switch {
	case way == "up":
		return moveRow(form, name, value, -1)
	case way == "down":
		return moveRow(form, name, value, 1)
	case way == "remove" && components:
		return removeRow(form, value)
	case way == "add" && components:
		return addRows(form, known), true
	case (way == "find" || way == "more") && components:
		return "", true
	}
	return "", false
}

// moveRow moves a component within its group, a group among the groups, or a module, by one place: up if by is -1, down if by is
// 1. It returns a text about the change, and false if the row does not exist.
func moveRow(form *forms.Form, name, value string, by int) (string, bool) {
	groups, field := groupsOfOrder(form, name), form.Field(name)
	value, whole := strings.CutPrefix(value, ofGroup)
	at := slices.IndexFunc(groups, func(g orderedGroup) bool { return slices.Contains(g.values, value) })
	if at < 0 {
		return "", false
	}
	g, label := groups[at], field.LabelOf(value)
	place, all := slices.Index(g.values, value), len(g.values)
	if whole {
		place, all, label = at, len(groups), groupLabel(g.name)
	}
	to := place + by
	if to < 0 || to >= all {
		return isolate(label) + " stays where it is.", true
	}
	if whole {
		groups[place], groups[to] = groups[to], groups[place]
	} else {
		g.values[place], g.values[to] = g.values[to], g.values[place]
		g.groups[place], g.groups[to] = g.groups[to], g.groups[place]
	}
	setOrder(form, name, groups)
	return fmt.Sprintf("%s is at place %d of %d. Nothing is saved yet.", isolate(label), to+1, all), true
}

func removeRow(form *forms.Form, id string) (string, bool) {
	components, groups := form.Field("components"), form.Field("groups")
	at := slices.Index(components.Values, id)
	if at < 0 {
		return "", false
	}
	components.Values = slices.Delete(components.Values, at, at+1)
	if at < len(groups.Values) {
		groups.Values = slices.Delete(groups.Values, at, at+1)
	}
	return isolate(components.LabelOf(id)) + " is taken off. Nothing is saved yet.", true
}

// addRows adds the ticked components at the end, each with the name of its own group.
func addRows(form *forms.Form, known []app.Component) string {
	components, groups, add := form.Field("components"), form.Field("groups"), form.Field("add")
	var names []string
	for len(groups.Values) < len(components.Values) {
		groups.Values = append(groups.Values, "")
	}
	for _, c := range known {
		if add.Has(c.ID) && !components.Has(c.ID) {
			components.Values, groups.Values = append(components.Values, c.ID), append(groups.Values, c.GroupName)
			names = append(names, c.Name)
		}
	}
	if add.Values = nil; len(names) == 0 {
		return "Choose a component to add."
	}
	if len(names) == 1 {
		return isolate(names[0]) + " is added at the end. Nothing is saved yet."
	}
	return fmt.Sprintf("%d components are added at the end. Nothing is saved yet.", len(names))
}
