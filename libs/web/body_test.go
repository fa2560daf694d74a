package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/gin-gonic/gin"
)

// own reads its text in its own way.
type own struct{ text string }

func (o *own) UnmarshalJSON(text []byte) error {
	o.text = string(text)
	return nil
}

type asked struct {
	Name   string `json:"name"`
	Limits struct {
		PerHour int `json:"perHour"`
	} `json:"limits"`
	Pointer *struct {
		ID string `json:"id,omitempty"`
	} `json:"pointer"`
	Rows []struct {
		ID string `json:"id"`
	} `json:"rows"`
	Own      own               `json:"own"`
	Labels   map[string]string `json:"labels"`
	Raw      json.RawMessage   `json:"raw"`
	Untagged string
}

func read[T any](t *testing.T, body string) (status int, message string) {
	t.Helper()
	_, engine := gin.CreateTestContext(httptest.NewRecorder())
	engine.POST("/", web.Handle(func(c *gin.Context) error {
		if _, err := web.Body[T](c); err != nil {
			return err
		}
		c.Status(http.StatusNoContent)
		return nil
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, r)
	var answer struct{ Error string }
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%q: %v", w.Body, err)
		}
	}
	return w.Code, answer.Error
}

func TestBody200(t *testing.T) {
	for _, body := range []string{
		`{}`,
		`{"name":"n","limits":{"perHour":1},"pointer":{"id":"i"},"rows":[{"id":"1"},{}],"Untagged":"u"}`,
		`{"limits":null,"pointer":null,"rows":null,"labels":{"Any":"thing"},"own":{"Any":1},"raw":{"Any":[{"Name":1}]}}`,
	} {
		if status, message := read[asked](t, body); status != http.StatusNoContent {
			t.Errorf("%s: %d %s", body, status, message)
		}
	}
	if status, message := read[[]string](t, `null`); status != http.StatusNoContent { // how a peer writes none
		t.Errorf("null for a list: %d %s", status, message)
	}
}

func TestBody400(t *testing.T) {
	const notObject, noField = "The body must be a JSON object.", ": is not a field of this request"
	for body, want := range map[string]string{
		"null":                                 notObject,
		" null\n":                              notObject,
		`[]`:                                   notObject,
		`5`:                                    notObject,
		`{"Name":"n"}`:                         "Name" + noField,
		`{"name":"n","NAME":"m"}`:              "NAME" + noField,
		`{"limits":{"perhour":1}}`:             "perhour" + noField,
		`{"limits":{"PerHour":1},"limits":{}}`: "PerHour" + noField,
		`{"pointer":{"ID":"i"}}`:               "ID" + noField,
		`{"rows":[{"id":"1"},{"Id":"2"}]}`:     "Id" + noField,
		`{"untagged":"u"}`:                     "untagged" + noField,
		`{"other":1}`:                          "other" + noField,
		`{"name":5}`:                           "name: has a value of the wrong type (number)",
		`{} {}`:                                "The body must be one JSON object and nothing behind it.",
		`{`:                                    "The body is not valid JSON.",
		``:                                     "The body is not valid JSON.",
	} {
		if status, message := read[asked](t, body); status != http.StatusBadRequest || message != want {
			t.Errorf("%s: %d %q, want %q", body, status, message, want)
		}
	}
	if status, message := read[struct{}](t, "null"); status != http.StatusBadRequest || message != notObject {
		t.Errorf("%d %q", status, message)
	}
}
