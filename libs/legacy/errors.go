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

// WriteError writes the response to a failed request: {"error": "..."}, and an empty body for a Denied fault. The cause
// of a 5xx goes to log, with the context of the request, which carries the trace.
func WriteError(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	writeFault(w, r, log, err, "", nil)
}

// WriteNotAllowed writes the response to OPTIONS, and 405 for any other method. Both have the exact Allow header.
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

// printable shortens a client's text for a message.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return text
}

// writeFault writes err. A 400 to a body for the resource has the body of validationError. The text of an Internal
// fault goes to the log only. The legacy interface has no 409: a Conflict is a 400.
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
	if code >= http.StatusInternalServerError && r.Context().Err() != context.Canceled { // canceled: the client is gone
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

// validationError returns {"error": "...", "<resource>": {field: [...]}} with the faults, in this order.
// The error is the first message, with its field in front.
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
			name, text = "__all__", problem.Message // a fault of no single field
		}
		summary = cmp.Or(summary, text)
		fields[name] = append(fields[name], problem.Message)
	}
	return json.RawMessage(`{"error":` + string(encode(summary)) + `,` + string(encode(resource)) + `:` + string(encode(fields)) + `}`)
}
