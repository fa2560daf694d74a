package main

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/declared"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const appDescription = `Everything under /app. Calls are counted per organization and minute. Ids are UUIDs. Times are ISO 8601 in UTC
with milliseconds. A list returns a nextToken, null on its last page: the same request with that token returns the next page. A body is
JSON. An unknown member of a body and an unknown query parameter are errors. A member with the role admin may call every operation.`

const operatorDescription = `Provisioning of organizations, users and keys by whoever operates the installation. The interface exists
only if BELLBUOY_OPERATOR_TOKEN is set. Without it every path gets 404.`

func writeApp() ([]byte, error) {
	d, err := declaredDocument(passport.App)
	if err != nil {
		return nil, err
	}
	return d.write("Bellbuoy App interface", appDescription,
		object{{"bearer", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "<keyId>:<secret>"}}}})
}

func writeOperator() ([]byte, error) {
	d, err := declaredDocument(passport.Operator)
	if err != nil {
		return nil, err
	}
	return d.write("Bellbuoy operator interface", operatorDescription,
		object{{"operatorToken", object{{"type", "apiKey"}, {"in", "header"}, {"name", "Authorization"},
			{"description", "Operator <token>, with the token of BELLBUOY_OPERATOR_TOKEN."}}}})
}

// declaredDocument returns the document of the App interface or of the operator interface.
func declaredDocument(surface passport.Surface) (*document, error) {
	d := newDocument()
	for _, operation := range declared.Operations() {
		if operation.Surface() != surface {
			continue
		}
		if err := d.describe(operation); err != nil {
			return nil, fmt.Errorf("%s %s: %w", operation.Method, operation.Path, err)
		}
	}
	return d, nil
}

func (d *document) describe(of declared.Operation) (err error) {
	out := operation{
		path: of.Path, method: of.Method, id: of.ID, tag: of.Tag, summary: of.Summary, service: of.Service,
		description: strings.TrimSpace(of.Description + " " + admission(of)),
	}
	if out.parameters, err = d.parametersOf(of.Parameters); err != nil {
		return err
	}
	headers := []string{}
	if of.Response.Implements(reflect.TypeFor[web.Versioned]()) {
		headers = append(headers, "ETag")
	}
	if of.Idempotent() {
		headers = append(headers, "Idempotency-Replayed")
		out.parameters = append(out.parameters, d.parameter("IdempotencyKey", idempotencyKey))
	}
	if of.TakesIfMatch() {
		out.parameters = append(out.parameters, d.parameter("IfMatch", ifMatch))
	}
	if of.Body != reflect.TypeFor[web.None]() {
		content, err := d.content(of.Body, true, of.Example.Request)
		if err != nil {
			return err
		}
		if of.Method == http.MethodPatch {
			d.atLeastOneMember(of.Body)
		}
		out.body = object{{"required", !of.BodyOptional}, {"content", content}}
	}
	var content object
	if of.Status != http.StatusNoContent {
		if content, err = d.content(of.Response, false, of.Example.Response); err != nil {
			return err
		}
	}
	out.responses = object{{strconv.Itoa(of.Status), d.response(http.StatusText(of.Status)+".", content, headers...)}}
	out.responses = d.fails(out.responses, appFailures(), slices.DeleteFunc(of.Statuses(), func(status int) bool { return status == of.Status })...)
	out.access, out.maxBody = string(of.Access), of.MaxBody
	d.add(out)
	return nil
}

var idempotencyKey = object{
	{"name", "Idempotency-Key"}, {"in", "header"},
	{"description", "The same key and body within 24 h returns the first response again. The same key with another body gets 409."},
	{"schema", object{{"type", "string"}, {"maxLength", 255}}},
}

var ifMatch = object{
	{"name", "If-Match"}, {"in", "header"},
	{"description", "The ETag of the record that the client has read. The operation gets 409 if the record has changed since."},
	{"schema", object{{"type", "string"}}},
}

// admission returns sentences about the roles, the access and the entitlement that a call needs, or "".
func admission(operation declared.Operation) string {
	var out []string
	if len(operation.Roles) > 0 {
		out = append(out, "Role: "+strings.Join(operation.Roles, " or ")+".")
	}
	switch operation.Access {
	case web.SignedIn:
		out = append(out, "Only the web console calls it, for a member with a session. A key gets 403.")
	case web.SignedOut:
		out = append(out, "Only the sign-in pages of the web console call it. A key gets 403.")
	}
	if operation.Entitlement != web.NoEntitlement {
		out = append(out, "Entitlement: "+string(operation.Entitlement)+".")
	}
	return strings.Join(out, " ")
}

func appFailures() map[int]failure {
	return map[int]failure{
		400: {description: "A parameter or the body is wrong. The error names the field.", example: "name: is required"},
		403: {description: "Without a body: there is no valid key, or there were too many calls (then with Retry-After). With an error: the role or the plan does not allow the call, or only the web console may make it.",
			example: "Your role does not allow this.", headers: []string{"Retry-After"}},
		404: {description: "There is no such record.", example: "There is no such record."},
		405: {description: "The path does not have this method.", example: "The path does not have this method.", headers: []string{"Allow"}},
		409: {description: "The request conflicts with a stored record or with its version, or its Idempotency-Key was used for another request.",
			example: "The Idempotency-Key was used for another request."},
		413: {description: "The body is larger than 1 MiB.", example: "The body must be at most 1048576 bytes."},
		429: {description: "There were too many tries.", example: "There were too many tries. Try again later.", headers: []string{"Retry-After"}},
		503: {description: "A part of the platform cannot be reached. A repetition may succeed.", example: "The platform is not available at the moment.", headers: []string{"Retry-After"}},
	}
}
