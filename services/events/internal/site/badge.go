package site

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

const (
	maxBadgeLabel = 30 // characters
	badgePadding  = 8
)

// badge returns badge.svg. It shows the name and the state of the component, or of the dashboard if component is empty.
// The state is a word and a colour. If the dashboard does not show the component, badge returns NotFound.
func badge(s *edition.Snapshot, component string, word wording) (File, error) {
	if component == "" {
		of := s.Overall()
		return drawBadge(s.Dashboard.Name, word(overallWord(of)), overallLevel(of), word), nil
	}
	c := s.Component(component)
	if c == nil {
		return File{}, unknownFile()
	}
	state := worst(c.State)
	return drawBadge(c.Name, word("state."+string(state)), state, word), nil
}

// badgeColor returns the colour of a state. White text on it has a contrast of at least 4.5:1.
func badgeColor(state catalog.Impact) string {
	switch state {
	case catalog.UnderMaintenance:
		return "#2b5fb3"
	case catalog.Degraded:
		return "#8a6100"
	case catalog.PartialOutage:
		return "#b04a00"
	case catalog.MajorOutage:
		return "#b3202c"
	}
	return "#1b7a43"
}

// drawBadge draws a box with the name and a box with the state. The attribute textLength makes each text fit its box in
// every font.
func drawBadge(name, state string, level catalog.Impact, word wording) File {
	label := richtext.Shorten(richtext.Line(name), maxBadgeLabel)
	left, right := badgeWidth(label), badgeWidth(state)
	full := left + right + 4*badgePadding
	boundary := left + 2*badgePadding
	title := escapeXML(label + word("format.colon") + state)
	text := func(x, width int, text string) string {
		return fmt.Sprintf(`<text x="%d" y="14" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`, x, width, escapeXML(text))
	}
	body := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s"><title>%s</title>`, full, title, title) +
		fmt.Sprintf(`<clipPath id="c"><rect width="%d" height="20" rx="4"/></clipPath><g clip-path="url(#c)">`, full) +
		fmt.Sprintf(`<path fill="#33373d" d="M0 0h%dv20H0z"/><path fill="%s" d="M%d 0h%dv20H%dz"/></g>`, boundary, badgeColor(level), boundary, full-boundary, boundary) +
		`<g fill="#fff" font-family="system-ui,sans-serif" font-size="11" aria-hidden="true">` +
		text(badgePadding, left, label) + text(boundary+badgePadding, right, state) + `</g></svg>`
	return File{Body: []byte(body)}
}

// badgeWidth estimates the width of a text in a font of 11 pixels.
func badgeWidth(text string) int {
	width := 0.0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r): // these are drawn over another character or not at all, so they have no width
		case r >= 0x2E80: // East Asian ideographs and pictographs
			width += 11
		case strings.ContainsRune("ijlI.,:;|!'", r):
			width += 3.2
		case unicode.IsUpper(r) || strings.ContainsRune("mwMW@%", r):
			width += 7.8
		default:
			width += 6.1
		}
	}
	return max(1, int(width+0.5))
}

func escapeXML(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder returns no error
	return out.String()
}
