package legacy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Encode writes a value as JSON with &, <, > and non-ASCII characters literal.
func Encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return literal(bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))), nil
}

// literal undoes the two escapes that encoding/json cannot be talked out of: U+2028 and
// U+2029, which JSON does not ask for.
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
			out, body = append(out, body[:2]...), body[2:] // another escape, whole
		default:
			out, body = append(out, body[0]), body[1:]
		}
	}
	return out
}

// encode is Encode for values of this package, that cannot fail.
func encode(value any) []byte {
	body, err := Encode(value)
	if err != nil {
		panic(err)
	}
	return body
}

// WriteJSON answers with a JSON body; without the body when the request is a HEAD. To a
// POST that is a HEAD by its override an empty body is announced: its sender reads as many
// bytes as are.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if r.Method == http.MethodPost && Method(r) == http.MethodHead {
		body = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client is gone: nobody is left to tell
	}
}
