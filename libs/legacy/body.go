package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// readBody reads the JSON object of a POST or PUT. Numbers stay as they were written.
func readBody(r *http.Request) (map[string]any, error) {
	if media := r.Header.Get("Content-Type"); media != "" {
		media, _, _ = strings.Cut(media, ";") // parameters say nothing: JSON is UTF-8
		if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
			return nil, fault.New(fault.MediaType, "The body must be JSON (Content-Type: application/json).")
		}
	}
	content, err := io.ReadAll(r.Body)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fault.New(fault.TooLarge, "The body is larger than %d bytes.", large.Limit)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body ended before its end.")
	}
	return parseBody(content)
}

// parseBody is strict where encoding/json would silently put U+FFFD into a text: what is
// not UTF-8, and an escape of half a character, is malformed.
func parseBody(content []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var object map[string]any
	err := decoder.Decode(&object)
	if err == nil {
		if _, trailing := decoder.Token(); !errors.Is(trailing, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if err == nil && (!utf8.Valid(content) || halfEscaped(content)) {
		err = errors.New("a text is not Unicode")
	}
	if err != nil || object == nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body is not a JSON object.")
	}
	return object, nil
}

// halfEscaped reports a \ud800 to \udfff that is not one of a pair, in JSON of sound
// syntax: there, a backslash is always the begin of a whole escape.
func halfEscaped(content []byte) bool {
	for {
		at := bytes.IndexByte(content, '\\')
		if at < 0 {
			return false
		}
		content = content[at:]
		first, ok := escapedUnit(content)
		switch {
		case !ok:
			content = content[2:]
		case !utf16.IsSurrogate(first):
			content = content[6:]
		default:
			second, ok := escapedUnit(content[6:])
			if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
				return true
			}
			content = content[12:]
		}
	}
}

// escapedUnit is the UTF-16 unit of the \uXXXX with which text begins.
func escapedUnit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(unit), err == nil
}
