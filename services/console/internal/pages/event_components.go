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
	Find  string      // part of the name that is searched
	All   bool        // the chips are all components
	Lost  bool        // the components cannot be read
	Open  []app.Event // open events, which may be the one to report
}

// chipsOf returns the components for a field: the chosen ones, those that an event affected last, and then the others. It
// sets the options of the field.
func (v *visit) chipsOf(field *forms.Field, find string) (chips, error) {
	out := chips{Field: field, Find: find}
	var listed app.Components
	var recent app.Events
	var work concurrent
	query := url.Values{"limit": {"100"}}
	if find != "" {
		query.Set("q", find)
	}
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

// maxChosen bounds how many components addChosen reads.
const maxChosen = 500

// addChosen adds the chosen components that the list lacks. One that does not exist is left out.
func (v *visit) addChosen(listed *app.Components, chosen []string) error {
	var missing []string
	for _, id := range chosen {
		if !slices.ContainsFunc(listed.Components, func(c app.Component) bool { return c.ID == id }) && len(missing) < maxChosen {
			missing = append(missing, id)
		}
	}
	found := make([]app.Component, len(missing))
	var work concurrent
	work.SetLimit(8)
	for i, id := range missing {
		work.Go(func() error {
			result, err := v.app.Component(v.Request.Context(), id)
			if failed := app.As(err); failed != nil && failed.Status < 500 {
				return nil
			}
			found[i] = result.Component
			return err
		})
	}
	err := work.Wait()
	listed.Components = append(slices.DeleteFunc(found, func(c app.Component) bool { return c.ID == "" }), listed.Components...)
	return err
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
