package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Encode returns a value as JSON with literal &, <, > and non-ASCII characters.
func Encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	body := jsontext.Value(bytes.TrimSuffix(buffer.Bytes(), []byte("\n")))
	if bytes.Contains(body, []byte(`\u202`)) { // encoding/json always escapes U+2028 and U+2029
		err := body.Format(jsontext.PreserveRawStrings(false))
		return body, err
	}
	return body, nil
}

// encode is Encode for values of this package, which cannot fail.
func encode(value any) []byte {
	body, err := Encode(value)
	if err != nil {
		panic(err)
	}
	return body
}

// WriteJSON writes a JSON response, without the body if the request is a HEAD. If a POST became a HEAD by the
// override header, Content-Length is 0: to the client it is a POST, so it would wait for a body of the announced
// length.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if r.Method == http.MethodPost && Method(r) == http.MethodHead {
		body = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client has disconnected
	}
}

// readBody returns the JSON object of a POST or PUT. Numbers are json.Number, so that their text is not changed.
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

// parseBody decodes a JSON object. It returns an error for texts that encoding/json would silently change to U+FFFD:
// invalid UTF-8, and one half of an escaped surrogate pair. If a name occurs twice, the last member counts.
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

const timeLayout = "2006-01-02T15:04:05"

// ParseTime parses yyyy-mm-ddThh:mm:ss with an optional fraction and an optional Z, always UTC, and truncates the
// result to milliseconds.
func ParseTime(text string) (time.Time, bool) {
	text = strings.TrimSuffix(text, "Z")
	whole, _, _ := strings.Cut(text, ".")
	// time.Parse also accepts hours with one digit, and a fraction after a comma. The check of the length excludes them.
	t, err := time.Parse(timeLayout, text)
	if err != nil || len(whole) != len(timeLayout) || t.Year() == 0 {
		return time.Time{}, false
	}
	return t.Truncate(time.Millisecond), true
}

// FormatTime returns t in UTC without a zone, with six digits of fraction if the fraction is not zero.
func FormatTime(t time.Time) string {
	t = t.UTC()
	if t.Nanosecond()/int(time.Microsecond) == 0 {
		return t.Format(timeLayout)
	}
	return t.Format(timeLayout + ".000000")
}

// Time is a time in a view, encoded by FormatTime.
type Time time.Time

// TimeOf converts an optional time. It returns nil for nil.
func TimeOf(t *time.Time) *Time { return (*Time)(t) }

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return []byte(FormatTime(time.Time(t))), nil }
