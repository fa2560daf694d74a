package richtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// IsBlank reports whether a plain text shows nothing: it is empty, or has only white space and invisible characters, such as
// U+200B, a Hangul filler or the blank pattern of Braille.
func IsBlank(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return !unicode.IsSpace(c) && c != '\u2800' && !unicode.In(c, unicode.Cc, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	})
}

// CheckLine returns an Invalid fault without a field if a title or a name has a control character or a line break, or if it
// would change the direction of the text after it. Text in Hebrew or Arabic needs no override or embedding (U+202A to
// U+202E), which Unicode has replaced by isolates. An isolate (U+2066 to U+2069) keeps a name in other letters in order. A
// closed isolate does not change the direction of the text after it.
func CheckLine(text string) error {
	if strings.ContainsFunc(text, breaksLine) {
		return fault.New(fault.Invalid, "must be one line without control characters")
	}
	return checkDirection(text)
}

func checkDirection(text string) error {
	switch {
	case strings.ContainsFunc(text, isOverride):
		return fault.New(fault.Invalid, "must not have the characters U+202A to U+202E, which change the direction of text")
	case !closesIsolates(text):
		return fault.New(fault.Invalid, "must close each of the characters U+2066 to U+2068, which change the direction of text, with U+2069")
	}
	return nil
}

// Line returns a text as one line, which passes CheckLine: without characters that change the direction of the text after
// them, with one blank for each run of white space and control characters, and without white space at its ends. XML and
// iCalendar forbid most control characters, and XML also forbids U+FFFE and U+FFFF, which Line replaces too.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(undirected(strings.ToValidUTF8(text, "\uFFFD")), func(c rune) bool {
		return unicode.IsSpace(c) || breaksLine(c) || c == 0xFFFE || c == 0xFFFF
	}), " ")
}

// AllowedInHTML returns -1 for control characters and noncharacters, which HTML forbids, so that bytes.Map removes them. It
// returns every other character unchanged.
func AllowedInHTML(c rune) rune {
	switch {
	case c < ' ' && c != '\t' && c != '\n', c >= 0x7f && c < 0xa0, c >= 0xfdd0 && c <= 0xfdef, c&0xfffe == 0xfffe:
		return -1
	}
	return c
}

// Shorten cuts a text that is longer than limit characters. The last of the limit characters is then an ellipsis, without white
// space before it.
func Shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimRightFunc(string([]rune(text)[:limit-1]), unicode.IsSpace) + "…"
}

// CheckText returns an Invalid fault without a field if a text of several lines has control characters other than line breaks
// and tabs, or if it would change the direction of the text after it, as CheckLine does for one line.
func CheckText(text string) error {
	if strings.ContainsFunc(text, isHidden) {
		return fault.New(fault.Invalid, "must not have control characters other than line breaks and tabs")
	}
	return checkDirection(text)
}

// Text returns a text that passes CheckText: with \n for each line break, without other control characters than tabs and
// without characters that change the direction of the text after them.
func Text(text string) string {
	return undirected(visible(text))
}

// undirected returns a text without characters that change the direction of the text after them.
func undirected(text string) string {
	open := !closesIsolates(text)
	return strings.Map(func(c rune) rune {
		if isOverride(c) || open && isIsolate(c) {
			return -1
		}
		return c
	}, text)
}

// isHidden reports whether c is a control character other than a line break or a tab.
func isHidden(c rune) bool {
	return unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t'
}

func breaksLine(c rune) bool { return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' }

// isOverride reports whether c is an override or an embedding of a direction, or the end of one.
func isOverride(c rune) bool { return c >= '\u202A' && c <= '\u202E' }

// isIsolate reports whether c begins or ends a text with its own direction.
func isIsolate(c rune) bool { return c >= '\u2066' && c <= endOfIsolate }

const endOfIsolate = '\u2069'

// closesIsolates reports whether each isolate of a text has its end, and each end its isolate.
func closesIsolates(text string) bool {
	open := 0
	for _, c := range text {
		switch {
		case c == endOfIsolate:
			if open--; open < 0 {
				return false
			}
		case isIsolate(c):
			open++
		}
	}
	return open == 0
}
