package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/etag"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// Operation declares one operation of the App or the operator interface, beside its handler. Everything else follows
// from the declaration: the service's route with its checks and bindings (Mount), the OpenAPI document, from which
// the gateway's routes are generated (deploy/standalone/generate), and the table of roles that the tests check.
//
// Decision: the declaration is our own. huma v2 was tried: it validates a request against its schema before the
// handler runs, but here an unknown record (404) must be reported before a wrong field (400), and unknown members,
// the empty 403 and the form of errors all need hooks. Schemas come from Go types by swaggest/jsonschema-go;
// go-json-experiment decodes strictly in one pass.
type Operation struct {
	Method string // GET, POST, PUT, PATCH or DELETE
	Path   string // begins with /app/ or /operator/v1/; {name} is one path parameter
	ID     string // operationId of the document, unique on its interface
	Tag    string // the group in the document
	// Summary is a short sentence without a full stop. Description says what the types do not show.
	Summary     string
	Description string
	// Roles: the caller needs one of these roles, or the role admin. Empty: every member may call.
	Roles       []string
	Entitlement Entitlement
	// Access says how the caller must be authenticated: with a key or a session (Members), with a session (SignedIn), or
	// not at all (SignedOut).
	Access Access
	// Versioned: the record has a version. Responses carry its ETag, and writes take If-Match.
	Versioned bool
	// Status is the status of success. It is 204 exactly if the type of the response is None.
	Status int
	// Errors are the statuses beyond those that follow from the declaration (see Statuses).
	Errors []int
	// BodyOptional allows a request without a body.
	BodyOptional bool
	// MaxBody is the limit of a request body in bytes. 0: MaxBody of the package.
	MaxBody int64
	// Repeatable means that a repeated request changes nothing more, so the operation takes no Idempotency-Key.
	Repeatable bool
	// Example has the JSON of a request body and of its response. A test reads both strictly.
	Example Example

	// Parameters, Body and Response are the types of the handler's arguments and result. The type None means that there
	// is no such argument or result. Declare sets the types.
	Parameters, Body, Response reflect.Type
	handler                    gin.HandlerFunc
}

// Example is one request body and one response, as JSON. Empty: there is none.
type Example struct{ Request, Response string }

// Entitlement is a feature that an organization's plan must include for an operation.
type Entitlement string

const (
	NoEntitlement Entitlement = ""
	Integrations  Entitlement = "integrations"
	UptimeReports Entitlement = "uptimeReports"
)

// Access is the authentication that an operation of the App interface requires.
type Access string

const (
	Members   Access = ""          // a key or a session of the console
	SignedIn  Access = "signedIn"  // a session of the console; a key gets 403
	SignedOut Access = "signedOut" // the sign-in pages of the console, with or without a session; a key gets 403
)

// None is the type for absent parameters, an absent body or an absent response of an operation.
type None struct{}

// Call is one request to an operation with parameters P and body B. Its parameters are parsed and checked, and its
// body is valid JSON.
type Call[P, B any] struct {
	context.Context
	Caller     passport.Passport
	UserAgent  string // User-Agent of the request; the console sends the User-Agent of the member's browser
	Parameters P
	List       List   // for page tokens
	text       []byte // the body
	body       func() (B, error)
	ifMatch    []string
}

// Body returns the body, or an Invalid fault that names its first wrong member. An operation on a stored record calls
// Body after it has found the record and checked IfMatch, because these errors must be reported before a wrong
// member. It may call Body several times.
func (c *Call[P, B]) Body() (B, error) { return c.body() }

// Part decodes the body into the struct that into points to. It ignores members that the struct does not have. An
// operation that finds its record by members of the body calls Part before Body.
func (c *Call[P, B]) Part(into any) error {
	if c.text == nil {
		return nil
	}
	return decode(c.text, into, false)
}

// WithBody returns a handler that reads the body first.
func WithBody[P, B, R any](handler func(c *Call[P, B], in B) (R, error)) func(*Call[P, B]) (R, error) {
	return func(c *Call[P, B]) (R, error) {
		in, err := c.Body()
		if err != nil {
			return *new(R), err
		}
		return handler(c, in)
	}
}

// IfMatch returns a Conflict fault if the request has a header If-Match that does not name the
// version of the stored record (RFC 9110, section 13.1.1).
func (c *Call[P, B]) IfMatch(version int64) error {
	if len(c.ifMatch) == 0 || etag.Allows(c.ifMatch, etag.Version(version)) {
		return nil
	}
	return fault.New(fault.Conflict, "The record has changed: its ETag is now %s. Read it again, and repeat your change.", etag.Version(version))
}

// Versioned is a response that shows a record with a version. The response gets the ETag of this version.
type Versioned interface{ RecordVersion() int64 }

// Declare adds the handler to a declaration. The types of parameters, body and response are
// those of the handler.
//
// Fields of P have the tag path:"name" or query:"name". Body members are optional.Values where
// absent or null matters; the tags required:"true" and nullable:"true" apply to them.
func Declare[P, B, R any](operation Operation, handler func(*Call[P, B]) (R, error)) Operation {
	operation.Parameters, operation.Body, operation.Response = reflect.TypeFor[P](), reflect.TypeFor[B](), reflect.TypeFor[R]()
	operation.handler = Handle(func(c *gin.Context) error {
		call := Call[P, B]{Context: c.Request.Context(), Caller: Caller(c), UserAgent: c.Request.UserAgent(), List: listOf(c)}
		if operation.TakesIfMatch() {
			call.ifMatch = c.Request.Header.Values("If-Match")
		}
		text, err := operation.readBody(c)
		if err != nil {
			return err
		}
		call.text = text
		call.body = sync.OnceValues(func() (body B, err error) {
			if text != nil {
				err = decode(text, &body, true)
			}
			return body, err
		})
		if err := bindParameters(c, &call.Parameters); err != nil {
			return err
		}
		if operation.Body == reflect.TypeFor[None]() { // no handler calls Body, so check the body here
			if _, err := call.Body(); err != nil {
				return err
			}
		}
		response, err := handler(&call)
		if err != nil {
			return err
		}
		if versioned, is := any(response).(Versioned); is {
			c.Header("ETag", etag.Version(versioned.RecordVersion()))
		}
		if operation.Status == http.StatusNoContent {
			c.Status(http.StatusNoContent)
			c.Writer.WriteHeaderNow()
			return nil
		}
		c.PureJSON(operation.Status, response)
		return nil
	})
	return operation
}

// readBody returns the text of the body. It returns nil for a GET or DELETE whose operation has no body, and if no
// body was sent and none is required.
func (o Operation) readBody(c *gin.Context) ([]byte, error) {
	sent := c.Request.ContentLength != 0 && c.Request.Body != http.NoBody
	takesNone := o.Body == reflect.TypeFor[None]()
	switch {
	case takesNone && (o.Method == http.MethodGet || o.Method == http.MethodDelete):
		return nil, nil // the body has no meaning for these methods (RFC 9110, 9.3.1 and 9.3.5)
	case !sent && (takesNone || o.BodyOptional):
		return nil, nil
	}
	if o.MaxBody > 0 {
		Admit(c, o.MaxBody)
	}
	text, err := readJSON(c)
	if err == nil {
		err = checkJSON(text, o.Body)
	}
	return text, err
}

// Surface returns the interface that the operation belongs to.
func (o Operation) Surface() passport.Surface {
	if strings.HasPrefix(o.Path, "/operator/v1/") {
		return passport.Operator
	}
	return passport.App
}

// Idempotent reports whether the operation accepts an Idempotency-Key. Every write of the App interface does, except
// Repeatable writes and writes of the console alone: the console repeats its own forms instead.
func (o Operation) Idempotent() bool {
	return o.Surface() == passport.App && o.Access == Members && o.Method != http.MethodGet && !o.Repeatable
}

// TakesIfMatch reports whether the operation accepts If-Match. Every write of a stored record with a version does.
func (o Operation) TakesIfMatch() bool {
	creates := o.Method == http.MethodPost && !strings.Contains(o.Path, "{")
	return o.Versioned && o.Method != http.MethodGet && !creates
}

// Allows reports whether a member with the roles may call the operation.
func (o Operation) Allows(roles ...string) bool {
	return len(o.Roles) == 0 || passport.Passport{Roles: roles}.Has(o.Roles...)
}

// Statuses returns the statuses that the document lists for the operation, in rising order.
func (o Operation) Statuses() []int {
	statuses := append([]int{
		o.Status, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusServiceUnavailable,
	}, o.Errors...)
	hasBody := o.Body != reflect.TypeFor[None]()
	if hasBody || o.Idempotent() {
		statuses = append(statuses, http.StatusRequestEntityTooLarge)
	}
	if hasBody || o.Parameters != reflect.TypeFor[None]() || o.Surface() == passport.App {
		statuses = append(statuses, http.StatusBadRequest) // at least for an unknown query parameter
	}
	if strings.Contains(o.Path, "{") {
		statuses = append(statuses, http.StatusNotFound)
	}
	if o.Idempotent() || o.TakesIfMatch() {
		statuses = append(statuses, http.StatusConflict)
	}
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// check returns an error if the declaration is incomplete or contradicts its handler.
func (o Operation) check() error {
	var failures []error
	fail := func(format string, args ...any) {
		failures = append(failures, fmt.Errorf("operation %s %s: "+format, append([]any{o.Method, o.Path}, args...)...))
	}
	if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, o.Method) {
		fail("the method is unknown")
	}
	if !strings.HasPrefix(o.Path, "/app/") && !strings.HasPrefix(o.Path, "/operator/v1/") {
		fail("the path is on no interface that declares operations")
	}
	if o.ID == "" || o.Tag == "" || o.Summary == "" {
		fail("ID, Tag and Summary are required")
	}
	if (o.Status == http.StatusNoContent) != (o.Response == reflect.TypeFor[None]()) || o.Status < 200 || o.Status > 299 {
		fail("status %d does not go with the response %v", o.Status, o.Response)
	}
	if o.Response.Implements(reflect.TypeFor[Versioned]()) && !o.Versioned {
		fail("its response has a version, but the operation is not Versioned")
	}
	for _, role := range o.Roles {
		if !slices.Contains([]string{passport.RoleAdmin, passport.RoleEvent, passport.RoleSubscriber, passport.RoleAPI}, role) {
			fail("role %q is unknown", role)
		}
	}
	if !slices.Contains([]Entitlement{NoEntitlement, Integrations, UptimeReports}, o.Entitlement) {
		fail("entitlement %q is unknown", o.Entitlement)
	}
	if !slices.Contains([]Access{Members, SignedIn, SignedOut}, o.Access) || o.Access != Members && o.Surface() != passport.App {
		fail("access %q is unknown on its interface", o.Access)
	}
	if o.Access == SignedOut && (len(o.Roles) > 0 || o.Entitlement != NoEntitlement) {
		fail("a caller who is signed out has neither a role nor an entitlement")
	}
	var inPath, declared []string
	for _, match := range pathParameter.FindAllStringSubmatch(o.Path, -1) {
		inPath = append(inPath, match[1])
	}
	for _, field := range parameterFields(o.Parameters) {
		if name := field.Tag.Get("path"); name != "" {
			declared = append(declared, name)
		}
	}
	if !slices.Equal(inPath, declared) {
		fail("the path has the parameters %v, the handler takes %v", inPath, declared)
	}
	return errors.Join(failures...)
}

// Mount adds the operations' routes to the engine. It returns an error if a declaration is incomplete or contradicts
// its handler, or if two operations of one interface have the same ID. The service then does not start.
func Mount(engine *gin.Engine, operations []Operation) error {
	ids := map[string]bool{}
	for _, operation := range operations {
		if err := operation.check(); err != nil {
			return err
		}
		id := string(operation.Surface()) + " " + operation.ID
		if ids[id] {
			return fmt.Errorf("operation %s %s: another one has the ID %s", operation.Method, operation.Path, operation.ID)
		}
		ids[id] = true
		engine.Handle(operation.Method, pathParameter.ReplaceAllString(operation.Path, ":$1"),
			Surface(operation.Surface()), operation.admit, operation.handler)
	}
	return nil
}

// admit responds with an error to a caller whom Access, Roles or Entitlement of the operation exclude. The plan's
// feature API applies to keys only.
func (o Operation) admit(c *gin.Context) {
	caller := Caller(c)
	switch {
	case o.Surface() != passport.App:
	case o.Access == SignedOut:
		if !caller.ByConsole() {
			Fail(c, fault.New(fault.Forbidden, "Only the sign-in pages of the console can call this."))
		}
	case caller.Session == "" && caller.ByConsole():
		Fail(c, fault.New(fault.Forbidden, "Sign in first."))
	case o.Access == SignedIn && caller.Session == "":
		Fail(c, fault.New(fault.Forbidden, "This needs a session of the console. A key cannot call it."))
	case caller.Session == "" && !caller.Features.API:
		Fail(c, passport.ErrNoAPI)
	case !o.Allows(caller.Roles...):
		Fail(c, fault.New(fault.Forbidden, "Your role does not allow this."))
	case o.Entitlement == Integrations && !caller.Features.Integrations:
		Fail(c, fault.New(fault.Forbidden, "The plan of your organization does not include integrations."))
	case o.Entitlement == UptimeReports && !caller.Features.UptimeReports:
		Fail(c, fault.New(fault.Forbidden, "The plan of your organization does not include uptime reports."))
	}
}
