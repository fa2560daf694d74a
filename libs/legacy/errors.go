package legacy

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// retryMessage is the error_message of a 5xx.
const retryMessage = "Sorry, this request could not be processed. Please try again later."

type errorBody struct {
	Error        string `json:"error"`
	ErrorMessage string `json:"error_message,omitempty"`
}

// WriteError writes the response to a failed request: {"error": "..."}, for a 5xx also error_message, and an empty body
// for a Denied fault. It logs the cause of a 5xx with the trace of the request, unless the client has disconnected.
func WriteError(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	writeFault(w, r, log, err, "", nil)
}

// WriteNotAllowed responds to OPTIONS, and responds with 405 to any other method. Both responses have the Allow
// header of the path.
func WriteNotAllowed(w http.ResponseWriter, r *http.Request, path Path) {
	w.Header().Set("Allow", path.Allow())
	if Method(r) == http.MethodOptions {
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
		return
	}
	message := "The method " + printable(Method(r)) + " is not allowed here. Use " + path.Allow() + "."
	WriteJSON(w, r, http.StatusMethodNotAllowed, encode(errorBody{Error: message}))
}

// printable returns a client's text for a message: at most 40 characters, and "..." if the text is longer.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return text
}

// writeFault writes the response for err. If resource is not empty, a 400 has the body of validationError. The text
// of an Internal fault appears only in the log. The legacy interface has no status 409, so a Conflict is a 400.
func writeFault(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error, resource string, rename map[string]string) {
	first := fault.As(err)
	code := first.Kind.Status()
	if first.Kind == fault.Conflict {
		code = http.StatusBadRequest
	}
	message := first.Message
	switch {
	case first.Kind == fault.Denied:
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(code)
		return
	case first.Kind == fault.Unavailable:
		w.Header().Set("Retry-After", "1")
	case code >= http.StatusInternalServerError:
		message = "Something went wrong on our side."
	case code == http.StatusBadRequest && resource != "":
		WriteJSON(w, r, code, validationError(resource, rename, faults(err)))
		return
	}
	body := errorBody{Error: message}
	if code >= http.StatusInternalServerError {
		body.ErrorMessage = retryMessage
	}
	if code >= http.StatusInternalServerError && r.Context().Err() != context.Canceled { // canceled: the client has disconnected
		log.ErrorContext(r.Context(), "a legacy request failed", "method", r.Method, "path", r.URL.Path, "status", code, "error", err)
	}
	WriteJSON(w, r, code, encode(body))
}

// faults returns all faults that err joins.
func faults(err error) []*fault.Error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []*fault.Error{fault.As(err)}
	}
	var all []*fault.Error
	for _, part := range joined.Unwrap() {
		all = append(all, faults(part)...)
	}
	return all
}

// validationError returns {"error": "...", "<resource>": {field: [...]}} for the faults, in their order. The error is
// the name of the first fault's field and its message.
func validationError(resource string, rename map[string]string, all []*fault.Error) json.RawMessage {
	fields := map[string][]string{}
	summary := ""
	for _, problem := range all {
		name := problem.Field[strings.LastIndex(problem.Field, ".")+1:] // only the last part of services[1].name
		if renamed, ok := rename[name]; ok {
			name = renamed
		}
		text := name + ": " + problem.Message
		if name == "" {
			name, text = "__all__", problem.Message // a fault that belongs to no single field
		}
		summary = cmp.Or(summary, text)
		fields[name] = append(fields[name], problem.Message)
	}
	return json.RawMessage(`{"error":` + string(encode(summary)) + `,` + string(encode(resource)) + `:` + string(encode(fields)) + `}`)
}
