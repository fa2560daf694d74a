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

// readBody returns the JSON object of a POST or PUT. Numbers keep their text.
func readBody(r *http.Request) (map[string]any, error) {
	if media := r.Header.Get("Content-Type"); media != "" {
		media, _, _ = strings.Cut(media, ";") // parameters have no effect: JSON is UTF-8
		if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
			return nil, fault.New(fault.MediaType, "The Content-Type must be application/json.")
		}
	}
	content, err := io.ReadAll(r.Body)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fault.New(fault.TooLarge, "The body must be at most %d bytes.", large.Limit)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body is incomplete. Send the whole body.")
	}
	return parseBody(content)
}

// parseBody refuses texts that encoding/json would silently change to U+FFFD: invalid UTF-8, and the escape of half a
// surrogate pair.
func parseBody(content []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var object map[string]any
	err := decoder.Decode(&object)
	if err != nil || object == nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body must be a JSON object.")
	}
	if _, trailing := decoder.Token(); !errors.Is(trailing, io.EOF) {
		return nil, invalid("The body must be one JSON object, with nothing behind it.")
	}
	if !utf8.Valid(content) || halfEscaped(content) {
		return nil, invalid("The texts of the body must be Unicode.")
	}
	return object, nil
}

// halfEscaped reports whether valid JSON has an escape \ud800 to \udfff that is not part of a pair. In valid JSON a
// backslash always starts a complete escape.
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

// escapedUnit returns the UTF-16 unit of the \uXXXX at the start of text.
func escapedUnit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(unit), err == nil
}
