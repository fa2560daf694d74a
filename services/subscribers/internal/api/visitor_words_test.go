package api

import (
	"reflect"
	"strings"
	"testing"
)

// Each language has every word, with the same places for values as English.
func TestEveryLanguageHasEveryWord(t *testing.T) {
	first := reflect.ValueOf(english())
	for _, w := range languages() {
		value := reflect.ValueOf(w)
		for field, text := range value.Fields() {
			want := first.FieldByName(field.Name).String()
			if text.String() == "" || strings.Count(text.String(), "%s") != strings.Count(want, "%s") || strings.Count(text.String(), "%") != strings.Count(want, "%s") {
				t.Errorf("%s.%s is %q", w.Lang, field.Name, text.String())
			}
		}
	}
}

func TestWordsForALocale(t *testing.T) {
	for want, locales := range map[string][][]string{
		"de": {{"de"}, {"de-AT"}, {"DE_ch"}, {"", "de"}, {"fr", "de", "en"}, {"nonsense!", "de-DE"}},
		"en": {{}, {""}, {"fr"}, {"en-GB", "de"}, {"x"}, {"zh-Hant"}},
	} {
		for _, of := range locales {
			if got := wordsFor(of...).Lang; got != want {
				t.Errorf("%q: %s, want %s", of, got, want)
			}
		}
	}
}
