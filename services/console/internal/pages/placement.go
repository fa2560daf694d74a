package pages

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const (
	offeredComponents = "25" // maximum number of components that the tab Components reads in a call
	maxOfferReads     = 20   // maximum number of reads until one finds a component that is not on the dashboard yet
)

// offers are the components that the tab Components can add.
type offers struct {
	Chips []chip
	Find  string // text that the member searches in the names; empty: none
	After string // token of the page; empty: the first
	More  string // token of the next page; empty: there is none
}

// knownComponents returns the components of a dashboard and those that the sent form names.
func (v *visit) knownComponents(d app.Dashboard) ([]app.Component, error) {
	var known app.Components
	for _, placed := range d.Components {
		known.Components = append(known.Components, app.Component{ID: placed.ComponentID, Name: placed.Name})
	}
	sent := v.Request.PostForm
	err := v.addChosen(&known, slices.Concat(sent["components"], sent["add"]))
	return known.Components, err
}

// offersOf returns components that the form can add to the dashboard. The ticked components come first, whether the search
// finds them or not.
func (v *visit) offersOf(form *forms.Form) (offers, error) {
	out := offers{Find: form.Value("find"), After: form.Value("after")}
	switch way, token, _ := strings.Cut(form.Value("move"), " "); way {
	case "find":
		out.After = ""
	case "more":
		out.After = token
	}
	placed, add := form.Field("components"), form.Field("add")
	for _, option := range add.Options {
		if add.Has(option.Value) {
			out.Chips = append(out.Chips, chip{app.Component{ID: option.Value, Name: option.Label}, true})
		}
	}
	out.More = out.After
	for range maxOfferReads {
		query := filled(map[string]string{"limit": offeredComponents, "q": out.Find, "nextToken": out.More})
		found, err := v.app.Components(v.Request.Context(), query)
		if err != nil {
			return out, err
		}
		some := false
		for _, c := range found.Components {
			if !placed.Has(c.ID) && !add.Has(c.ID) {
				out.Chips, some = append(out.Chips, chip{c, false}), true
			}
		}
		if out.More = ""; found.NextToken != nil {
			out.More = *found.NextToken
		}
		if some || out.More == "" {
			break
		}
	}
	return out, nil
}
