package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

type limits struct {
	PerHour optional.Value[int] `json:"perHour" nullable:"true"`
}

type row struct {
	ID optional.Value[string] `json:"id" required:"true" format:"uuid"`
}

type embedded struct {
	Hash optional.Value[string] `json:"hash" format:"sha256"`
}

type asked struct {
	embedded
	Name    optional.Value[string] `json:"name" required:"true"`
	Limits  optional.Value[limits] `json:"limits"`
	Rows    optional.Value[[]row]  `json:"rows"`
	Plain   []string               `json:"plain"`
	Labels  map[string]string      `json:"labels"`
	Enabled bool                   `json:"enabled"`

	Color optional.Value[string]    `json:"color" nullable:"true" enum:"red,green"`
	At    optional.Value[time.Time] `json:"at" nullable:"true"`
}

// read posts a body to a handler that reads it into a T, and returns the value with the response.
func read[T any](t *testing.T, body string) (in T, status int, message string) {
	t.Helper()
	_, engine := gin.CreateTestContext(httptest.NewRecorder())
	engine.POST("/", web.Handle(func(c *gin.Context) (err error) {
		if in, err = web.Body[T](c); err == nil {
			c.Status(http.StatusNoContent)
		}
		return err
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, r)
	var response struct{ Error string }
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &response); err != nil {
			t.Fatalf("%q: %v", w.Body, err)
		}
	}
	return in, w.Code, response.Error
}

func TestBodyTellsAbsentFromNull(t *testing.T) {
	const id = "01890A5D-AC96-774B-BCCE-B302099A8057"
	in, status, message := read[asked](t, `{"name": "n", "limits": {"perHour": null}, "rows": [{"id": "`+id+`"}], "labels": {"Any": "thing"}}`)
	if status != http.StatusNoContent {
		t.Fatal(status, message)
	}
	if in.Name != optional.Of("n") || in.Hash.Sent || !in.Limits.Value.PerHour.Null || in.Limits.Value.PerHour.Pointer() != nil {
		t.Errorf("%+v", in)
	}
	if got := in.Rows.Value[0].ID.Value; got != strings.ToLower(id) {
		t.Errorf("the id is %s", got)
	}
	in, status, message = read[asked](t, `{"name": "n", "color": null, "at": "2026-01-31T10:30:00.1239+01:00"}`)
	if want := time.Date(2026, 1, 31, 9, 30, 0, 123e6, time.UTC); status != http.StatusNoContent || in.At.Value != want || !in.Color.Null {
		t.Errorf("%+v %s", in, message)
	}
	if _, status, message := read[[]string](t, `null`); status != http.StatusNoContent { // a peer writes an empty list so
		t.Errorf("null for a list: %d %s", status, message)
	}
}

func TestBody400(t *testing.T) {
	const notObject, noField, oneValue = "The body must be a JSON object.", ": is not a field of this request", "The body must be one valid JSON value."
	for body, want := range map[string]string{
		"null":                                notObject,
		" null\n":                             notObject,
		`[]`:                                  notObject,
		`5`:                                   notObject,
		`{"Name":"n"}`:                        "Name" + noField,
		`{"name":"n","NAME":""}`:              "NAME" + noField,
		`{"name":"n","limits":{"perhour":1}}`: "limits.perhour" + noField,
		`{"name":"n","name":"m"}`:             "name: must be sent once",
		`{"name":"n","limits":{"perHour":1},"limits":0}`: "limits: must be sent once",
		`{"name":"n","rows":[{"Id":"2"}]}`:               "rows[0].Id" + noField,
		`{"name":"n","rows":[{}]}`:                       "rows[0].id: is required",
		`{"name":"n","rows":[{"id":"2"}]}`:               "rows[0].id: must be a UUID",
		`{"name":"n","rows":5}`:                          "rows: must be an array",
		`{"name":"n","limits":[]}`:                       "limits: must be an object",
		`{"name":"n","limits":{"perHour":"1"}}`:          "limits.perHour: must be a whole number",
		`{"name":"n","limits":{"perHour":1.5}}`:          "limits.perHour: must be a whole number",
		`{"name":"n","limits":null}`:                     "limits: must not be null",
		`{"name":"n","enabled":0}`:                       "enabled: must be true or false",
		`{"name":"n","plain":[1]}`:                       "plain[0]: must be a string",
		`{"name":"n","hash":"ABC"}`:                      "hash: must be 64 lower-case hexadecimal digits",
		`{"name":"n","other":1}`:                         "other" + noField,
		`{"name":"n","color":"blue"}`:                    "color: must be one of red, green",
		`{"name":"n","color":""}`:                        "color: must be one of red, green",
		`{"name":"n","at":"2026-01-31"}`:                 "at: must be a time such as 2026-01-31T09:30:00.000Z",
		`{"name":"n","at":1}`:                            "at: must be a time such as 2026-01-31T09:30:00.000Z",
		`{"name":"n","at":"9999-12-31T23:59:59-01:00"}`:  "at: must be in the years 1 to 9999",
		`{"name":"n","embedded":{}}`:                     "embedded" + noField,
		`{}`:                                             "name: is required",
		`{"name":null}`:                                  "name: must not be null",
		`{"name":5}`:                                     "name: must be a string",
		`{"name":5,`:                                     oneValue, // wrong syntax precedes a wrong member
		`{"name":"n"} {}`:                                oneValue,
		`{`:                                              oneValue,
		``:                                               oneValue,
		"{\"name\":\"\xff\"}":                            "The body must be JSON in UTF-8.",
	} {
		if _, status, got := read[asked](t, body); status != http.StatusBadRequest || got != want {
			t.Errorf("%s: %d %q, want %q", body, status, got, want)
		}
	}
}
