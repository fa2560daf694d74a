package apitest_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// echo responds with the status, the ETag, the media type and the body that are in the headers of the request.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", cmp.Or(r.Header.Get("X-Type"), "application/json"))
	if tag := r.Header.Get("X-Tag"); tag != "" {
		w.Header().Set("ETag", tag)
	}
	status, _ := strconv.Atoi(r.Header.Get("X-Status"))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(r.Header.Get("X-Body")))
}

// A script passes if its exchange agrees with the document, and fails for each kind of difference from the document.
func TestPlayFailsOnEveryDifferenceFromTheDocument(t *testing.T) {
	target := apitest.Target{
		Handler: http.HandlerFunc(echo), OpenAPI: apitest.ReadOpenAPI(t, "testdata/openapi"),
		Header: http.Header{"X-Status": {"200"}, "X-Body": {`{"text": "t"}`}, "X-Tag": {`"1"`}},
	}
	const put = "PUT /app/notes/4\nContent-Type: application/json\nX-Status: 204\nX-Body: <none>\nX-Tag: <none>\n\n"
	const stored = "PUT /app/notes/4\nContent-Type: application/json\nX-Tag: <none>\nX-Body: "
	for name, test := range map[string]struct{ request, says string }{
		"sound":                  {"GET /app/notes/4?limit=9&tag=a&tag=b", ""},
		"sound, one tag":         {"GET /app/notes/4?tag=a", ""},
		"sound 404":              {"GET /app/notes/x\nX-Status: 404\nX-Tag: <none>\nX-Body: {}", ""},
		"sound write":            {put + `{"text": "t", "more": 1}`, ""},
		"sound, carried":         {stored + `{"note": {"text": "t", "at": "2026-01-02T03:04:05.678Z"}}` + "\n\n" + `{"text": " t", "at": "2026-01-02T04:04:05.678+01:00"}`, ""},
		"not carried":            {stored + `{"note": {"text": ""}}` + "\n\n" + `{"text": "t"}`, `the request sent text "t", and the response shows ""`},
		"sound HEAD":             {"HEAD /app/notes/4\nX-Body: <none>", ""},
		"sound filters":          {"GET /app/notes/all?any=1\nX-Body: [1]\nX-Tag: <none>", ""},
		"refused method":         {"PATCH /app/notes/4\nX-Status: 405\nX-Body: {}\nX-Tag: <none>", ""},
		"refused path":           {"GET /app/other\nX-Status: 404", ""},
		"no interface":           {"GET /internal/v1/notes", ""},
		"status":                 {"GET /app/notes/4\nX-Status: 202", "the status 202 is not documented"},
		"path":                   {"GET /app/other", "no document has the path /app/other"},
		"method":                 {"PATCH /app/notes/4", "/app/notes/{id} has no method PATCH"},
		"header undocumented":    {"GET /app/notes/4\nX-Status: 404\nX-Body: {}", "404: the header ETag is not documented"},
		"header missing":         {"GET /app/notes/4\nX-Tag: <none>", "200: the header ETag is missing"},
		"media type":             {"GET /app/notes/4\nX-Type: text/plain", `the media type "text/plain" is not documented`},
		"body missing":           {"GET /app/notes/4\nX-Body: <none>", "200: the body is missing"},
		"body not JSON":          {"GET /app/notes/4\nX-Body: {", "200: the body is not JSON"},
		"member undocumented":    {`GET /app/notes/4` + "\n" + `X-Body: {"text": "t", "more": 1}`, "additional properties 'more' not allowed"},
		"error undocumented":     {`GET /app/notes/4` + "\n" + `X-Status: 404` + "\nX-Tag: <none>\n" + `X-Body: {"message": "m"}`, "additional properties 'message' not allowed"},
		"member missing":         {"GET /app/notes/4\nX-Body: {}", "missing property 'text'"},
		"member of another type": {`GET /app/notes/4` + "\n" + `X-Body: {"text": 1}`, "got number, want string"},
		"member of another form": {`GET /app/notes/4` + "\n" + `X-Body: {"text": "t", "at": "now"}`, "'now' is not valid date-time"},
		"path parameter":         {"GET /app/notes/x", "it succeeded with the parameter id=x, which the document refuses"},
		"query parameter":        {"GET /app/notes/4?limit=10", "it succeeded with the parameter limit=10, which the document refuses"},
		"unknown parameter":      {"GET /app/notes/4?more=1", "it succeeded with the parameter more, which is not documented"},
		"unknown header":         {"GET /app/notes/4\nIf-Match: *", "it succeeded with the header If-Match, which is not documented"},
		"no body":                {put, "it succeeded without a body"},
		"wrong body":             {put + `{"text": 4}`, "it succeeded with a body that the document refuses"},
		"wrong media type":       {strings.Replace(put, "application/json", "text/plain", 1) + `{"text": "t"}`, `it succeeded with the media type "text/plain"`},
	} {
		t.Run(name, func(t *testing.T) {
			status := "200"
			if _, sent, has := strings.Cut(test.request, "X-Status: "); has {
				status = sent[:3]
			}
			body := "\n<any>"
			if strings.Contains(test.request, "X-Body: <none>") {
				body = ""
			}
			script := fmt.Sprintf("-- request --\n%s\n-- response --\n%s\n%s\n", test.request, status, body)
			err := apitest.Play(t.Context(), target, "inline", txtar.Parse([]byte(script)))
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("expected an error that says %q, got: %v", test.says, err)
			}
		})
	}
}
