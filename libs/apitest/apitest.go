// Package apitest plays request/response scripts against a server and reports each difference of each step. A script
// is a txtar archive that shows requests and responses as they go over the wire:
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
// A step that fails does not end the script. A step that needs a variable of a failed step is reported as not played.
//
// # Requests
//
// The first line is the method and the path (or a whole URL, for a second server). Headers follow, then an empty line
// and the body. Headers of Target.Header are sent too unless the request names them; "Name: <none>" sends none. Bodies
// are sent without the final newline. "<chars:5001>" in a request is that many letters x, and "<chars:50:é>" that many
// of the character.
//
// # Responses
//
// The first line is the status. Only the headers named are compared; "<none>" demands their absence. No body in the
// script demands an empty body; "<any>" accepts any body. A JSON body is compared by structure: members may come in any
// order. Further members are an error, unless the script has the member "...": true. A last element "..." of an array
// allows more elements. "-- response exact --" compares the body byte for byte (but for the final newline) after variables are
// replaced. "-- response within 5s --" repeats the request until the response fits, for effects that follow a response.
//
// # Tables
//
// An each part behind a response plays the request once per row. The first line names the columns. ${column} in the
// request and in the response, the status included, is replaced by the row's value. Values are separated by " | " and
// may be padded with spaces. Values may contain variables and matchers. Each row is a step of its own, and its report
// shows the row:
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
// ${name} is replaced in requests. In a response a known variable must be equal. An unknown variable is set to the
// value that came (inside a text: up to the text that follows), for the other places of the response and for the steps
// behind it. A JSON value that is only "${name}" accepts a number, boolean or text; write ${name} without quotes in a
// request's body to send it as a number. ${base} is the URL of the target.
//
// Matchers in a response, as a whole JSON value or inside a text or a header:
//
//	<any>     anything, null included      <text>    a text that is not empty
//	<uuid>    a UUID                       <number>  a number
//	<time>    a time, with or without fraction and zone
//	<hex64>   64 lower-case hex digits
//
// A variable takes a matcher's shape behind a colon: ${key:uuid}.
//
// # Documents
//
// With Target.OpenAPI each step is also checked against the OpenAPI documents. The status of the response, its media
// type, its headers Allow, ETag, Location and Retry-After, and each member of its body must be documented. A member or
// a header that the document requires must be there. A request that succeeds must be one that the document allows: its
// parameters, its body, and the headers Idempotency-Key and If-Match.
//
// # Update mode
//
// With APITEST_UPDATE=1 each text of an error body that is <text>, or that differs, is replaced in the script file by
// the text that came, if the status is the expected one. A table gets a last column, error, if its rows got different
// texts. Review the diff: a new text can come from the wrong check, and an id in it may have to be a variable.
package apitest

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// Target is the server that scripts are played against.
type Target struct {
	Handler http.Handler // served on loopback while the script is played; or
	URL     string       // the base of relative paths, without trailing slash
	Header  http.Header  // sent with every request
	Vars    map[string]string
	OpenAPI *OpenAPI // documents that requests and responses are checked against, or nil
}

// Run plays every script that matches pattern ("testdata/*.txtar"), each in a subtest named by its file and against a
// new target. A pattern without matches fails.
func Run(t *testing.T, pattern string, target func(t *testing.T) Target) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no script matches %s (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			if err := PlayFile(t.Context(), target(t), file); err != nil {
				t.Fatal(err)
			}
		})
	}
}
