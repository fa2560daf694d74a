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
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// encode is Encode for values of this package, that cannot fail.
func encode(value any) []byte {
	body, err := Encode(value)
	if err != nil {
		panic(err)
	}
	return body
}

// WriteJSON answers with a JSON body; without the body when the request is a HEAD.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if Method(r) != http.MethodHead {
		_, _ = w.Write(body) // the client is gone: nobody is left to tell
	}
}
