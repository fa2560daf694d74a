package site

import (
	"strings"
	"testing"
	"time"
)

func TestAPeriodNamesItsDayOnce(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, one := range []struct{ lang, from, to, want string }{
		{"en", "2026-11-22T08:00:00Z", "2026-11-22T09:30:00Z", "Nov 22, 2026, 09:00 – 10:30 CET"},
		{"de", "2026-11-22T08:00:00Z", "2026-11-22T08:00:40Z", "22. Nov. 2026, 09:00 – 09:00 CET"},
		{"ja", "2026-11-22T08:00:00Z", "2026-11-22T09:30:00Z", "2026年11月22日 09:00 – 10:30 CET"},
		{"en", "2026-11-22T08:00:00Z", "", "Nov 22, 2026, 09:00 CET"},
		{"en", "2026-11-22T22:30:00Z", "2026-11-22T23:30:00Z", "Nov 22, 2026, 23:30 CET – Nov 23, 2026, 00:30 CET"},  // in UTC on one day
		{"en", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "Oct 25, 2026, 02:30 CEST – Oct 25, 2026, 02:30 CET"}, // the hour comes twice
	} {
		d := newDates(t, one.lang, "Europe/Berlin")
		var to *time.Time
		if one.to != "" {
			to = pointer(at(one.to))
		}
		var texts []string
		for _, m := range d.period(at(one.from), to) {
			texts = append(texts, m.Text)
		}
		if got := strings.Join(texts, " – "); got != one.want {
			t.Errorf("%s: %s to %s is %q, want %q", one.lang, one.from, one.to, got, one.want)
		}
	}
}

func TestColonOfTheLocale(t *testing.T) {
	s := troubledPage()
	for lang, want := range map[string][]string{
		"en": {"Affected components: ", `aria-label="API: `}, "fr": {"Composants concernés\u202f: ", "aria-label=\"API\u202f: "}, "zh": {"受影响的组件：", `aria-label="API：`},
	} {
		s.Dashboard.Locale = lang
		text := string(render(t, newSite(t), s, "").Body)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the page lacks %q", lang, part)
			}
		}
	}
}
