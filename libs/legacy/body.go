package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

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
	if err != nil || object == nil {
		return nil, fault.Wrap(fault.Invalid, err, "The body is not a JSON object.")
	}
	return object, nil
}
