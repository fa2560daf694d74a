// Package locale loads the words and the templates of messages. The shipped words are in libs/words, the shipped templates in
// files/. An operator's folder overrides them and adds locales.
//
// Decisions: A template is parsed once for each locale, so that its function t needs no argument for the locale. Open
// executes every template of the operator with samples of every kind of message, so that an operator's mistake stops the
// start instead of a notification. If an operator's template fails nevertheless, the shipped template is used.
package locale

import (
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/words"
	"golang.org/x/text/language"
)

// Default is the locale whose words are used if another locale lacks a word.
const Default = words.Default

// Locales holds the words and templates of every locale.
type Locales struct {
	words words.Locales
	byTag map[string]*Locale
}

// Locale holds the words and templates of one locale.
type Locale struct {
	*words.Locale
	shipped map[Template]executable
	own     map[Template]executable // the operator's templates
	log     *slog.Logger
}

// Open returns the shipped locales and those of the operator's folder. folder may be "". An error has one line. It names the
// file and, if possible, the line in it.
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
	locales, all := &Locales{byTag: make(map[string]*Locale)}, []*words.Locale(nil)
	for _, name := range names(shipped, added) {
		tag := language.Make(name)
		l := &Locale{Locale: &words.Locale{Tag: name, Texts: merge(tag, shipped, added)}, log: log}
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
		locales.byTag[name], all = l, append(all, l.Locale)
	}
	locales.words = words.New(all)
	return locales, nil
}

// For returns the locale for the first BCP 47 tag that has a locale. A more general locale counts, such as de for
// de-AT. If no tag has a locale, For returns Default.
func (l *Locales) For(tags ...string) *Locale {
	for _, tag := range tags {
		if found, confidence := l.words.Find(tag); confidence != language.No {
			return l.byTag[found.Tag]
		}
	}
	return l.byTag[Default]
}

// names returns the names of all locales, with Default first.
func names(shipped, added files) []string {
	names := []string{Default}
	for _, all := range []files{shipped, added} {
		for name := range all.words {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// merge returns the words of a locale. Words of the locale take precedence over words of a more general locale, and both over
// words of Default. Within one locale, the operator's words take precedence over the shipped ones.
func merge(tag language.Tag, shipped, added files) map[string]string {
	texts := make(map[string]string)
	for _, name := range slices.Backward(append(chain(tag), Default)) {
		maps.Copy(texts, shipped.words[name])
		maps.Copy(texts, added.words[name])
	}
	return texts
}

// missing returns the keys for which the locale uses the words of Default, because neither the locale nor a more general
// locale has words for them.
func missing(tag language.Tag, shipped, added files) []string {
	var keys []string
	for key := range shipped.words[Default] {
		if !slices.ContainsFunc(chain(tag), func(name string) bool { return shipped.words[name][key] != "" || added.words[name][key] != "" }) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// chain returns the tag and all more general tags, such as de-AT and de. It omits the tag "und".
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
