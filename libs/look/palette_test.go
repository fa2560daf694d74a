package look

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestColorsHaveEnoughContrast(t *testing.T) {
	for _, p := range []Palette{Light(), Dark()} {
		for name, c := range map[string]color{"text": p.text, "soft": p.soft, "accent": p.accent, "o": p.o, "m": p.m, "d": p.d, "p": p.p, "x": p.x} {
			for _, background := range []color{p.ground, p.card} {
				if got := contrast(c, background); got < minContrast {
					t.Errorf("%s: %s has the contrast %.2f on %s", p.scheme, name, got, background)
				}
			}
		}
		if got := contrast(p.n, p.card); got < 3 { // graphics: WCAG 2.2, 1.4.11
			t.Errorf("%s: n has the contrast %.2f", p.scheme, got)
		}
		// The columns of operational days, the tinted cards and the text on them are mixed by the style.
		if got := contrast(mix(p.o, p.card, 0.82), p.card); got < 3 {
			t.Errorf("%s: the columns have the contrast %.2f", p.scheme, got)
		}
		for _, state := range []color{p.o, p.m, p.d, p.p, p.x} {
			for _, c := range []color{p.text, p.soft, p.accent} {
				if got := contrast(c, mix(state, p.card, 0.09)); got < minContrast {
					t.Errorf("%s: %s has the contrast %.2f on a card with %s", p.scheme, c, got, state)
				}
			}
		}
	}
	if got := contrast(color{}, color{255, 255, 255}); got < 20.99 || got > 21.01 {
		t.Errorf("black on white has the contrast %f", got)
	}
}

func mix(a, b color, share float64) (mixed color) {
	for i := range a {
		mixed[i] = uint8(share*float64(a[i]) + (1-share)*float64(b[i]))
	}
	return mixed
}

func TestPrimaryColorIsCorrectedOnEachBackground(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	colors := []color{{}, {255, 255, 255}, {255, 255, 0}, {0, 0, 255}, {128, 128, 128}}
	for range 500 {
		colors = append(colors, color{uint8(random.IntN(256)), uint8(random.IntN(256)), uint8(random.IntN(256))})
	}
	for _, p := range []Palette{Light(), Dark()} {
		for _, c := range colors {
			got := p.Branded(c.String()).accent
			before := min(contrast(c, p.ground), contrast(c, p.card))
			if after := min(contrast(got, p.ground), contrast(got, p.card)); after < minContrast {
				t.Errorf("%s: %s becomes %s with the contrast %.2f", p.scheme, c, got, after)
			}
			if before >= minContrast && got != c {
				t.Errorf("%s: %s is readable and becomes %s", p.scheme, c, got)
			}
		}
		for _, text := range []string{"", "red", "#12345", "#1234567", "123456#", "#gggggg"} {
			if p.Branded(text).accent != p.accent {
				t.Errorf("%q is a colour", text)
			}
		}
	}
}

func TestThemeSelectsThePalettes(t *testing.T) {
	light, dark := "color-scheme:light", "color-scheme:dark"
	for theme, want := range map[string][2]bool{"light": {true, false}, "dark": {false, true}, "auto": {true, true}, "": {true, true}} {
		css := Colors(theme, "")
		if got := [2]bool{strings.Contains(css, light), strings.Contains(css, dark)}; got != want {
			t.Errorf("%q: %s", theme, css)
		}
	}
}
