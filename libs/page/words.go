package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"golang.org/x/text/language"
)

//go:embed words/*.json
var sharedWords embed.FS

// Words are the words that the pages of all services share, in one language.
type Words struct {
	Lang     string `json:"-"` // BCP 47
	Language string // the language's own name

	Components, SubscribeButton            string
	WrongAddress                           string // beside a field with an email address
	WrongComponents, WrongChoice           string // beside the components: unknown ones, none
	ConfirmIntro                           string // %s %s: the receiver and the dashboard
	ConfirmedText, ManageIntro             string // %s %s: the dashboard and the receiver
	Paused, Save, Saved                    string
	Suppressed                             string
	NotFound, NoOffer, NoLink              string // the pages of errors: heading, then texts
	Gone, EndedLink                        string
	Locked                                 string
	Wrong, WrongForm, TooMany, TooManyText string
}

// Error returns the heading and the text of the page of an error. locked is the text of a refusal, other that of an error without
// words of its own.
func (w Words) Error(status int, locked, other string) (title, text string) {
	switch status {
	case http.StatusNotFound:
		return w.NotFound, w.NoLink
	case http.StatusGone:
		return w.Gone, w.EndedLink
	case http.StatusForbidden:
		return w.Locked, locked
	case http.StatusTooManyRequests:
		return w.TooMany, w.TooManyText
	case http.StatusUnprocessableEntity:
		return w.Wrong, w.WrongForm
	}
	return w.Wrong, other
}

// Languages are the words of a service in every language that its pages have. The first is the default. T has the words of the
// service, and embeds Words.
type Languages[T any] struct {
	all     []T
	matcher language.Matcher
}

// Locales returns the languages of the pages, the default first.
func Locales() []string {
	return []string{"en", "de", "es", "fr", "it", "ja", "nl", "pl", "pt", "zh"}
}

// ReadLanguages reads the words of a service, one file words/{lang}.json for each of Locales. shared returns the part of T that is
// Words. It returns an error if a word is missing in a language.
func ReadLanguages[T any](files fs.FS, shared func(*T) *Words) (Languages[T], error) {
	var l Languages[T]
	var tags []language.Tag
	for _, lang := range Locales() {
		var words T
		shared(&words).Lang = lang
		if err := readWords(sharedWords, lang, shared(&words)); err != nil {
			return l, err
		}
		if err := readWords(files, lang, &words); err != nil {
			return l, err
		}
		if err := complete(reflect.ValueOf(words), reflect.ValueOf(append(l.all, words)[0])); err != nil {
			return l, fmt.Errorf("page: the words of %s: %w", lang, err)
		}
		l.all, tags = append(l.all, words), append(tags, language.Make(lang))
	}
	l.matcher = language.NewMatcher(tags)
	return l, nil
}

// readWords adds the words of a file.
func readWords(files fs.FS, lang string, into any) error {
	name := path.Join("words", lang+".json")
	text, err := fs.ReadFile(files, name)
	if err == nil {
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(into)
	}
	if err != nil {
		return fmt.Errorf("page: %s: %w", name, err)
	}
	return nil
}

var placeholder = regexp.MustCompile(`%(\[\d\])?.`)

// complete returns an error unless there is every word, with as many places for values as in the default language.
func complete(words, first reflect.Value) error {
	for field, value := range words.Fields() {
		want := first.FieldByIndex(field.Index)
		if value.Kind() == reflect.Struct {
			if err := complete(value, want); err != nil {
				return err
			}
			continue
		}
		if value.String() == "" || len(placeholder.FindAllString(value.String(), -1)) != len(placeholder.FindAllString(want.String(), -1)) {
			return fmt.Errorf("%s is %q", field.Name, value)
		}
	}
	return nil
}

// All returns the words in every language.
func (l Languages[T]) All() []T { return l.all }

// For returns the words in the language of the visitor that the page is for (About). If the pages do not have that language, it
// returns those in the language of the dashboard, and then those that the browser asks for.
func (l Languages[T]) For(c *gin.Context) T {
	if words, known := l.find(c.GetString(localeKey)); known {
		return words
	}
	if words, known := l.find(dashboardFrame(c).Lang); known {
		return words
	}
	wanted, _, _ := language.ParseAcceptLanguage(c.GetHeader("Accept-Language")) // wrong: none
	for _, tag := range wanted {
		if words, known := l.find(tag.String()); known {
			return words
		}
	}
	return l.all[0]
}

// find returns the words in the language of a locale, and false if the pages do not have that language.
func (l Languages[T]) find(locale string) (words T, known bool) {
	wanted, err := language.Parse(locale)
	if err != nil {
		return words, false
	}
	_, at, confidence := l.matcher.Match(wanted)
	return l.all[at], confidence > language.Low
}
