// Package apitest plays request/answer scripts against a server and says precisely
// where an answer differs. A script is a txtar archive, so that what a client sends
// and sees stands in the test as it goes over the wire:
//
//	A service is created, read and deleted.     <- any text before the first part
//
//	-- request: create --
//	POST /api/v1/service/
//	Content-Type: application/json
//
//	{"service_name": "API"}
//	-- answer --
//	201
//	Location: ${base}/api/v1/service/${id}/
//
//	{"service_name": "API", "group": "default", "resource_uri": "/api/v1/service/${id}/", "...": true}
//	-- request: delete --
//	DELETE /api/v1/service/${id}/
//	-- answer --
//	204
//	Content-Type: <none>
//
// # Requests
//
// The first line is the method and the path (or a whole URL, for a second server).
// Headers follow, then an empty line and the body. Headers of Target.Header are sent
// too unless the request names them; "Name: <none>" sends none. Bodies are sent
// without the final newline. "<chars:5001>" in a request is that many letters x, and
// "<chars:50:é>" that many of the character.
//
// # Answers
//
// The first line is the status. Only the headers named are compared; "<none>" demands
// their absence. No body in the script demands an empty body; "<any>" takes any.
// A body that is JSON is compared by structure: the order of members is free, their
// set is not, unless the member "...": true allows others. In an array a last element
// "..." allows more elements. "-- answer exact --" compares the body byte for byte
// (but for the final newline) once variables are replaced. "-- answer within 5s --"
// repeats the request until the answer fits, for what happens behind the answers.
//
// # Variables and matchers
//
// ${name} is replaced in requests. In an answer a known variable must be equal, an
// unknown one takes what is there (in a text: up to the text that follows), for this
// answer's other places and for everything behind it. A JSON value that is nothing
// but "${name}" takes a number, boolean or text alike; write ${name} without quotes in
// a request's body to send it as a number. ${base} is the URL of the target.
//
// Matchers in an answer, as a whole JSON value or inside a text or a header:
//
//	<any>     anything, null included      <text>    a text that is not empty
//	<uuid>    a UUID                       <number>  a number
//	<time>    a time, with or without fraction and zone
//	<hex64>   64 lower-case hex digits
//
// A variable takes a matcher's shape behind a colon: ${key:uuid}.
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
	Client  *http.Client // one that follows no redirects when nil
	Header  http.Header  // sent with every request
	Vars    map[string]string
}

// Run plays every script that matches pattern ("testdata/*.txtar"), each in a subtest
// named by its file against a target of its own. A pattern without matches fails.
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
