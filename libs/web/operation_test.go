package web

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/passport"
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

func TestDeclarationThatContradictsItsHandlerStopsTheStart(t *testing.T) {
	for want, change := range map[string]func(*Operation){
		"the path has the parameters [boat], the handler takes [id]": func(o *Operation) { o.Path = "/app/boats/{boat}" },
		"the method is unknown":                    func(o *Operation) { o.Method = "get" },
		"the path is on no interface":              func(o *Operation) { o.Path = "/api/boats/{id}" },
		"status 204 does not go with the response": func(o *Operation) { o.Status = 204 },
		`role "sailor" is unknown`:                 func(o *Operation) { o.Roles = []string{"sailor"} },
		`entitlement "wind" is unknown`:            func(o *Operation) { o.Entitlement = "wind" },
		"are required":                             func(o *Operation) { o.ID = "" },
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
