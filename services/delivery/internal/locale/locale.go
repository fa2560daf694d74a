// Package locale loads the words and the templates of messages. The shipped ones are in files/. An operator's folder
// overrides them and adds locales.
//
// Decisions: The words of a locale are one flat file, so that a translator needs no Go and a test compares the keys.
// A template is parsed once for each locale, so that its function t needs no argument for the locale. Open executes
// every template with samples of every kind of message, so that an operator's mistake stops the start instead of a
// notification. If an operator's template fails nevertheless, the shipped one is used.
package locale

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"golang.org/x/text/language"
)

// Default is the locale of every word that another locale lacks.
const Default = "en"

// Locales holds the words and templates of every locale.
type Locales struct {
	all     []*Locale // Default is the first
	matcher language.Matcher
}

// Locale holds the words and templates of one locale.
type Locale struct {
	Tag     string // BCP 47
	words   map[string]string
	shipped map[Template]executable
	own     map[Template]executable // of the operator
	log     *slog.Logger
}

// Open returns the shipped locales with those of the operator's folder. An empty folder name means none. The error has
// one line, with the file and its line.
func Open(folder string, log *slog.Logger) (*Locales, error) {
	var own fs.FS
	if folder != "" {
		if _, err := os.ReadDir(folder); err != nil {
			return nil, cause(folder, err)
		}
		own = os.DirFS(folder)
	}
	return open(own, log)
}

func open(own fs.FS, log *slog.Logger) (*Locales, error) {
	shipped, err := readShipped()
	if err != nil {
		return nil, err
	}
	added, err := readFolder(own, shipped)
	if err != nil {
		return nil, err
	}
	locales, tags := &Locales{}, []language.Tag(nil)
	for _, name := range names(shipped, added) {
		tag := language.Make(name)
		l := &Locale{Tag: name, words: merge(tag, shipped, added), log: log}
		if l.shipped, err = parseAll(l, shipped.templates, tag); err != nil {
			return nil, err
		}
		if l.own, err = parseAll(l, added.templates, tag); err != nil {
			return nil, err
		}
		if err := l.check(); err != nil {
			return nil, err
		}
		if missing := missing(tag, shipped, added); len(missing) > 0 {
			log.Warn("A locale lacks words. They are sent in another language.", "locale", name, "missing", len(missing), "first", missing[0])
		}
		locales.all, tags = append(locales.all, l), append(tags, tag)
	}
	locales.matcher = language.NewMatcher(tags)
	return locales, nil
}

// For returns the locale of a message: of the first of the BCP 47 tags for which there is one, such as de for de-AT,
// and otherwise Default. Empty and invalid tags count as none.
func (l *Locales) For(tags ...string) *Locale {
	for _, tag := range tags {
		wanted, err := language.Parse(tag)
		if err != nil || tag == "" {
			continue
		}
		if _, index, confidence := l.matcher.Match(wanted); confidence != language.No {
			return l.all[index]
		}
	}
	return l.all[0]
}

// names returns the names of all locales, with Default first.
func names(all ...files) []string {
	names := []string{Default}
	for _, some := range all {
		for name := range some.words {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names[1:])
	return names
}

// merge returns the words of a locale. Those of the locale take precedence over those of a more general one, those of
// the operator over the shipped ones, and any over those of Default.
func merge(tag language.Tag, shipped, added files) map[string]string {
	words := make(map[string]string)
	order := append(chain(tag), Default)
	for _, name := range slices.Backward(order) {
		for _, some := range []files{shipped, added} {
			for key, word := range some.words[name] {
				words[key] = word.text
			}
		}
	}
	return words
}

// missing returns the keys for which a locale has only the words of Default.
func missing(tag language.Tag, shipped, added files) []string {
	var keys []string
	for key := range shipped.words[Default] {
		if !slices.ContainsFunc(chain(tag), func(name string) bool {
			_, here := shipped.words[name][key]
			_, there := added.words[name][key]
			return here || there
		}) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// chain returns the tag and those that are more general: de-AT, de. It omits the root.
func chain(tag language.Tag) []string {
	var names []string
	for ; tag != language.Und; tag = tag.Parent() {
		names = append(names, tag.String())
	}
	return names
}

// failed returns an error about a line of a file.
func failed(file string, line int, format string, arguments ...any) error {
	return fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, arguments...))
}
