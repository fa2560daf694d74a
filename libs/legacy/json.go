package legacy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Encode returns a value as JSON with literal &, <, > and non-ASCII characters.
func Encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return literal(bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))), nil
}

// literal replaces the escapes of U+2028 and U+2029, which encoding/json always writes and JSON does not need.
func literal(body []byte) []byte {
	if !bytes.Contains(body, []byte(`\u202`)) {
		return body
	}
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		switch {
		case bytes.HasPrefix(body, []byte(`\u2028`)):
			out, body = append(out, "\u2028"...), body[6:]
		case bytes.HasPrefix(body, []byte(`\u2029`)):
			out, body = append(out, "\u2029"...), body[6:]
		case body[0] == '\\':
			out, body = append(out, body[:2]...), body[2:] // another escape
		default:
			out, body = append(out, body[0]), body[1:]
		}
	}
	return out
}

// encode is Encode for values of this package, which cannot fail.
func encode(value any) []byte {
	body, err := Encode(value)
	if err != nil {
		panic(err)
	}
	return body
}

// WriteJSON writes a JSON response, without the body if the request is a HEAD. A POST that the override makes a HEAD
// gets Content-Length 0, because its sender reads as many bytes as are announced.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if r.Method == http.MethodPost && Method(r) == http.MethodHead {
		body = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client is gone
	}
}
