package words

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

func opened(t *testing.T, section Section) Locales {
	t.Helper()
	all, err := Open(section)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func locale(t *testing.T, section Section, tag string) *Locale {
	t.Helper()
	found, confidence := opened(t, section).Find(tag)
	if confidence != language.Exact {
		t.Fatalf("there is no locale %s", tag)
	}
	return found
}

func TestEachFileIsALocaleOfTheListAndEachLocaleHasPages(t *testing.T) {
	entries, err := files.ReadDir("locales")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".json"))
	}
	if tags := slices.Sorted(slices.Values(Tags())); !slices.Equal(names, tags) {
		t.Errorf("the folder locales has %v, and Tags are %v", names, tags)
	}
	if pages, tags := opened(t, Pages).All(), Tags(); len(pages) != len(tags) || pages[0].Tag != Default {
		t.Errorf("%d of %d locales have pages", len(pages), len(tags))
	}
}

// withoutForm returns a key without the name of a plural form at its end.
func withoutForm(key string) string {
	at := strings.LastIndexByte(key, '.')
	if at > 0 && slices.Contains(slices.Collect(maps.Values(forms())), key[at+1:]) && key != "endpoint.other" {
		return key[:at]
	}
	return key
}

func keys(l *Locale) []string {
	all := map[string]bool{}
	for key := range l.Texts {
		all[withoutForm(key)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func TestEachLocaleHasTheKeysAndPlaceholdersOfTheDefault(t *testing.T) {
	placeholder := regexp.MustCompile(`{[^{}]*}`)
	placeholders := func(text string) []string { return slices.Sorted(slices.Values(placeholder.FindAllString(text, -1))) }
	for _, section := range []Section{Pages, Messages} {
		all := opened(t, section).All()
		for _, l := range all {
			if got, want := keys(l), keys(all[0]); !slices.Equal(got, want) {
				t.Errorf("%s: %s has the keys %v, want %v", l.Tag, section, got, want)
			}
			for key, text := range l.Texts {
				if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\r\n\t") {
					t.Errorf("%s: %s is %q", l.Tag, key, text)
				}
				original, known := all[0].Texts[key]
				if known && !strings.HasPrefix(key, "format.") && !slices.Equal(placeholders(text), placeholders(original)) {
					t.Errorf("%s: %s has other placeholders than in %s: %s", l.Tag, key, Default, text)
				}
			}
		}
	}
}

func TestNoLocaleIsACopyOfEnglish(t *testing.T) {
	for _, section := range []Section{Pages, Messages} {
		all := opened(t, section).All()
		for _, l := range all[1:] {
			same, sentences := 0, 0
			for key, text := range all[0].Texts {
				if strings.Contains(text, " ") && l.Texts[key] != "" {
					sentences++
					if l.Texts[key] == text {
						same++
					}
				}
			}
			if same*10 > sentences {
				t.Errorf("%s: %d of %d texts of the section %s are English", l.Tag, same, sentences, section)
			}
		}
	}
}

func TestPluralsHaveTheFormsOfTheLanguage(t *testing.T) {
	all := opened(t, Pages).All()
	for _, l := range all {
		used := map[string]bool{}
		for n := range 1000 {
			used[forms()[plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)]] = true
		}
		for key := range all[0].Texts {
			base := withoutForm(key)
			for form := range maps.Values(forms()) {
				if _, has := l.Texts[base+"."+form]; base != key && has != used[form] {
					t.Errorf("%s: the form %s of %s exists: %t", l.Tag, form, base, has)
				}
			}
		}
	}
	for n, want := range map[int]string{1: "1 komponent", 3: "3 komponenty", 5: "5 komponentów", 22: "22 komponenty", 112: "112 komponentów"} {
		if got := locale(t, Pages, "pl").Count("group.components", n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// French has a narrow space that does not break before double punctuation and the percent sign.
func TestFrenchHasANarrowSpaceBeforePunctuation(t *testing.T) {
	marks := regexp.MustCompile("[^\u202f][:;?!%]([^/]|$)")
	for key, text := range locale(t, Pages, "fr").Texts {
		if marks.MatchString(text) {
			t.Errorf("%s has no narrow space: %s", key, text)
		}
	}
}

func TestDirectionIsLeftOrRight(t *testing.T) {
	for _, l := range opened(t, Pages).All() {
		if dir := l.Word("dir"); dir != "ltr" && dir != "rtl" {
			t.Errorf("%s: dir is %q", l.Tag, dir)
		}
	}
}

func TestFindReturnsTheBestLocaleOfATag(t *testing.T) {
	all := opened(t, Pages)
	for tag, want := range map[string]string{
		"de": "de", "DE_at": "de", "pt-BR": "pt", "zh-CN": "zh", "fr-CA": "fr", "hu": "", "nonsense!": "", "": "", "x": "",
	} {
		found, confidence := all.Find(tag)
		if got := found.Tag; want == "" && confidence != language.No || want != "" && (got != want || confidence == language.No) {
			t.Errorf("%q is %s with confidence %v, want %q", tag, got, confidence, want)
		}
	}
}

func TestWordReadsNoPlaceholderInAValue(t *testing.T) {
	l := &Locale{Texts: map[string]string{"key": "{a} and {b} {c} {"}}
	if got := l.Word("key", "a", "{b}", "b", 3); got != "{b} and 3 {c} {" {
		t.Error(got)
	}
	if got := l.Word("other"); got != "other" {
		t.Error(got)
	}
}
