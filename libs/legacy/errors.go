package legacy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// AllFields is the key of a validation error that is about no single field.
const AllFields = "__all__"

// cannedMessage is all a client learns about a failure of ours.
const cannedMessage = "Sorry, this request could not be processed. Please try again later."

// WriteError answers with an error in the form of this interface: {"error": "..."};
// nothing at all in the body of a Denied one. Causes of 5xx go to log with the
// context of the request, which carries the trace.
func WriteError(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	writeFault(w, r, log, err, nil)
}

// WriteNotAllowed answers 405 with the exact Allow, or what OPTIONS asks for.
func WriteNotAllowed(w http.ResponseWriter, r *http.Request, path Path) {
	w.Header().Set("Allow", path.Allow())
	if Method(r) == http.MethodOptions {
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
		return
	}
	message := fault.New(fault.Method, "The method %s is not allowed here; allowed: %s.", printable(Method(r)), path.Allow())
	WriteJSON(w, r, http.StatusMethodNotAllowed, encode(errorBody{Error: message.Message}))
}

// printable bounds a client's own text in a message.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return text
}

type errorBody struct {
	Error        string `json:"error"`
	ErrorMessage string `json:"error_message,omitempty"`
}

// status is the legacy reading of a kind: this interface knows no 409.
func status(kind fault.Kind) int {
	if kind == fault.Conflict {
		return http.StatusBadRequest
	}
	return kind.Status()
}

// writeFault renders err; validation, when not nil, makes the per-field object. What an
// Internal fault says is for the log, whoever wrote it.
func writeFault(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error, validation func([]*fault.Error) any) {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fault.Wrap(fault.Unavailable, err, "This took too long; try again shortly.")
	}
	first := fault.As(err)
	code := status(first.Kind)
	switch {
	case first.Kind == fault.Denied:
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(code)
	case first.Kind == fault.Unavailable:
		logFailure(log, r, code, err)
		w.Header().Set("Retry-After", "1")
		WriteJSON(w, r, code, encode(errorBody{Error: first.Message, ErrorMessage: cannedMessage}))
	case code >= http.StatusInternalServerError:
		logFailure(log, r, code, err)
		WriteJSON(w, r, code, encode(errorBody{Error: "Something went wrong on our side.", ErrorMessage: cannedMessage}))
	case code == http.StatusBadRequest && validation != nil:
		WriteJSON(w, r, code, encode(validation(faults(err))))
	default:
		WriteJSON(w, r, code, encode(errorBody{Error: first.Message}))
	}
}

func logFailure(log *slog.Logger, r *http.Request, code int, err error) {
	if r.Context().Err() == context.Canceled {
		return // the client went away, nothing failed
	}
	log.ErrorContext(r.Context(), "a legacy request failed", "method", r.Method, "path", r.URL.Path, "status", code, "error", err)
}

// faults are all the faults that err joins.
func faults(err error) []*fault.Error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*fault.Error
		for _, one := range joined.Unwrap() {
			all = append(all, faults(one)...)
		}
		return all
	}
	return []*fault.Error{fault.As(err)}
}

// validationError is {"error": "...", "<resource>": {field: [...]}}.
func validationError(resource string, rename map[string]string) func([]*fault.Error) any {
	return func(all []*fault.Error) any {
		fields := map[string][]string{}
		for _, one := range all {
			name := one.Field
			if renamed, ok := rename[name]; ok {
				name = renamed
			}
			if name == "" {
				name = AllFields
			}
			fields[name] = append(fields[name], one.Message)
		}
		return map[string]any{"error": summary(fields, all), resource: fields}
	}
}

func summary(fields map[string][]string, all []*fault.Error) string {
	for name, messages := range fields {
		if len(all) == 1 && name != AllFields {
			return name + ": " + messages[0]
		}
	}
	return all[0].Message
}
