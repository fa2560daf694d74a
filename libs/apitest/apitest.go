// Package apitest plays scripts: it sends the requests of a script to a server and reports each difference between the
// responses and the expected responses. A script is a txtar archive with requests and responses in the form of HTTP:
//
//	A service is created, read and deleted.     <- any text before the first part
//
//	-- request: create --
//	POST /api/v1/service/
//	Content-Type: application/json
//
//	{"service_name": "API"}
//	-- response --
//	201
//	Location: ${base}/api/v1/service/${id}/
//
//	{"service_name": "API", "group": "default", "resource_uri": "/api/v1/service/${id}/", "...": true}
//	-- request: delete --
//	DELETE /api/v1/service/${id}/
//	-- response --
//	204
//	Content-Type: <none>
//
// A request and its response are a step. After a failed step, the script continues. A step that needs a variable of a
// failed step is reported as not played.
//
// # Requests
//
// The first line is the method and the path (or a whole URL, for a second server). Headers follow, then an empty line
// and the body. The headers of Target.Header are also sent, unless the request contains the same header. With "Name:
// <none>" the header is not sent at all. Bodies are sent without the final newline. In a request, "<chars:5001>" stands
// for 5001 letters x, and "<chars:50:é>" for 50 times the letter é.
//
// # Responses
//
// The first line is the status. Only headers that the script contains are compared; the value "<none>" means that the
// response must not have the header. Without a body in the script, the body must be empty. The body "<any>" matches any
// body. JSON bodies are compared by structure, so the order of members does not matter. More members than in the script
// are an error, unless the script has the member "...": true. If the last element of an array is "...", the array may
// have more elements. "-- response exact --" compares the body byte for byte after variables are replaced; only the
// final newline is ignored. "-- response within 5s --" repeats the request until the response matches, for effects that
// follow a response.
//
// # Tables
//
// If the part "each" follows a response, the request is sent once for each row of the table in it. The first line
// contains the names of the columns. ${column} in the request and in the response, also in the status, is replaced by
// the value in the row. Values are separated by " | ", may be padded with spaces, and may contain variables and
// matchers. Each row is a separate step, and its report shows the row:
//
//	-- request: a wrong limit --
//	GET /api/v1/service/?limit=${limit}
//	-- response --
//	400
//
//	{"error": "limit: ${error}"}
//	-- each --
//	limit | error
//	-1    | must not be negative
//	x     | must be a whole number
//
// # Variables and matchers
//
// In a request, ${name} is replaced by the value of the variable. In a response, the text at ${name} must be equal to
// the value. If the variable has no value yet, it gets the text at this place (up to the text that follows ${name}),
// for the rest of the response and for later steps. A JSON value that is only "${name}" matches a string, a number or a
// boolean. To send a variable as a number, write ${name} without quotes in the request's body. ${base} is the URL of
// the target.
//
// Matchers in a response, as a whole JSON value or inside a text or a header:
//
//	<any>     anything, null included      <text>    a text that is not empty
//	<uuid>    a UUID                       <number>  a number
//	<time>    a time, with or without fraction and zone
//	<hex64>   64 lower-case hex digits
//
// ${key:uuid} is a variable whose value must match <uuid>.
//
// # Documents
//
// If Target.OpenAPI is set, each step is also checked against the OpenAPI documents. They must document the status of
// the response, its media type, its headers Allow, ETag, Location and Retry-After, and each member of its body. The
// response must have each member and header that the document requires. The document must allow each successful
// request: its parameters, its body, and the headers Idempotency-Key and If-Match. The response to a successful write
// must show the values of the request in its members of the same names.
//
// # Update mode
//
// With APITEST_UPDATE=1, the texts of error bodies in the script file are rewritten: each text that is <text> or that
// differs is replaced by the received text, if the status is the expected one. If the rows of a table got different
// texts, the table gets a last column "error". Review the diff: a new text can be the error of a wrong check, and an id
// in the text may have to be replaced by a variable.
package apitest

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Target is the server to which a script sends its requests.
type Target struct {
	Handler http.Handler // if set, the handler of the server, which listens on loopback while the script runs
	URL     string       // if Handler is nil, the base URL of relative paths, without a slash at the end
	Header  http.Header  // sent with every request
	Vars    map[string]string
	OpenAPI *OpenAPI // if not nil, requests and responses are checked against these documents
}

// Run runs every script that matches pattern ("testdata/*.txtar"). Each script has a new target and a subtest named
// after its file. If no file matches, the test fails. If all scripts ran and the target has OpenAPI documents, Run then
// calls compareUnsent.
func Run(t *testing.T, pattern string, target func(t *testing.T) Target) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no script matches %s (%v)", pattern, err)
	}
	played, documents := 0, (*OpenAPI)(nil)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			to := target(t)
			played, documents = played+1, to.OpenAPI
			if err := PlayFile(t.Context(), to, file); err != nil {
				t.Fatal(err)
			}
		})
	}
	if played < len(files) || documents == nil { // -run selected only some scripts, or there are no documents
		return
	}
	compareUnsent(t, filepath.Join(filepath.Dir(pattern), unsentFile), documents.Unsent())
}

// unsentFile lists the query parameters and the members of request bodies that no script sends. It is beside the scripts.
const unsentFile = "unsent.txt"

// compareUnsent fails the test if the file lacks an unsent member, or has a member that a script sends. A script must send
// each member that is not in the file, so that carry checks whether the operation stores the value, and a reader sees
// whether a filter selects other records. In the update mode compareUnsent deletes the members that scripts send from the
// file. It never adds a member.
func compareUnsent(t *testing.T, file string, unsent []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	for _, member := range unsent {
		if !slices.Contains(known, member) {
			t.Errorf("no script sends a value in %s; send one, because the operation may ignore it", member)
		}
	}
	for _, member := range known {
		if slices.Contains(unsent, member) {
			continue
		}
		if os.Getenv(Update) != "1" {
			t.Errorf("a script sends %s; delete the line from %s, or run the test with %s=1", member, file, Update)
		}
	}
	if os.Getenv(Update) == "1" && len(known) > 0 {
		left := slices.DeleteFunc(known, func(member string) bool { return !slices.Contains(unsent, member) })
		if err := os.WriteFile(file, []byte(strings.Join(left, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
