// Package words contains the words of every locale, for the pages of visitors and for messages.
//
// Decisions: The words of a locale are one file, so that a translator need not know Go and a test can compare the keys. A
// page or a message uses one section of the file and the shared section. Every locale has the section Pages. Only
// some locales have the section Messages, and messages use Default for the others.
package words

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed locales
var files embed.FS

// Default is the locale that is used if no other locale fits.
const Default = "en"

// Tags returns the shipped locales (BCP 47) in the order in which the interfaces list them.
func Tags() []string {
	return []string{
		Default, "de", "es", "fr", "it", "nl", "pl", "pt", "ja", "zh",
	}
}

// Section is a part of the words of a locale.
type Section string

const (
	Pages    Section = "pages"    // pages of dashboards and pages that links in messages open
	Messages Section = "messages" // mail, cards of chat programs, SMS and WhatsApp messages
	shared   Section = "shared"   // part of every other section
)

// Locale is a section of the words of one locale.
type Locale struct {
	Tag   string // BCP 47
	Texts map[string]string

	tag language.Tag
}

// Locales contains one section of the words, in all locales that have the section. The first locale is Default.
type Locales struct {
	all     []*Locale
	matcher language.Matcher
}

// Open returns a section of the shipped words.
func Open(section Section) (Locales, error) {
	var all []*Locale
	for _, tag := range Tags() {
		content, err := files.ReadFile("locales/" + tag + ".json")
		if err != nil {
			return Locales{}, fmt.Errorf("words: %w", err)
		}
		var sections map[Section]map[string]string
		if err := json.Unmarshal(content, &sections); err != nil {
			return Locales{}, fmt.Errorf("words: %s.json: %w", tag, err)
		}
		if texts, has := sections[section]; has {
			maps.Copy(texts, sections[shared])
			all = append(all, &Locale{Tag: tag, Texts: texts})
		}
	}
	return New(all), nil
}

// New returns the Locales of all. The first of all must be Default. New sorts the others by tag.
func New(all []*Locale) Locales {
	slices.SortFunc(all[1:], func(a, b *Locale) int { return strings.Compare(a.Tag, b.Tag) })
	tags := make([]language.Tag, len(all))
	for i, l := range all {
		l.tag = language.Make(l.Tag)
		tags[i] = l.tag
	}
	return Locales{all, language.NewMatcher(tags)}
}

// All returns the locales.
func (l Locales) All() []*Locale { return l.all }

// Find returns the best locale for a tag, such as de for de-AT, and how well it fits. The confidence is language.No if no
// locale fits, or if the tag is empty or invalid.
func (l Locales) Find(tag string) (*Locale, language.Confidence) {
	wanted, err := language.Parse(tag)
	if err != nil || tag == "" {
		return l.all[0], language.No
	}
	_, index, confidence := l.matcher.Match(wanted)
	return l.all[index], confidence
}

// Word returns the text of a key. pairs contains names of placeholders, each followed by its value. The text of an unknown
// key is the key.
func (l *Locale) Word(key string, pairs ...any) string {
	text, known := l.Texts[key]
	if !known {
		return key
	}
	return fill(text, pairs)
}

// Count returns the text of a key in the plural form of n. It replaces {n} by n.
func (l *Locale) Count(key string, n int, pairs ...any) string {
	form := forms()[plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)]
	return l.Word(key+"."+form, append([]any{"n", n}, pairs...)...)
}

// forms returns the names of the plural forms in keys.
func forms() map[plural.Form]string {
	return map[plural.Form]string{
		plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many",
	}
}

// fill replaces each {name} by its value. It does not replace placeholders within a value, and does not change an
// unknown {name}.
func fill(text string, pairs []any) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return out.String() + text
		}
		out.WriteString(before)
		at := 0
		for at+1 < len(pairs) && pairs[at] != name {
			at += 2
		}
		if at+1 < len(pairs) {
			fmt.Fprint(&out, pairs[at+1])
		} else {
			out.WriteString("{" + name + "}")
		}
		text = after
	}
}
