package sheet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Words in cells. All of them are written by an export.
const (
	All     = "all"     // all components, also future ones
	NoneOf  = "none"    // no component: the subscriber gets nothing, because its components were deleted
	Default = "default" // the language of the dashboard
	Yes     = "yes"
	No      = "no"
)

// Component is a component of a dashboard.
type Component struct{ ID, Name string }

// between are the characters that separate components in a cell.
const between = ",;|\n"

// Chosen returns the ids of the components that a cell contains by name or id. It returns nil for All and an empty list
// for NoneOf. It returns a fault for a name that no component has, or that several components have.
func Chosen(cell string, components []Component) ([]string, error) {
	if strings.EqualFold(cell, All) {
		return nil, nil
	}
	ids := []string{}
	if strings.EqualFold(cell, NoneOf) {
		return ids, nil
	}
	texts := strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(between, r) })
	known := func(text string) bool {
		return slices.ContainsFunc(components, func(c Component) bool { return c.ID == strings.TrimSpace(text) })
	}
	if len(idsOf(cell, components)) > 0 && slices.ContainsFunc(texts, func(text string) bool { return !known(text) }) {
		texts = []string{cell} // the name of one component may contain a comma
	}
	for _, text := range texts {
		text = strings.TrimSpace(text)
		found := idsOf(text, components)
		switch {
		case text == "":
		case len(found) == 0:
			return nil, fault.New(fault.Invalid, "The dashboard has no component “%s”.", text)
		case len(found) > 1:
			return nil, fault.New(fault.Invalid, "The dashboard has several components “%s”. Write the id instead.", text)
		default:
			ids = append(ids, found[0])
		}
	}
	return ids, nil
}

// idsOf returns the id that equals the text, or else the ids of all components with this name in any case.
func idsOf(text string, components []Component) (ids []string) {
	for _, c := range components {
		if c.ID == text {
			return []string{c.ID}
		}
		if strings.EqualFold(strings.TrimSpace(c.Name), text) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Labels returns the text of each component in a cell, by id. The text is the name of the component if a cell may contain
// the name and Chosen finds only this component by it, else the id.
func Labels(components []Component) map[string]string {
	labels := make(map[string]string, len(components))
	for _, c := range components {
		name := strings.TrimSpace(c.Name)
		labels[c.ID] = name
		found, err := Chosen(name, components)
		if err != nil || !slices.Equal(found, []string{c.ID}) || strings.ContainsAny(name, between) || !Readable(name) || guarded(name) != name || unguarded(name) != name {
			labels[c.ID] = c.ID
		}
	}
	return labels
}

// Readable reports whether the text is valid UTF-8 without control characters and U+FFFD.
func Readable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError })
}

// Cell returns the cell for the components with the ids; nil means all components. It writes the id of a component
// without a label. It writes all ids if the labels together are the name of another component.
func Cell(ids []string, components []Component, labels map[string]string) string {
	switch {
	case ids == nil:
		return All
	case len(ids) == 0:
		return NoneOf
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id
		if label, known := labels[id]; known {
			texts[i] = label
		}
	}
	if cell := strings.Join(texts, "; "); len(ids) == 1 || len(idsOf(cell, components)) == 0 {
		return cell
	}
	return strings.Join(ids, "; ")
}

// Decision returns what a cell says about a confirmation. It returns nil for an empty cell.
func Decision(cell string) (*bool, error) {
	switch strings.ToLower(cell) {
	case "":
		return nil, nil
	case Yes, "ja", "y", "true", "1", "x", "confirmed":
		return new(true), nil
	case No, "nein", "n", "false", "0", "unconfirmed":
		return new(false), nil
	}
	return nil, fault.New(fault.Invalid, "“%s” is neither yes nor no.", cell)
}
