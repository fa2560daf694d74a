package legacy

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
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
