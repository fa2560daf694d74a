package site

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
)

// shape is the icon of a state in 16 by 16 units. The element with the class f has the colour of the state.
type shape struct {
	Class  string
	Markup template.HTML
}

// Shapes returns the icons of the states. Each icon has another form, so that no state is shown by colour alone.
func (f frame) Shapes() []shape {
	return []shape{
		{"o", `<circle class="f" cx="8" cy="8" r="8"/><path d="m4.6 8.3 2.4 2.4 4.5-5"/>`},
		{"m", `<rect class="f" width="16" height="16" rx="4.5"/><path d="m4 12 4.4-4.4M12 4.7 10.5 6.2 9.8 5.5 11.3 4A2.6 2.6 0 1 0 12 4.7Z"/>`},
		{"d", `<path class="f" d="M6.6.6.6 6.6a2 2 0 0 0 0 2.8l6 6a2 2 0 0 0 2.8 0l6-6a2 2 0 0 0 0-2.8l-6-6a2 2 0 0 0-2.8 0Z"/><path d="M4.8 8h6.4"/>`},
		{"p", `<path class="f" d="M6.4 1.3.3 12.4A1.8 1.8 0 0 0 1.9 15h12.2a1.8 1.8 0 0 0 1.6-2.6L9.6 1.3a1.8 1.8 0 0 0-3.2 0Z"/><path d="M8 5.4v3.8M8 12v.1"/>`},
		{"x", `<path class="f" d="M5 0h6l5 5v6l-5 5H5l-5-5V5Z"/><path d="m5.3 5.3 5.4 5.4m0-5.4-5.4 5.4"/>`},
	}
}

// Icon is the URL of the dashboard's icon. If the dashboard has none, it is a data URL with a picture: the state of the
// dashboard on a page with a script, which updates the state, or else a disc in the dashboard's colour.
func (f frame) Icon() template.URL {
	return template.URL(cmp.Or(loadable(f.Dashboard.Branding.FaviconURL), f.ownIcon())) // https, or our own picture
}

func (f frame) ownIcon() string {
	fill, markup := lightPalette().branded(f.Dashboard.Branding.PrimaryColor).accent.String(), `<circle class="f" cx="8" cy="8" r="8"/>`
	if f.Script != "" {
		level := overallOf(f.Snapshot).level()
		fill = badgeColor(level)
		at := slices.IndexFunc(f.Shapes(), func(s shape) bool { return s.Class == stateClass(level) })
		markup = string(f.Shapes()[at].Markup)
	}
	svg := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">` +
		strings.Replace(markup, `class="f"`, `fill="`+fill+`" stroke="none"`, 1) + `</svg>`
	return "data:image/svg+xml," + strings.ReplaceAll(svg, "#", "%23")
}
