package site

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed locales/*.json
var localeFiles embed.FS

// locale is the words, plural forms and date formats of a language. Each locale is one file.
type locale struct {
	tag  language.Tag
	Lang string `json:"-"`
	Dir  string `json:"dir"`

	// The names of the twelve months: within a date, abbreviated, and alone as a heading.
	Months      []string `json:"months"`
	ShortMonths []string `json:"shortMonths"`
	MonthTitles []string `json:"monthTitles"`

	Words   map[string]string            `json:"words"`
	Plurals map[string]map[string]string `json:"plurals"` // by key and plural form
}

// defaultLang is the locale of a dashboard whose locale has no file.
const defaultLang = "en"

func readLocales() (map[string]*locale, error) {
	files, err := localeFiles.ReadDir("locales")
	if err != nil {
		return nil, err
	}
	all := map[string]*locale{}
	for _, file := range files {
		text, err := localeFiles.ReadFile(path.Join("locales", file.Name()))
		if err != nil {
			return nil, err
		}
		l := &locale{Lang: strings.TrimSuffix(file.Name(), ".json")}
		if err := json.Unmarshal(text, l); err != nil {
			return nil, fmt.Errorf("site: %s: %w", file.Name(), err)
		}
		if l.tag, err = language.Parse(l.Lang); err != nil {
			return nil, fmt.Errorf("site: %s: %w", file.Name(), err)
		}
		all[l.Lang] = l
	}
	return all, nil
}

// word returns the text of a key. pairs are names and values of its placeholders. An unknown key panics: the keys are
// part of the program.
func (l *locale) word(key string, pairs ...any) string {
	text, known := l.Words[key]
	if !known {
		panic("site: the locale " + l.Lang + " has no word " + key)
	}
	return filled(text, pairs)
}

// count returns the text of a key in the plural form of n. {n} stands for n.
func (l *locale) count(key string, n int, pairs ...any) string {
	form := pluralForms()[plural.Cardinal.MatchPlural(l.tag, n, 0, 0, 0, 0)]
	text, known := l.Plurals[key][form]
	if !known {
		panic("site: the locale " + l.Lang + " has no form " + form + " of " + key)
	}
	return filled(text, append([]any{"n", n}, pairs...))
}

func pluralForms() map[plural.Form]string {
	return map[plural.Form]string{
		plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many",
	}
}

// filled replaces each {name} by its value. A value is never read for placeholders.
func filled(text string, pairs []any) string {
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

// percent returns a percentage with the number of decimals. It rounds down, so that 99.999 never reads 100.
func (l *locale) percent(value float64, decimals int) string {
	millionths := int64(math.Round(value * 1e6))
	unit := int64(math.Pow10(6 - decimals))
	text := strconv.FormatFloat(float64(millionths/unit)/math.Pow10(decimals), 'f', decimals, 64)
	return l.word("format.percent", "n", strings.Replace(text, ".", l.word("format.decimal"), 1))
}

// duration returns a length of time in its two largest units, of days, hours and minutes.
func (l *locale) duration(d time.Duration) string {
	minutes := int(d.Minutes())
	days, hours := minutes/(24*60), minutes/60%24
	minutes %= 60
	var parts []string
	if days > 0 {
		parts = append(parts, l.count("unit.day", days))
	}
	if hours > 0 {
		parts = append(parts, l.word("unit.hour", "n", hours))
	}
	if minutes > 0 && len(parts) < 2 {
		parts = append(parts, l.word("unit.minute", "n", minutes))
	}
	if len(parts) == 0 {
		return l.word("unit.less")
	}
	return strings.Join(parts, " ")
}

// date writes a time in one of the formats.
func (l *locale) date(format string, t time.Time) string {
	month := int(t.Month())
	return l.word(format, "d", t.Day(), "m", month, "y", t.Year(), "month", l.Months[month-1], "short", l.ShortMonths[month-1],
		"title", l.MonthTitles[month-1], "clock", clock(t), "zone", zoneName(t))
}

// clock writes the time of day.
func clock(t time.Time) string { return t.Format("15:04") }

// zoneName returns the abbreviation of a zone, or its offset from UTC if it has none.
func zoneName(t time.Time) string {
	name, offset := t.Zone()
	if !strings.HasPrefix(name, "+") && !strings.HasPrefix(name, "-") {
		return name
	}
	sign, minutes := "+", offset/60
	if offset < 0 {
		sign, minutes = "\u2212", -minutes
	}
	name = "UTC" + sign + strconv.Itoa(minutes/60)
	if minutes%60 != 0 {
		name += fmt.Sprintf(":%02d", minutes%60)
	}
	return name
}
