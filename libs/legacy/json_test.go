package legacy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
)

func TestEncodeLeavesCharactersLiteral(t *testing.T) {
	for in, want := range map[string]string{
		"<a href=\"x\">&</a>": `"<a href=\"x\">&</a>"`,
		"ü 😀 \u2028\u2029":    "\"ü 😀 \u2028\u2029\"",
		`\u2028 \`:            `"\\u2028 \\"`,
		"\\\u2028\n\x01":      "\"\\\\\u2028\\n\\u0001\"",
		"":                    `""`,
	} {
		body, err := legacy.Encode(in)
		if err != nil || string(body) != want {
			t.Errorf("%q is encoded as %s (%v), not %s", in, body, err, want)
		}
		var back string
		if err := json.Unmarshal(body, &back); err != nil || back != in {
			t.Errorf("%q comes back as %q (%v)", in, back, err)
		}
	}
}

// A HEAD gets no body, and a client can read as many bytes as Content-Length announces.
func TestWriteJSONToHead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		legacy.WriteJSON(w, r, http.StatusOK, []byte(`{"a":1}`))
	}))
	defer server.Close()
	for _, test := range []struct {
		method, override, body string
		length                 int64
	}{
		{"GET", "", `{"a":1}`, 7},
		{"GET", "HEAD", `{"a":1}`, 7},
		{"HEAD", "", "", 7},
		{"POST", "", `{"a":1}`, 7},
		{"POST", " head", "", 0},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(legacy.OverrideHeader, test.override)
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(body) != test.body || response.ContentLength != test.length {
			t.Errorf("%s as %q: %q of %d bytes, %v", test.method, test.override, body, response.ContentLength, err)
		}
	}
}
