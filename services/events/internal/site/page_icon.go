package site

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/look"
)

// Shapes returns the icons of the states.
func (f frame) Shapes() []look.Icon { return look.Icons() }

// Icon is the URL of the dashboard's icon. If the dashboard has none, it is a data URL with a picture: the state of the
// dashboard on a page with a script, which updates the state, or else a disc in the dashboard's colour.
func (f frame) Icon() template.URL {
	return template.URL(cmp.Or(loadable(f.Dashboard.Branding.FaviconURL), f.ownIcon())) // https, or our own picture
}

func (f frame) ownIcon() string {
	fill, markup := look.Light().Branded(f.Dashboard.Branding.PrimaryColor).Accent(), `<circle class="f" cx="8" cy="8" r="8"/>`
	if f.Script != "" {
		level := overallLevel(f.Overall())
		fill = badgeColor(level)
		at := slices.IndexFunc(f.Shapes(), func(i look.Icon) bool { return i.Class == stateClass(level) })
		markup = string(f.Shapes()[at].Markup)
	}
	svg := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">` +
		strings.Replace(markup, `class="f"`, `fill="`+fill+`" stroke="none"`, 1) + `</svg>`
	return "data:image/svg+xml," + strings.ReplaceAll(svg, "#", "%23")
}
