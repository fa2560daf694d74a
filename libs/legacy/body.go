package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
// surrogate pair. Of members with one name the last counts.
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
	if !jsontext.Value(content).IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil, invalid("The texts of the body must be Unicode.")
	}
	return object, nil
}
