// Package look contains the parts of the design that the pages of visitors and of members share: the colours of both
// themes, the icons of states, and the base style. The console and the public page use the same parts, so that they look
// like one product.
package look

import (
	_ "embed"
	"html/template"
)

//go:embed base.css
var base string

// Base returns the CSS that each page has after its colours (Colors) and before its own style.
func Base() string { return base }

// Icon is the icon of a state in 16 by 16 units. Class is the CSS class of the state. The element with the class f
// has the colour of the state.
type Icon struct {
	Class  string
	Markup template.HTML
}

// Icons returns the icons of the states: operational, under maintenance, degraded, partial outage, major outage. Each
// icon has a different form, so that no state is shown by colour alone.
func Icons() []Icon {
	return []Icon{
		{"o", `<circle class="f" cx="8" cy="8" r="8"/><path d="m4.6 8.3 2.4 2.4 4.5-5"/>`},
		{"m", `<rect class="f" width="16" height="16" rx="4.5"/><path d="m4 12 4.4-4.4M12 4.7 10.5 6.2 9.8 5.5 11.3 4A2.6 2.6 0 1 0 12 4.7Z"/>`},
		{"d", `<path class="f" d="M6.6.6.6 6.6a2 2 0 0 0 0 2.8l6 6a2 2 0 0 0 2.8 0l6-6a2 2 0 0 0 0-2.8l-6-6a2 2 0 0 0-2.8 0Z"/><path d="M4.8 8h6.4"/>`},
		{"p", `<path class="f" d="M6.4 1.3.3 12.4A1.8 1.8 0 0 0 1.9 15h12.2a1.8 1.8 0 0 0 1.6-2.6L9.6 1.3a1.8 1.8 0 0 0-3.2 0Z"/><path d="M8 5.4v3.8M8 12v.1"/>`},
		{"x", `<path class="f" d="M5 0h6l5 5v6l-5 5H5l-5-5V5Z"/><path d="m5.3 5.3 5.4 5.4m0-5.4-5.4 5.4"/>`},
	}
}
