package look

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// color has the parts red, green and blue.
type color [3]uint8

// parseColor returns the colour of #rrggbb, and false for any other text.
func parseColor(text string) (color, bool) {
	number, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 24)
	return color{uint8(number >> 16), uint8(number >> 8), uint8(number)}, err == nil && len(text) == 7 && text[0] == '#'
}

func (c color) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// luminance is the relative luminance of WCAG 2.2.
func (c color) luminance() float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		part := float64(c[i]) / 255
		if part <= 0.04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+0.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum
}

// contrast is the contrast ratio of WCAG 2.2, from 1 to 21.
func contrast(a, b color) float64 {
	high, low := a.luminance(), b.luminance()
	return (max(high, low) + 0.05) / (min(high, low) + 0.05)
}

// minContrast is the lowest contrast that text may have (WCAG 2.2, 1.4.3).
const minContrast = 4.5

// readable returns c, mixed with as little black as necessary for minContrast on all backgrounds. If the first background
// is dark, readable mixes c with white instead of black.
func readable(c color, backgrounds ...color) color {
	target := color{}
	if backgrounds[0].luminance() < 0.18 {
		target = color{255, 255, 255}
	}
	const steps = 256
	for step := 0; step < steps; step++ {
		var mixed color
		for i := range mixed {
			mixed[i] = uint8((int(c[i])*(steps-step) + int(target[i])*step) / steps)
		}
		if !slices.ContainsFunc(backgrounds, func(b color) bool { return contrast(mixed, b) < minContrast }) {
			return mixed
		}
	}
	return target
}

// Palette contains the colours of a theme. The fields with one letter are the colours of the classes of states, see Icons. n
// is the colour of the class for no state, for example of a time that was not measured.
type Palette struct {
	scheme                         string
	ground, card, text, soft, line color
	o, m, d, p, x, n               color
	accent                         color
}

func hex(number uint32) color { return color{uint8(number >> 16), uint8(number >> 8), uint8(number)} }

// Light returns the palette of the light theme.
func Light() Palette {
	return Palette{
		scheme: "light", ground: hex(0xf5f6f8), card: hex(0xffffff), text: hex(0x17202b), soft: hex(0x566171), line: hex(0xdfe3e9),
		o: hex(0x18794e), m: hex(0x2b62c4), d: hex(0x8a5d00), p: hex(0xb4470c), x: hex(0xc22636), n: hex(0x8590a0),
		accent: hex(0x2456c8),
	}
}

// Dark returns the palette of the dark theme.
func Dark() Palette {
	return Palette{
		scheme: "dark", ground: hex(0x0e1217), card: hex(0x171d25), text: hex(0xe6ebf1), soft: hex(0x9ba7b5), line: hex(0x2a333e),
		o: hex(0x46b881), m: hex(0x74a5f5), d: hex(0xdcb044), p: hex(0xf0894a), x: hex(0xff7d80), n: hex(0x6b7786),
		accent: hex(0x8db2ff),
	}
}

// Branded returns the palette with the colour primary (#rrggbb), made readable on the backgrounds, as the accent. It returns
// the palette unchanged if primary is not such a colour.
func (p Palette) Branded(primary string) Palette {
	if own, ok := parseColor(primary); ok {
		p.accent = readable(own, p.ground, p.card)
	}
	return p
}

// Accent returns the colour of links and of primary buttons as #rrggbb.
func (p Palette) Accent() string { return p.accent.String() }

// Properties returns the palette as declarations of CSS custom properties.
func (p Palette) Properties() string {
	return fmt.Sprintf("color-scheme:%s;--ground:%s;--card:%s;--text:%s;--soft:%s;--line:%s;--o:%s;--m:%s;--d:%s;--p:%s;--x:%s;--n:%s;--accent:%s",
		p.scheme, p.ground, p.card, p.text, p.soft, p.line, p.o, p.m, p.d, p.p, p.x, p.n, p.accent)
}

// Colors returns the CSS with the colours of a page. theme is light, dark, or another text for the theme of the
// visitor's system. primary is the argument of Palette.Branded.
func Colors(theme, primary string) string {
	light, dark := ":root{"+Light().Branded(primary).Properties()+"}", ":root{"+Dark().Branded(primary).Properties()+"}"
	switch theme {
	case "light":
		return light
	case "dark":
		return dark
	}
	return light + "@media (prefers-color-scheme:dark){" + dark + "}"
}
