package pages

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// chip is a component that a form offers.
type chip struct {
	app.Component
	Chosen bool
}

// chips are the components that a form offers.
type chips struct {
	Field *forms.Field
	Chips []chip
	Find  string      // text that the member searches in the names; empty: none
	All   bool        // the chips are all components, or Lost is true
	Lost  bool        // the components or the events cannot be read, so there are no chips
	Open  []app.Event // open events; the member may want to report one of them
}

// chipsOf returns components for a field: up to 100 that the search for find finds, and the chosen components that are not
// among them. The components that the newest events affect come first. It sets the options of the field. If a service is down
// after a POST, it returns no components and sets Lost.
func (v *visit) chipsOf(field *forms.Field, find string) (chips, error) {
	out := chips{Field: field, Find: find}
	var listed app.Components
	var recent app.Events
	var work concurrent
	query := filled(map[string]string{"limit": "100", "q": find})
	work.Go(func() (err error) {
		listed, err = v.app.Components(v.Request.Context(), query)
		return err
	})
	work.Go(func() (err error) {
		recent, err = v.app.Events(v.Request.Context(), url.Values{"limit": {"25"}})
		return err
	})
	work.Go(func() error {
		found, err := v.app.Events(v.Request.Context(), url.Values{"limit": {"10"}, "active": {"true"}})
		out.Open = found.Events
		return err
	})
	if err := work.Wait(); err != nil {
		if v.isPost() && app.As(err).Unavailable() { // the page shows what was typed
			out.All, out.Lost = true, true
			return out, nil
		}
		return out, err
	}
	out.All = listed.NextToken == nil && find == ""
	if err := v.addChosen(&listed, field.Values); err != nil {
		return out, err
	}
	order := []string{}
	for _, e := range recent.Events {
		for _, affected := range e.AffectedComponents {
			order = append(order, affected.ComponentID)
		}
	}
	place := func(c app.Component) int {
		if at := slices.Index(order, c.ID); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortStableFunc(listed.Components, func(a, b app.Component) int { return cmp.Compare(place(a), place(b)) })
	field.Options = nil
	for _, c := range listed.Components {
		out.Chips = append(out.Chips, chip{c, field.Has(c.ID)})
		field.Options = append(field.Options, forms.Option{Value: c.ID, Label: c.Name})
	}
	return out, nil
}

// places are the dashboards that a form offers for an event without components.
type places struct {
	Field *forms.Field // the options are the dashboards
	Open  bool         // the dashboards are visible at once
}

// placesOf sets the options of a field that names dashboards: the first 100 dashboards and the chosen ones. If they cannot be
// read, the field has no options and keeps its values.
func (v *visit) placesOf(field *forms.Field) places {
	listed, err := v.firstDashboards()
	if err == nil {
		err = v.addDashboards(&listed, field.Values)
	}
	field.Options = nil
	for _, d := range listed.Dashboards {
		if err == nil {
			field.Options = append(field.Options, forms.Option{Value: d.ID, Label: d.Name})
		}
	}
	return places{field, len(field.Values) > 0 || field.Problem != ""}
}

// namesOfDashboards returns the names of dashboards as a text. It returns an empty text if the names cannot be read.
func (v *visit) namesOfDashboards(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	field := &forms.Field{Values: ids}
	v.placesOf(field)
	var names []string
	for _, option := range field.Options {
		if field.Has(option.Value) {
			names = append(names, isolate(option.Label))
		}
	}
	return andList(names)
}

// maxChosen is the maximum number of chosen records that a page reads one by one.
const maxChosen = 500

// addChosen adds the chosen components that the list lacks, except those that do not exist.
func (v *visit) addChosen(listed *app.Components, chosen []string) error {
	found, err := readMissing(chosen, listed.Components, func(c app.Component) string { return c.ID }, func(id string) (app.Component, error) {
		result, err := v.app.Component(v.Request.Context(), id)
		return result.Component, err
	})
	listed.Components = append(found, listed.Components...)
	return err
}

// addDashboards adds the chosen dashboards that the list lacks, except those that do not exist.
func (v *visit) addDashboards(listed *app.Dashboards, chosen []string) error {
	found, err := readMissing(chosen, listed.Dashboards, func(d app.Dashboard) string { return d.ID }, func(id string) (app.Dashboard, error) {
		result, err := v.app.Dashboard(v.Request.Context(), id)
		return result.Dashboard, err
	})
	listed.Dashboards = append(found, listed.Dashboards...)
	return err
}

// readMissing reads the chosen records that a list lacks, at most maxChosen. It leaves out records that the App interface
// refuses, such as those that do not exist.
func readMissing[T any](chosen []string, listed []T, idOf func(T) string, read func(id string) (T, error)) ([]T, error) {
	var ids []string
	for _, id := range chosen {
		if id != "" && !slices.ContainsFunc(listed, func(one T) bool { return idOf(one) == id }) && len(ids) < maxChosen {
			ids = append(ids, id)
		}
	}
	found := make([]T, len(ids))
	var work concurrent
	work.SetLimit(8)
	for i, id := range ids {
		work.Go(func() error {
			one, err := read(id)
			if failed := app.As(err); failed != nil && failed.Status < 500 {
				return nil
			}
			found[i] = one
			return err
		})
	}
	err := work.Wait()
	return slices.DeleteFunc(found, func(one T) bool { return idOf(one) == "" }), err
}

// namesOf returns the names of the affected components as a text.
func namesOf(affected []app.Affected) string {
	var names []string
	for _, one := range affected {
		names = append(names, isolate(one.Name))
	}
	return andList(names)
}

// andList returns names as a text, such as "API, Website and Database".
func andList(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}
