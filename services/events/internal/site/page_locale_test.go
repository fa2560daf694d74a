package site

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/feature/plural"
)

func TestLocalesHaveTheSameKeysAndPlaceholders(t *testing.T) {
	all, err := readLocales()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "zh"}; !slices.Equal(slices.Sorted(maps.Keys(all)), want) {
		t.Fatalf("the locales are %v", slices.Sorted(maps.Keys(all)))
	}
	english := all["en"]
	placeholder := regexp.MustCompile(`{\w+}`)
	placeholders := func(text string) []string { return slices.Sorted(slices.Values(placeholder.FindAllString(text, -1))) }
	for lang, l := range all {
		if got, want := slices.Sorted(maps.Keys(l.Words)), slices.Sorted(maps.Keys(english.Words)); !slices.Equal(got, want) {
			t.Errorf("%s: the words are %v, want %v", lang, got, want)
		}
		if got, want := slices.Sorted(maps.Keys(l.Plurals)), slices.Sorted(maps.Keys(english.Plurals)); !slices.Equal(got, want) {
			t.Errorf("%s: the plurals are %v, want %v", lang, got, want)
		}
		for key, text := range l.Words {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s is empty", lang, key)
			}
			if !strings.HasPrefix(key, "format.") && !slices.Equal(placeholders(text), placeholders(english.Words[key])) {
				t.Errorf("%s: %s has other placeholders than in English: %s", lang, key, text)
			}
		}
		for _, months := range [][]string{l.Months, l.ShortMonths, l.MonthTitles} {
			if len(months) != 12 {
				t.Errorf("%s has %d months", lang, len(months))
			}
		}
		if l.Dir != "ltr" && l.Dir != "rtl" {
			t.Errorf("%s: dir is %q", lang, l.Dir)
		}
	}
}

// French has a narrow space that does not break before double punctuation and the percent sign.
func TestFrenchPunctuation(t *testing.T) {
	marks := regexp.MustCompile("[^\u202f][:;?!%]")
	for key, text := range newSite(t).words["fr"].Words {
		if marks.MatchString(text) {
			t.Errorf("%s has no narrow space: %s", key, text)
		}
	}
}

// Each plural has exactly the forms that the language uses for whole numbers.
func TestPluralsHaveTheFormsOfTheLanguage(t *testing.T) {
	for lang, l := range newSite(t).words {
		forms := map[string]bool{}
		for n := range 1000 {
			forms[pluralForms()[plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)]] = true
		}
		for key, texts := range l.Plurals {
			if got, want := slices.Sorted(maps.Keys(texts)), slices.Sorted(maps.Keys(forms)); !slices.Equal(got, want) {
				t.Errorf("%s: %s has the forms %v, want %v", lang, key, got, want)
			}
		}
	}
}

// computedKeys are the beginnings of keys that the program completes with a value.
var computedKeys = []string{"overall.", "state.", "status.", "kind.", "subscribe.", "sent."}

func TestEachWordIsUsed(t *testing.T) {
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "templates/*.html"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(text)
		}
	}
	english := newSite(t).words["en"]
	values := []string{"operational", "under_maintenance", "degraded_performance", "partial_outage", "major_outage", "investigating", "identified", "monitoring", "resolved", "planning", "started", "inprogress", "verifying", "completed", "update", "incident", "maintenance", "email", "sms", "whatsapp", "webhook", "teams", "gchat"}
	for key := range english.Words {
		computed := slices.ContainsFunc(computedKeys, func(prefix string) bool {
			value, is := strings.CutPrefix(key, prefix)
			return is && slices.Contains(values, value) && strings.Contains(sources.String(), `"`+prefix+`"`)
		})
		if !computed && !strings.Contains(sources.String(), `"`+key+`"`) {
			t.Errorf("nothing uses the word %s", key)
		}
	}
	for key := range english.Plurals {
		if !strings.Contains(sources.String(), `"`+key+`"`) {
			t.Errorf("nothing uses the plural %s", key)
		}
	}
}

func TestDatesFollowTheLanguageAndTheZone(t *testing.T) {
	at := time.Date(2026, 7, 1, 22, 5, 0, 0, time.UTC)
	for _, one := range []struct{ lang, zone, time, day, month string }{
		{"en", "Europe/Berlin", "Jul 2, 2026, 00:05 CEST", "July 2, 2026", "July 2026"},
		{"de", "Europe/Berlin", "2. Juli 2026, 00:05 CEST", "2. Juli 2026", "Juli 2026"},
		{"pl", "America/Sao_Paulo", "1 lip 2026, 19:05 UTC\u22123", "1 lipca 2026", "Lipiec 2026"},
		{"pt", "Asia/Kathmandu", "2 de jul. de 2026, 03:50 UTC+5:45", "2 de julho de 2026", "Julho de 2026"},
		{"ja", "Asia/Tokyo", "2026年7月2日 07:05 JST", "2026年7月2日", "2026年7月"},
		{"fr", "no/where", "1 juil. 2026, 22:05 UTC", "1 juillet 2026", "Juillet 2026"},
	} {
		d := newDates(newSite(t).words[one.lang], one.zone, at)
		if got := d.moment(at).Text; got != one.time {
			t.Errorf("%s: the time is %q, want %q", one.lang, got, one.time)
		}
		if got := d.title(d.dayOf(at)).Text; got != one.day {
			t.Errorf("%s: the day is %q, want %q", one.lang, got, one.day)
		}
		if got := d.monthTitle("2026-07"); got != one.month {
			t.Errorf("%s: the month is %q, want %q", one.lang, got, one.month)
		}
	}
}

func TestNumbers(t *testing.T) {
	s := newSite(t)
	for _, one := range []struct {
		lang     string
		value    float64
		decimals int
		want     string
	}{
		{"en", 100, 2, "100.00%"}, {"en", 99.999999, 3, "99.999%"}, {"en", 99.98, 2, "99.98%"}, {"en", 99.996, 2, "99.99%"}, {"en", 99.9, 0, "99%"},
		{"de", 99.5, 1, "99,5\u00a0%"}, {"fr", 99.5, 1, "99,5\u202f%"}, {"pl", 0, 0, "0%"},
	} {
		if got := s.words[one.lang].percent(one.value, one.decimals); got != one.want {
			t.Errorf("%s: %v with %d decimals is %q, want %q", one.lang, one.value, one.decimals, got, one.want)
		}
	}
	for _, one := range []struct {
		lang string
		of   time.Duration
		want string
	}{
		{"en", 30 * time.Second, "less than a minute"},
		{"en", time.Minute, "1\u00a0min"},
		{"en", 95 * time.Minute, "1\u00a0h 35\u00a0min"},
		{"en", 2 * time.Hour, "2\u00a0h"},
		{"en", 49*time.Hour + 5*time.Minute, "2\u00a0days 1\u00a0h"},
		{"de", 24*time.Hour + 5*time.Minute, "1\u00a0Tag 5\u00a0Min."},
		{"pl", 5 * 24 * time.Hour, "5\u00a0dni"},
	} {
		if got := s.words[one.lang].duration(one.of); got != one.want {
			t.Errorf("%s: %v is %q, want %q", one.lang, one.of, got, one.want)
		}
	}
	for n, want := range map[int]string{1: "1 komponent", 3: "3 komponenty", 5: "5 komponentów", 22: "22 komponenty", 112: "112 komponentów"} {
		if got := s.words["pl"].count("group.components", n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// A value that looks like a placeholder stays as it is.
func TestFilledReadsNoPlaceholderInAValue(t *testing.T) {
	if got := filled("{a} and {b}", []any{"a", "{b}", "b", "{a}"}); got != "{b} and {a}" {
		t.Error(got)
	}
}
