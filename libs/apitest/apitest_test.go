package apitest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// notes is a small server whose responses have every form that scripts compare.
func notes() http.Handler {
	var created, late atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /notes", func(w http.ResponseWriter, r *http.Request) {
		var note map[string]any
		if err := json.NewDecoder(r.Body).Decode(&note); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id := created.Add(1)
		note["id"], note["uri"] = id, fmt.Sprintf("/notes/%d", id)
		note["key"] = fmt.Sprintf("01a2b3c4-0000-4000-8000-%012d", id)
		note["at"], note["none"] = "2026-01-02T03:04:05.678Z", nil
		w.Header().Set("Location", "http://"+r.Host+"/notes/"+fmt.Sprint(id))
		w.Header().Set("X-Flavour", r.Header.Get("X-Flavour"))
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(note)
	})
	mux.HandleFunc("GET /empty", func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("X-Key"); key != "" {
			w.Header().Set("X-Key", key)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /exact", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{\"b\":1,\"a\":\"plain\"}\n"))
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("notes_total 3\nup 1\n"))
	})
	mux.HandleFunc("GET /refuse/{field}/{what}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		field, what := r.PathValue("field"), r.PathValue("what")
		_, _ = fmt.Fprintf(w, `{"error":"%s: must not be \"%s\"","note":{"%s":["must not be \"%s\""]}}`, field, what, field, what)
	})
	mux.HandleFunc("GET /late", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"ready": %t}`, late.Add(1) >= 3)
	})
	return mux
}

func target() apitest.Target {
	return apitest.Target{
		Handler: notes(),
		Header:  http.Header{"X-Key": {"k"}},
		Vars:    map[string]string{"flavour": "plain"},
	}
}

func TestRunPlaysEveryFeature(t *testing.T) {
	apitest.Run(t, "testdata/*.txtar", func(*testing.T) apitest.Target { return target() })
}

const note = "-- request: make --\nPOST /notes\n\n{\"text\": \"t\", \"count\": 4, \"tags\": [\"x\", \"y\"]}\n-- response --\n"

// Each kind of difference must be found and reported with its place.
func TestPlayFailsOnEveryDifference(t *testing.T) {
	for name, test := range map[string]struct{ script, says string }{
		"status":             {note + "200\n\n<any>\n", "status: expected 200, got 201"},
		"header value":       {note + "201\nLocation: /notes/7\n\n<any>\n", `header Location: expected "/notes/7"`},
		"header missing":     {note + "201\nETag: <any>\n\n<any>\n", "header Etag: expected"},
		"header not absent":  {note + "201\nLocation: <none>\n\n<any>\n", "header Location: expected none"},
		"body not empty":     {note + "201\n", "body: expected none"},
		"empty body":         {"-- request --\nGET /empty\n-- response --\n204\n\n{}\n", "body: expected JSON"},
		"not JSON":           {"-- request --\nGET /metrics\n-- response --\n200\n\n{}\n", "body: expected JSON"},
		"text":               {"-- request --\nGET /metrics\n-- response --\n200\n\nnotes_total 4\n", "notes_total 4"},
		"exact":              {"-- request --\nGET /exact\n-- response exact --\n200\n\n{\"a\":\"plain\",\"b\":1}\n", "byte for byte"},
		"member value":       {note + "201\n\n{\"text\": \"u\", \"...\": true}\n", `body.text: expected "u", got "t"`},
		"member missing":     {note + "201\n\n{\"title\": \"<any>\", \"...\": true}\n", "body.title: expected"},
		"member too many":    {note + "201\n\n{\"text\": \"t\"}\n", "body.uri: not expected"},
		"number for text":    {note + "201\n\n{\"count\": \"4\", \"...\": true}\n", `body.count: expected "4", got 4`},
		"text for number":    {note + "201\n\n{\"text\": \"<number>\", \"...\": true}\n", "body.text: expected"},
		"another number":     {note + "201\n\n{\"count\": 5, \"...\": true}\n", "body.count: expected 5, got 4"},
		"null for text":      {note + "201\n\n{\"none\": \"<text>\", \"...\": true}\n", "body.none: expected"},
		"null for variable":  {note + "201\n\n{\"none\": \"${x}\", \"...\": true}\n", "body.none: expected"},
		"value for null":     {note + "201\n\n{\"text\": null, \"...\": true}\n", "body.text: expected null"},
		"list too short":     {note + "201\n\n{\"tags\": [\"x\", \"y\", \"z\"], \"...\": true}\n", "expected 3 elements, got 2"},
		"list too long":      {note + "201\n\n{\"tags\": [\"x\"], \"...\": true}\n", "expected 1 elements, got 2"},
		"list element":       {note + "201\n\n{\"tags\": [\"x\", \"z\"], \"...\": true}\n", "body.tags[1]"},
		"object for text":    {note + "201\n\n{\"text\": {}, \"...\": true}\n", "body.text: expected {}"},
		"uuid":               {note + "201\n\n{\"text\": \"<uuid>\", \"...\": true}\n", "body.text: expected"},
		"time":               {note + "201\n\n{\"text\": \"<time>\", \"...\": true}\n", "body.text: expected"},
		"known variable":     {note + "201\n\n{\"text\": \"${flavour}\", \"...\": true}\n", `expected "plain", got "t"`},
		"captured elsewhere": {note + "201\n\n{\"text\": \"${x}\", \"key\": \"${x}\", \"...\": true}\n", "body.text"},
		"never fits":         {"-- request --\nGET /exact\n-- response within 50ms --\n200\n\n{\"a\": 2}\n", "body.a: expected 2"},
		"nobody listens":     {"-- request --\nGET http://127.0.0.1:1/\n-- response --\n200\n", "connect"},
		"unknown variable":   {"-- request --\nGET /${x}\n-- response --\n200\n", "${x} has no value yet"},
		"unknown matcher":    {note + "201\n\n{\"text\": \"${x:what}\", \"...\": true}\n", `no matcher "what"`},
		"no response":        {"-- request --\nGET /empty\n", "ends without a response"},
		"two requests":       {"-- request --\nGET /empty\n-- request --\nGET /empty\n", "must alternate"},
		"unknown part":       {"-- reqest --\nGET /empty\n-- response --\n204\n", "must alternate"},
		"unknown mode":       {"-- request --\nGET /empty\n-- response roughly --\n204\n", `no response "roughly"`},
		"bad duration":       {"-- request --\nGET /empty\n-- response within soon --\n204\n", "not a duration"},
		"bad status":         {"-- request --\nGET /empty\n-- response --\nok\n", "not a status"},
		"bad request line":   {"-- request --\nGET\n-- response --\n204\n", "not METHOD PATH"},
		"body without gap":   {"-- request --\nPOST /notes\n{}\n-- response --\n204\n", "is no header"},
		"table without rows": {"-- request --\nGET /${a}\n-- response --\n204\n-- each --\na\n", "has no rows"},
		"row too short":      {"-- request --\nGET /${a}\n-- response --\n204\n-- each --\na | b\nempty\n", "1 values for 2 columns"},
		"row that differs":   {"-- request: all --\nGET /${a}\n-- response --\n${b}\n-- each --\na | b\nempty | 204\nexact | 204\n", `step 2 "all, row 2: exact | 204"`},
		"empty script":       {"", "has no request"},
	} {
		t.Run(name, func(t *testing.T) {
			err := apitest.Play(t.Context(), target(), "inline", txtar.Parse([]byte(test.script)))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("expected an error that says %q, got: %v", test.says, err)
			}
		})
	}
}

func TestPlayErrorShowsRequestResponseAndDifference(t *testing.T) {
	err := apitest.Play(t.Context(), target(), "inline", txtar.Parse([]byte(note+"200\nX-A: b\n\n{\"text\": \"u\"}\n")))
	if err == nil {
		t.Fatal("the difference was not found")
	}
	for _, part := range []string{`inline: step 1 "make"`, "--- request\nPOST http://", `{"text": "t"`, "--- expected\n200\nX-A: b", "--- got\n201", "--- differences\nstatus:"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, err)
		}
	}
}

// Steps after a failed step must run. A step is reported as not played if the variable that it needs should come from a
// failed step.
func TestPlayReportsEveryFailingStep(t *testing.T) {
	err := apitest.Play(t.Context(), target(), "inline", txtar.Parse([]byte(`
-- request: first --
GET /empty
-- response --
200

{"id": "${id}"}
-- request: second --
GET /notes/${id}
-- response --
200
-- request: third --
GET /empty
-- response --
204
-- request: fourth --
GET /exact
-- response --
404
`)))
	if err == nil {
		t.Fatal("the differences were not found")
	}
	for _, part := range []string{`step 1 "first": the response differs`, `step 2 "second": not played, because a step before it failed: the variable ${id} has no value`, `step 4 "fourth"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, err)
		}
	}
	if strings.Contains(err.Error(), "step 3") {
		t.Errorf("the error reports a step that fits:\n%v", err)
	}
}

// The update mode replaces texts by the received texts. In a table, it replaces values in these texts by the names of
// their columns, if the result matches all rows. It changes nothing else, such as a step with another status or a body
// that is not an error.
func TestPlayFileUpdatesErrorTexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.txtar")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	play := func() (string, error) {
		failed := apitest.PlayFile(t.Context(), target(), file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), failed
	}
	const comment = "Any text stays.\n\n"
	const refused = "-- response --\n400\n\n"
	single := func(error, field string) string {
		return "-- request: single --\nGET /refuse/a/it\n" + refused + `{"error": "` + error + `", "note": {"a": ["` + field + `"]}}` + "\n"
	}
	table := func(error, field string) string {
		return "-- request: rows --\nGET /refuse/${x}/it\n" + refused + `{"error": "` + error + `", "note": {"${x}": ["` + field + `"]}}` + "\n" +
			"-- each --\nx     | y\ncount | 1\ntitle | 2\n"
	}
	errors := func(error, field, column, first, second string) string {
		return "-- request: rows with errors of their own --\nGET /refuse/a/${x}\n" + refused + `{"error": "` + error + `", "note": {"a": ["` + field + `"]}}` + "\n" +
			"-- each --\nx  " + column + "\n%63" + first + "\n%64" + second + "\n"
	}
	const others = "-- request: not an error --\nGET /exact\n-- response --\n200\n\n{\"a\": \"<text>\", \"b\": 1}\n" +
		"-- request: another status --\nGET /refuse/a/it\n-- response --\n404\n\n{\"error\": \"<text>\", \"...\": true}\n"
	script := comment + single("<text>", "must be old") + table("<text>", "old") +
		errors("<text>", "<text>", "", "", "") + errors("a: ${error}", "${error}", " | error", " | old", " | older") + others
	write(script)
	if after, _ := play(); after != script {
		t.Errorf("without the update mode the script was changed:\n%s", after)
	}
	t.Setenv(apitest.Update, "1")
	renewed := errors("a: ${error}", "${error}", " | error", ` | must not be \"c\"`, ` | must not be \"d\"`)
	want := comment + single(`a: must not be \"it\"`, `must not be \"it\"`) + table(`${x}: must not be \"it\"`, `must not be \"it\"`) +
		renewed + renewed + others
	after, err := play()
	if after != want {
		t.Errorf("the update wrote\n%s\nexpected\n%s", after, want)
	}
	if err == nil || !strings.Contains(err.Error(), "another status") {
		t.Errorf("the step with another status was not reported: %v", err)
	}
}
