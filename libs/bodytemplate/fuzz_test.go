package bodytemplate_test

import (
	"encoding/json"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/bodytemplate"
)

// Whatever a template is, it is refused, or each rendering ends within the limits and is one JSON value.
func FuzzATemplateIsRefusedOrStaysWithinItsLimits(f *testing.F) {
	for _, text := range []string{
		`{"a": "{{.event.title | cut 9}}"}`, `[{{range $i, $c := .event.affectedComponents}}{{if $i}},{{end}}{{json $c}}{{end}}]`, `{{with .timelineEntry}}"{{.messageText}}"{{else}}1{{end}}`,
		`{{$x := .kind}}{{if or (eq $x "a") (not .truncated)}}"{{secret "key"}}"{{end}}`, longest(), `{{define "a"}}{{end}}{{template "a"}}`, `{{range 9}}{{break}}{{end}}`,
	} {
		f.Add(text, "title")
	}
	f.Fuzz(func(t *testing.T, text, title string) {
		template, err := bodytemplate.Parse(text)
		if err != nil {
			return
		}
		body, err := json.Marshal(map[string]any{"kind": title, "event": map[string]any{"title": title, "severity": nil}})
		if err != nil {
			t.Fatal(err)
		}
		small, err := bodytemplate.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		payloads := []bodytemplate.Payload{small}
		for _, sample := range bodytemplate.Samples()[:3] {
			payloads = append(payloads, sample.Payload)
		}
		for _, payload := range payloads {
			if out, err := template.Render(payload, map[string]string{"key": title}); err == nil && (len(out) > bodytemplate.MaxOutput || !json.Valid(out)) {
				t.Errorf("%d bytes: %q", len(out), out)
			}
		}
	})
}
