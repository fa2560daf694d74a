package locale

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// placeholder matches a placeholder in a word: a name in braces.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// Name returns the words for a value of the API, such as the status inprogress. For an unknown value it returns a text
// made from the value: "Some thing" for "some_thing".
func (l *Locale) Name(group, name string) string {
	if text := l.Texts[group+"."+name]; text != "" {
		return text
	}
	return Capital(strings.NewReplacer("_", " ", "-", " ").Replace(OneLine(name)))
}

// Capital returns the text with a capital first letter.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// OneLine replaces each run of white space and control characters by one space, and removes such runs at the ends. It also
// removes characters that change the direction of the text after them.
func OneLine(text string) string { return richtext.Line(text) }

// word is one value of a file of words.
type word struct {
	text string
	line int
}

// parseWords parses a file of words: one JSON object with strings.
func parseWords(file string, content []byte) (map[string]word, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	line := func() int {
		return 1 + bytes.Count(content[:min(int(decoder.InputOffset()), len(content))], []byte("\n"))
	}
	token := func() (json.Token, error) {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, failed(file, 1+bytes.Count(content, []byte("\n")), "the JSON object has no end")
		case err != nil:
			return nil, failed(file, line(), "%v", err)
		}
		return token, nil
	}
	next := func() (string, error) {
		token, err := token()
		if err != nil {
			return "", err
		}
		text, isString := token.(string)
		if !isString {
			return "", failed(file, line(), "must be one JSON object with texts, without %v", token)
		}
		return text, nil
	}
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, failed(file, line(), "must be a JSON object")
	}
	words := make(map[string]word)
	for decoder.More() {
		key, err := next()
		if err != nil {
			return nil, err
		}
		at := line()
		text, err := next()
		if err != nil {
			return nil, err
		}
		if _, repeated := words[key]; repeated {
			return nil, failed(file, at, "the key %q is there twice", key)
		}
		words[key] = word{text, at}
	}
	if _, err := token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, failed(file, line(), "must end after the JSON object")
	}
	return words, nil
}

// checkWords returns an error if a key is not a key of Default, if a text is empty or not one line, or if a text has a
// placeholder that the text of Default does not have.
func checkWords(file string, words map[string]word, known map[string]string) error {
	keys := slices.Collect(maps.Keys(words))
	slices.SortFunc(keys, func(a, b string) int { return words[a].line - words[b].line })
	for _, key := range keys {
		own := words[key]
		original, found := known[key]
		switch {
		case !found:
			return failed(file, own.line, "the key %q is unknown", key)
		case strings.TrimSpace(own.text) == "":
			return failed(file, own.line, "the text of %q must not be empty", key)
		case OneLine(own.text) != own.text:
			return failed(file, own.line, "the text of %q must be one line without spaces at its ends", key)
		}
		for _, name := range placeholder.FindAllString(own.text, -1) {
			if !strings.Contains(original, name) {
				return failed(file, own.line, "the text of %q has the unknown placeholder %s", key, name)
			}
		}
	}
	return nil
}
