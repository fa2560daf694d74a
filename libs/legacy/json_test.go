package legacy_test

import (
	"encoding/json"
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
