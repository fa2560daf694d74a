package web

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

type shipParameters struct {
	ID string `path:"id" format:"uuid"`
}

type shipPatch struct {
	Sails optional.Value[int] `json:"sails"`
}

type shipView struct {
	Sails int `json:"sails"`
}

func (shipView) RecordVersion() int64 { return 4 }

// changeShip changes the one ship, whose version is 3.
func changeShip(c *Call[shipParameters, shipPatch]) (shipView, error) {
	if c.Parameters.ID != boatID {
		return shipView{}, fault.New(fault.NotFound, "There is no such ship.")
	}
	if err := c.IfMatch(3); err != nil {
		return shipView{}, err
	}
	in, err := c.Body()
	return shipView{in.Sails.Value}, err
}

func TestOrderOfRefusals(t *testing.T) {
	_, engine := gin.CreateTestContext(httptest.NewRecorder())
	engine.Use(func(c *gin.Context) {
		c.Request = c.Request.WithContext(passport.With(c.Request.Context(), callerWith(passport.Features{API: true}, "admin")))
	})
	operation := Operation{Method: "PATCH", Path: "/app/ships/{id}", ID: "changeShip", Tag: "ships", Summary: "Change a ship", Versioned: true, Status: 200}
	if err := Mount(engine, []Operation{Declare(operation, changeShip)}); err != nil {
		t.Fatal(err)
	}
	const other = "01890a5d-ac96-774b-bcce-b302099a8058"
	for _, row := range []struct{ name, id, ifMatch, body, want string }{
		{"syntax precedes an unknown record", other, "", `{"sails": }`, `400 {"error":"The body must be one valid JSON value."}`},
		{"no object precedes an unknown record", other, "", `[]`, `400 {"error":"The body must be a JSON object."}`},
		{"an unknown record precedes another version", other, `"1"`, `{}`, `404 {"error":"There is no such ship."}`},
		{"an unknown record precedes a wrong member", other, "", `{"sails":"x"}`, `404 {"error":"There is no such ship."}`},
		{"another version precedes a wrong member", boatID, `"1"`, `{"sails":"x"}`, `409 {"error":"The record has changed: its ETag is now \"3\". Read it again, and repeat your change."}`},
		{"a wrong member", boatID, `"3"`, `{"sails":"x"}`, `400 {"error":"sails: must be a whole number"}`},
		{"the present version", boatID, `"3"`, `{"sails":2}`, `200 {"sails":2}`},
		{"any version", boatID, `*`, `{"sails":2}`, `200 {"sails":2}`},
		{"no condition", boatID, ``, `{"sails":2}`, `200 {"sails":2}`},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/app/ships/"+row.id, strings.NewReader(row.body))
		r.Header.Set("Content-Type", "application/json")
		if row.ifMatch != "" {
			r.Header.Set("If-Match", row.ifMatch)
		}
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		if got := strings.TrimSpace(strconv.Itoa(w.Code) + " " + w.Body.String()); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
		if tag := w.Header().Get("ETag"); (tag == `"4"`) != (w.Code == http.StatusOK) {
			t.Errorf("%s: the ETag is %q", row.name, tag)
		}
	}
}
