package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

type boatParameters struct {
	Paging
	ID    string  `path:"id" format:"uuid"`
	Kind  *string `query:"kind" enum:"sloop,ketch"`
	Month string  `query:"month" required:"true"`
}

type boatView struct {
	ID    string  `json:"id"`
	Kind  *string `json:"kind"`
	Limit int     `json:"limit"`
}

func showBoat(c *Call[boatParameters, None]) (boatView, error) {
	return boatView{c.Parameters.ID, c.Parameters.Kind, c.Parameters.Limit}, nil
}

func boatOperation() Operation {
	return Operation{Method: "GET", Path: "/app/boats/{id}", ID: "getBoat", Tag: "boats", Summary: "Get a boat", Status: 200}
}

// get mounts the operation for a caller and requests path. It returns the status and the body.
func get(t *testing.T, caller passport.Passport, operation Operation, path string) string {
	t.Helper()
	_, engine := gin.CreateTestContext(httptest.NewRecorder())
	engine.Use(func(c *gin.Context) { c.Request = c.Request.WithContext(passport.With(c.Request.Context(), caller)) })
	if err := Mount(engine, []Operation{operation}); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return strings.TrimSpace(strconv.Itoa(w.Code) + " " + w.Body.String())
}

func callerWith(features passport.Features, roles ...string) passport.Passport {
	return passport.Passport{Surface: passport.App, Roles: roles, Features: features}
}

const boatID = "01890a5d-ac96-774b-bcce-b302099a8057"

func TestParametersAreBound(t *testing.T) {
	for path, want := range map[string]string{
		boatID + "?month=m": `200 {"id":"` + boatID + `","kind":null,"limit":10}`,
		strings.ToUpper(boatID) + "?month=m&kind=ketch&limit=100": `200 {"id":"` + boatID + `","kind":"ketch","limit":100}`,
		"7?month=m":                   `404 {"error":"There is no such record."}`,
		boatID:                        `400 {"error":"month: is required"}`,
		boatID + "?month=m&month=m":   `400 {"error":"month: must be sent once"}`,
		boatID + "?month=m&kind=yawl": `400 {"error":"kind: must be one of sloop, ketch"}`,
		boatID + "?month=m&limit=0":   `400 {"error":"limit: must be a whole number from 1 to 100"}`,
		boatID + "?month=m&limit=x":   `400 {"error":"limit: must be a whole number from 1 to 100"}`,
		boatID + "?month=m&Limit=1":   `400 {"error":"Limit: is not a query parameter of this request"}`,
		boatID + "?month=%zz":         `400 {"error":"The query must be URL-encoded parameters."}`,
	} {
		if got := get(t, callerWith(passport.Features{API: true}), Declare(boatOperation(), showBoat), "/app/boats/"+path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestDeclarationDecidesWhoIsAdmitted(t *testing.T) {
	operation := boatOperation()
	operation.Roles, operation.Entitlement = []string{passport.RoleEvent}, UptimeReports
	all := passport.Features{API: true, UptimeReports: true}
	legacy := callerWith(all, "admin")
	legacy.Surface = passport.Legacy
	for name, row := range map[string]struct {
		caller passport.Passport
		want   string
	}{
		"the role":        {callerWith(all, "event"), "200"},
		"an admin":        {callerWith(all, "admin"), "200"},
		"another role":    {callerWith(all, "subscriber"), `403 {"error":"Your role does not allow this."}`},
		"no entitlement":  {callerWith(passport.Features{API: true}, "event"), `403 {"error":"The plan of your organization does not include uptime reports."}`},
		"no API":          {callerWith(passport.Features{UptimeReports: true}, "admin"), `403 {"error":"The plan of your organization does not include the API."}`},
		"another surface": {legacy, "403"},
	} {
		got := get(t, row.caller, Declare(operation, showBoat), "/app/boats/"+boatID+"?month=m")
		if row.want == "200" {
			got, _, _ = strings.Cut(got, " ")
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

func TestAccessDecidesBetweenAKeyASessionAndASignInPage(t *testing.T) {
	key := callerWith(passport.Features{API: true}, "admin")
	key.KeyID = "key"
	keyWithoutAPI, session, signedOut := key, callerWith(passport.Features{}, "admin"), passport.Passport{Surface: passport.App, Caller: "console"}
	keyWithoutAPI.Features.API = false
	session.Session, session.Caller = "session", "console"
	stranger := session
	stranger.Roles = []string{"event"}
	const (
		onlySignIn = `403 {"error":"Only the sign-in pages of the console can call this."}`
		noKey      = `403 {"error":"This needs a session of the console. A key cannot call it."}`
		signIn     = `403 {"error":"Sign in first."}`
		noAPI      = `403 {"error":"The plan of your organization does not include the API."}`
		noRole     = `403 {"error":"Your role does not allow this."}`
	)
	for _, row := range []struct {
		name   string
		caller passport.Passport
		want   map[Access]string
	}{
		{"a key", key, map[Access]string{Members: "200", SignedIn: noKey, SignedOut: onlySignIn}},
		{"a key without the API", keyWithoutAPI, map[Access]string{Members: noAPI, SignedIn: noKey, SignedOut: onlySignIn}},
		{"a session without the API", session, map[Access]string{Members: "200", SignedIn: "200", SignedOut: "200"}},
		{"a session of another role", stranger, map[Access]string{Members: noRole, SignedIn: noRole, SignedOut: "200"}},
		{"the console signed out", signedOut, map[Access]string{Members: signIn, SignedIn: signIn, SignedOut: "200"}},
	} {
		for access, want := range row.want {
			operation := boatOperation()
			operation.Access = access
			if access != SignedOut {
				operation.Roles = []string{passport.RoleAdmin}
			}
			got := get(t, row.caller, Declare(operation, showBoat), "/app/boats/"+boatID+"?month=m")
			if want == "200" {
				got, _, _ = strings.Cut(got, " ")
			}
			if got != want {
				t.Errorf("%s calls an operation with the access %q: %s, want %s", row.name, access, got, want)
			}
		}
	}
}

func TestOnlyOperationsForKeysTakeAnIdempotencyKey(t *testing.T) {
	for access, want := range map[Access]bool{Members: true, SignedIn: false, SignedOut: false} {
		if got := (Operation{Method: "POST", Path: "/app/boats", Access: access}).Idempotent(); got != want {
			t.Errorf("access %q: %v", access, got)
		}
	}
}

// A limit of tries and a missing recent sign-in have a header, which the console reads.
func TestErrorsOfTheSignInHaveTheirHeader(t *testing.T) {
	wrapped := fault.Wrap(fault.TooMany, fault.Throttled{Wait: 90 * time.Second}, "Too many sign-ins failed.")
	for name, row := range map[string]struct {
		err               error
		status            int
		retry, again, own string
	}{
		"a limit":               {fault.Throttled{Wait: 1500 * time.Millisecond}, 429, "2", "", "There were too many tries. Try again later."},
		"a limit with a text":   {wrapped, 429, "90", "", "Too many sign-ins failed."},
		"no recent sign-in":     {fault.ErrSignInAgain, 403, "", "again", fault.ErrSignInAgain.Message},
		"a role does not allow": {fault.New(fault.Forbidden, "No."), 403, "", "", "No."},
	} {
		w := httptest.NewRecorder()
		c, _ := gin.CreateTestContext(w)
		c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		Fail(c, row.err)
		if w.Code != row.status || w.Header().Get("Retry-After") != row.retry || w.Header().Get(SignInHeader) != row.again ||
			!strings.Contains(w.Body.String(), row.own) {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
	}
}

// A caller that leaves is no failure of the service. A deadline is one.
func TestOnlyAFailureForACallerWhoWaitsIsLogged(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	for name, row := range map[string]struct {
		ctx  context.Context
		logs int
	}{"waits": {t.Context(), 1}, "has left": {left, 0}, "waited too long": {late, 1}} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequestWithContext(row.ctx, http.MethodGet, "/", nil)
		Fail(c, fault.Wrap(fault.Unavailable, row.ctx.Err(), "The records cannot be read."))
		if len(c.Errors) != row.logs {
			t.Errorf("a caller who %s: %d errors are logged", name, len(c.Errors))
		}
	}
}

func TestWritesOfTheConsoleHaveTheirOwnSurfaceAndNoKey(t *testing.T) {
	member := passport.Passport{Surface: passport.App, User: "u", Email: "ada@example.com", IP: "192.0.2.1", Session: "s", Caller: "console"}
	got := origin(member, "r")
	want := audit.Origin{Actor: topic.Actor{Type: topic.ActorUser, ID: "u", Email: "ada@example.com"}, IP: "192.0.2.1", RequestID: "r", Surface: "console"}
	if got != want {
		t.Errorf("a member: %+v", got)
	}
	signedOut := audit.With(t.Context(), origin(passport.Passport{Surface: passport.App, IP: "192.0.2.1", Caller: "console"}, "r"))
	if got := audit.From(audit.WithUser(signedOut, "u", "ada@example.com")); got != want {
		t.Errorf("a member who signs in: %+v", got)
	}
}

func TestDeclarationThatContradictsItsHandlerStopsTheStart(t *testing.T) {
	for want, change := range map[string]func(*Operation){
		"the path has the parameters [boat], the handler takes [id]": func(o *Operation) { o.Path = "/app/boats/{boat}" },
		"the method is unknown":                    func(o *Operation) { o.Method = "get" },
		"the path is on no interface":              func(o *Operation) { o.Path = "/api/boats/{id}" },
		"status 204 does not go with the response": func(o *Operation) { o.Status = 204 },
		`role "sailor" is unknown`:                 func(o *Operation) { o.Roles = []string{"sailor"} },
		`entitlement "wind" is unknown`:            func(o *Operation) { o.Entitlement = "wind" },
		"are required":                             func(o *Operation) { o.ID = "" },
		`access "aboard" is unknown`:               func(o *Operation) { o.Access = "aboard" },
		"neither a role nor an entitlement":        func(o *Operation) { o.Access, o.Roles = SignedOut, []string{"event"} },
	} {
		operation := boatOperation()
		change(&operation)
		_, engine := gin.CreateTestContext(httptest.NewRecorder())
		if err := Mount(engine, []Operation{Declare(operation, showBoat)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	other := boatOperation()
	other.Path = "/app/ships/{id}"
	_, engine := gin.CreateTestContext(httptest.NewRecorder())
	if err := Mount(engine, []Operation{Declare(boatOperation(), showBoat), Declare(other, showBoat)}); err == nil {
		t.Error("two operations with one ID are mounted")
	}
}
