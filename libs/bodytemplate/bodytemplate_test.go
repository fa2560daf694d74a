package bodytemplate_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/bodytemplate"
)

// sampleOf returns the sample of the first kind with a name.
func sampleOf(name bodytemplate.SampleName) bodytemplate.Payload {
	for _, sample := range bodytemplate.Samples() {
		if sample.Name == name {
			return sample.Payload
		}
	}
	panic("no such sample")
}

// rendered returns what the template writes for a sample. The template stands in a JSON string.
func rendered(t *testing.T, text string, of bodytemplate.Payload) string {
	t.Helper()
	template, err := bodytemplate.Parse(`["` + text + `"]`)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := template.Render(of, map[string]string{"key": `se"cr{{et}}`})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var value []string
	if err := json.Unmarshal(out, &value); err != nil {
		t.Fatalf("%s: %v: %s", text, err, out)
	}
	return value[0]
}

func TestATemplateWritesTheValuesOfThePayload(t *testing.T) {
	for text, want := range map[string]string{
		`{{.kind}} {{.sequence}} {{.version}} {{.truncated}}`:                                              "incident.created 3 1 ",
		`{{.event.title}}{{- /* a comment */ -}} {{ "" }}`:                                                 "Logins fail",
		`{{.event.title | cut 7 | upper}} {{lower .event.title}} {{cut 100 .event.title}}`:                 "LOGINS… logins fail Logins fail",
		`{{if eq .kind "incident.created" "x"}}a{{else if .event.severity}}b{{end}}`:                       "a",
		`{{if ne .event.legacyId 1204}}a{{else}}b{{end}}`:                                                  "b",
		`{{if and .event.severity (eq .event.type "incident") (not .event.previousStatus)}}a{{end}}`:       "a",
		`{{or .event.previousStatus .event.severity "none"}}`:                                              "major_outage",
		`{{with .timelineEntry}}{{.messageText}} {{$.dashboard.name}}{{else}}none{{end}}`:                  "We look into it. Acme",
		`{{range $i, $c := .event.affectedComponents}}{{if $i}}, {{end}}{{$c.name}}{{$i}}{{else}}-{{end}}`: "API0, API1, API2",
		`{{range .event.affectedComponents}}{{.group}};{{end}}`:                                            "Core;Core;Core;",
		`{{$x := \"a\"}}`: "",
		`{{$x := .kind}}{{if true}}{{$x = .event.status}}{{$y := 1}}{{end}}{{$x}}`: "investigating",
		`{{with $e := .event}}{{with $e.url}}{{.}}{{end}}{{end}}`:                  "https://status.example.com/d/acme/events/0190a000-0000-7000-8000-0000000000e0",
		`{{secret "key"}}`: `se"cr{{et}}`,
		`{{with and .event .event}}{{.status}}{{end}}`: "investigating",
	} {
		if strings.Contains(text, `\"`) {
			continue
		}
		if got := rendered(t, text, sampleOf(bodytemplate.Full)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestNullIsEmptyAndHasNullMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{{.event.severity}}{{.timelineEntry.messageText}}{{.truncated}}`:                             "",
		`{{if .timelineEntry.messageText}}a{{else}}b{{end}}{{with .timelineEntry}}a{{end}}`:           "b",
		`{{if eq .event.severity ""}}a{{end}}{{if eq .event.severity .event.previousStatus}}b{{end}}`: "ab",
		`{{range .event.affectedComponents}}{{.name}}{{else}}none{{end}}`:                             "none",
		`{{.event.severity | cut 5 | upper}}{{lower .event.url}}`:                                     "",
	} {
		if got := rendered(t, text, sampleOf(bodytemplate.Sparse)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	template, err := bodytemplate.Parse(`{"a": {{.event.severity | json}}, "b": {{json .timelineEntry}}, "c": {{json .event.affectedComponents}}, "d": {{.event.title | cut 3 | json}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := template.Render(sampleOf(bodytemplate.Sparse), nil); err != nil || string(got) != `{"a": null, "b": null, "c": [], "d": "Lo…"}` {
		t.Errorf("%s, %v", got, err)
	}
}

// A value never ends the string that it stands in, and the receiver reads it as it was.
func TestAHostileValueStaysInItsString(t *testing.T) {
	of := sampleOf(bodytemplate.Hostile)
	if got := rendered(t, `{{.event.title}}`, of); !strings.Contains(got, "\"},{\\\" \\u0022 \x00\x01\x1f\x7f\r\n\t\u2028\u2029") || !strings.Contains(got, "{{.event}} {{end}}") {
		t.Errorf("%q", got)
	}
	rendered(t, `{{.event.title | upper}}{{.event.title | lower}}{{.dashboard.name | cut 20}}`, of)
	for n := range 80 {
		rendered(t, `{{.event.title | cut `+string(rune('1'+n%9))+`}}`, of)
	}
}

func TestWhatATemplateMayNotDoIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"{{.event.titel}}":                                             "line 2: .event.titel is unknown",
		"{{.titel}}":                                                   "line 2: .titel is unknown",
		"{{.event.title.x}}":                                           "line 2: .event.title.x is unknown",
		"{{if false}}\n{{.event.titel}}{{end}}":                        "line 3: .event.titel is unknown",
		"{{with .event}}\n{{.kind}}{{end}}":                            "line 3: .kind is unknown",
		"{{with .event}}{{else}}{{.title}}{{end}}":                     "line 2: .title is unknown",
		"{{range .event.affectedComponents}}{{.title}}{{end}}":         "line 2: .title is unknown",
		"{{range $c := .event.affectedComponents}}{{$c.title}}{{end}}": "line 2: $c.title is unknown",
		"{{range $i, $c := .event.affectedComponents}}{{$i.x}}{{end}}": "line 2: $i.x is unknown",
		"{{with $e := .event}}{{end}}{{$e.title}}":                     "line 2: undefined variable \"$e\"",
		"{{$x := .event}}{{$x = .dashboard}}":                          "line 2: $x must keep the kind of its first value",
		"{{$ = .event}}":                                               "line 2: $ must keep the kind of its first value",
		"{{.event}}":                                                   "line 2: .event is not a single value; write it with json",
		"{{.}}":                                                        "line 2: . is not a single value; write it with json",
		"{{or .event .kind}}":                                          "line 2: or .event .kind is not a single value; write it with json",
		"{{eq .event .event}}":                                         "line 2: eq takes single values only",
		"{{.event | lower}}":                                           "line 2: lower takes single values only",
		"{{cut 3 .event}}":                                             "line 2: cut needs a number of characters and one single value",
		"{{cut .sequence .kind}}":                                      "line 2: cut needs a number of characters from 1 to 20480 first",
		"{{cut 0 .kind}}":                                              "line 2: cut needs a number of characters from 1 to 20480 first",
		"{{cut 1e9 .kind}}":                                            "line 2: cut needs a number of characters from 1 to 20480 first",
		"{{cut 3}}":                                                    "line 2: cut needs a number of characters and one single value",
		"{{range 1000000000}}x{{end}}":                                 "line 2: range needs a list of the payload",
		"{{range .sequence}}x{{end}}":                                  "line 2: range needs a list of the payload",
		"{{range .event}}x{{end}}":                                     "line 2: range needs a list of the payload",
		"{{range or .event.affectedComponents .event}}{{end}}":         "line 2: range needs a list of the payload",
		"{{$c := .kind}}{{range $c = .event.affectedComponents}}{{end}}":                                                                      "line 2: range must declare its variables with :=",
		"{{range .event.affectedComponents}}{{break}}{{end}}":                                                                                 "line 2: break is not allowed",
		"{{range .event.affectedComponents}}{{continue}}{{end}}":                                                                              "line 2: continue is not allowed",
		"{{range $.event.affectedComponents}}{{range $.event.affectedComponents}}\n{{range $.event.affectedComponents}}{{end}}{{end}}{{end}}": "line 3: range is nested more than 2 deep",
		"{{define \"x\"}}y{{end}}":      "line 2: define and block are not allowed",
		"{{define \"body\"}}y{{end}}":   "line 2: define and block are not allowed",
		"{{block \"x\" .}}y{{end}}":     "line 2: define and block are not allowed",
		"{{template \"body\"}}":         "line 2: template is not allowed",
		"{{template \"body\" .}}":       "line 2: template is not allowed",
		"{{printf \"%d\" .sequence}}":   "line 2: the function printf is not allowed",
		"{{print .kind}}":               "line 2: the function print is not allowed",
		"{{index .event \"title\"}}":    "line 2: the function index is not allowed",
		"{{len .kind}}":                 "line 2: the function len is not allowed",
		"{{slice .kind 1 2}}":           "line 2: the function slice is not allowed",
		"{{html .kind}}":                "line 2: the function html is not allowed",
		"{{js .kind}}":                  "line 2: the function js is not allowed",
		"{{urlquery .kind}}":            "line 2: the function urlquery is not allowed",
		"{{call .kind}}":                "line 2: the function call is not allowed",
		"{{lt .sequence 3}}":            "line 2: the function lt is not allowed",
		"{{nosuch}}":                    "line 2: the function nosuch is not allowed",
		"{{lower}}":                     "line 2: lower has 0 values, which is the wrong number",
		"{{eq .kind}}":                  "line 2: eq has 1 values, which is the wrong number",
		"{{not .kind .kind}}":           "line 2: not has 2 values, which is the wrong number",
		"{{lower eq}}":                  "line 2: eq is not allowed here",
		"{{.kind .event}}":              "line 2: .kind is not a function",
		"{{.kind | .event}}":            "line 2: .event is not a function",
		"{{(.event).title}}":            "line 2: (.event).title is not allowed here",
		"{{nil}}":                       "line 2: nil is not allowed here",
		"{{eq .kind nil}}":              "line 2: nil is not allowed here",
		"{{if secret \"key\"}}{{end}}":  "line 2: secret must be the end of an action that writes it",
		"{{secret \"key\" | upper}}":    "line 2: secret must be the end of an action that writes it",
		"{{eq (secret \"key\") \"a\"}}": "line 2: secret must be the end of an action that writes it",
		"{{\"key\" | secret}}":          "line 2: secret must be the end of an action that writes it",
		"{{$x := secret \"key\"}}":      "line 2: secret must be the end of an action that writes it",
		"{{secret .kind}}":              "line 2: secret needs the name of a secret: {{secret \"key\"}}",
		"{{json . | lower}}":            "line 2: json must be the end of an action that writes it",
		"{{$x := json .}}":              "line 2: json must be the end of an action that writes it",
		"{{json}}":                      "line 2: json needs one value",
		"{{json . .}}":                  "line 2: json needs one value",
		"{{.kind":                       "line 3: unclosed action started at line 2",
		"{{if .kind}}":                  "line 3: unexpected EOF",
		strings.Repeat("{{", 4000):      "line 2: unexpected \"{\" in command",
		strings.Repeat("{{if .kind}}", 40) + strings.Repeat("{{end}}", 40):                      "line 2: is nested more than 32 deep",
		"{{if " + strings.Repeat("(", 3000) + ".kind" + strings.Repeat(")", 3000) + "}}{{end}}": "line 2: is nested more than 32 deep",
		"{{eq .kind (eq ($x := .kind) .kind)}}":                                                 "line 2: a variable cannot be set in parentheses",
		strings.Repeat("a", 8192):                                                               "must be at most 8192 bytes, and has 8194",
		"\xff":                                                                                  "must be UTF-8",
	} {
		_, err := bodytemplate.Parse("\n" + text + "\n")
		if err == nil || err.Error() != want {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", " \n\t"} {
		if _, err := bodytemplate.Parse(text); err == nil || err.Error() != "must not be empty" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSamplesShowWhatIsNotOneJSONValue(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\":\n{{.event.title}}}":       "line 2: the result is not one JSON value: it has a wrong character (for incident.created with all members)",
		"{\"a\": \"{{.event.title}}\",\n}": "line 2: the result is not one JSON value: it has a wrong character (for incident.created with all members)",
		"[{{.sequence}}] {{.sequence}}":    "line 1: the result is not one JSON value: it has a wrong character (for incident.created with all members)",
		"{\"a\": [\n":                      "line 2: the result is not one JSON value: it ends too early (for incident.created with all members)",
		"{\"a\": \"{{.event.severity}}\"{{with .event.url}},\n\"b\": \"{{.}}\"{{end}}}":                       "",
		"{\"a\": 1{{if not .event.url}}\n,{{end}}}":                                                           "line 2: the result is not one JSON value: it has a wrong character (for incident.created with few members)",
		"{{if eq .kind \"endpoint.test\"}}x{{else}}1{{end}}":                                                  "line 1: the result is not one JSON value: it has a wrong character (for endpoint.test with all members)",
		"[{{json .}},{{json .}}]":                                                                             "line 1: the result has more than 20480 bytes; shorten texts with cut (for incident.created with the longest texts)",
		"[{{range .event.affectedComponents}}\n{{range $.event.affectedComponents}}{{json $}}{{end}}{{end}}]": "line 2: the result is not one JSON value: it has a wrong character (for incident.created with all members)",
		"[{{range .event.affectedComponents}}{{range $.event.affectedComponents}}{{json $}},{{end}}{{end}}1]": "line 1: the result has more than 20480 bytes; shorten texts with cut (for incident.created with the longest texts)",
		"{{json .}}": "",
	} {
		template, err := bodytemplate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := template.CheckSamples(nil); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// longest takes as many steps as possible with few bytes.
func longest() string {
	const inner = `{{if eq .name .id .group .impact}}{{end}}`
	return `[{{range .event.affectedComponents}}{{range $.event.affectedComponents}}` + strings.Repeat(inner, 190) + `{{end}}{{end}}]`
}

func TestTheLongestTemplateEndsByItsSteps(t *testing.T) {
	template, err := bodytemplate.Parse(longest())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = template.Render(sampleOf(bodytemplate.Hostile), nil)
	var failed *bodytemplate.Error
	if took := time.Since(start); !errors.As(err, &failed) || failed.Text != "the template takes too many steps" || took > 5*time.Second {
		t.Errorf("%v after %s", err, took)
	}
	if err := template.CheckSamples(nil); err == nil {
		t.Error("the samples admit the template")
	}
}

func TestASecretThatIsMissingIsNamed(t *testing.T) {
	template, err := bodytemplate.Parse("[\"{{secret \"key\"}}\",\n\"{{if .truncated}}{{secret \"other\"}}{{end}}\"]")
	if err != nil {
		t.Fatal(err)
	}
	err = template.CheckSecrets(func(name string) bool { return name == "key" })
	if err == nil || err.Error() != `line 2: there is no secret "other"` {
		t.Error(err)
	}
}

func BenchmarkTheLongestRendering(b *testing.B) {
	for name, text := range map[string]string{
		"conditions": longest(),
		"eq":         `[{{range .event.affectedComponents}}{{range $.event.affectedComponents}}` + strings.Repeat(`{{if eq $.timelineEntry.messageHtml $.timelineEntry.messageHtml}}{{end}}`, 100) + `{{end}}{{end}}]`,
		"variables":  strings.Repeat(`{{$a := .kind}}`, 200) + `[{{range .event.affectedComponents}}{{range $.event.affectedComponents}}` + strings.Repeat(`{{if $.kind}}{{end}}`, 190) + `{{end}}{{end}}]`,
		"cut":        `[{{range .event.affectedComponents}}{{range $.event.affectedComponents}}` + strings.Repeat(`{{$x := cut 1 $.timelineEntry.messageHtml}}`, 100) + `{{end}}{{end}}]`,
		"upper":      `[{{range .event.affectedComponents}}{{range $.event.affectedComponents}}` + strings.Repeat(`{{$x := upper $.timelineEntry.messageHtml}}`, 100) + `{{end}}{{end}}]`,
	} {
		template, err := bodytemplate.Parse(text)
		if err != nil {
			b.Fatal(name, err)
		}
		b.Run(name, func(b *testing.B) {
			of := sampleOf(bodytemplate.Hostile)
			for b.Loop() {
				if _, err := template.Render(of, nil); err == nil {
					b.Fatal("the rendering ends")
				}
			}
		})
	}
}

func TestTheShippedTemplatesAreAccepted(t *testing.T) {
	names := ""
	for _, one := range bodytemplate.AllShipped() {
		names += one.Name + " "
		template, err := bodytemplate.Parse(one.Body)
		if err != nil {
			t.Fatal(one.Name, err)
		}
		if err := template.CheckSecrets(func(name string) bool { return one.Secrets[name] != "" }); err != nil {
			t.Error(one.Name, err)
		}
		if err := template.CheckSamples(one.Secrets); err != nil {
			t.Error(one.Name, err)
		}
	}
	if names != "pagerduty ntfy zulip matrix " {
		t.Error(names)
	}
}

// shippedOf returns the shipped template with the name.
func shippedOf(t *testing.T, name string) (bodytemplate.Shipped, *bodytemplate.Template) {
	t.Helper()
	all := bodytemplate.AllShipped()
	at := slices.IndexFunc(all, func(one bodytemplate.Shipped) bool { return one.Name == name })
	template, err := bodytemplate.Parse(all[at].Body)
	if err != nil {
		t.Fatal(err)
	}
	return all[at], template
}

// PagerDuty drops an acknowledge and a resolve of an alert that is not open.
func TestPagerDutyOpensAnAlertForEachNewIncidentAndForNoAnnouncedMaintenance(t *testing.T) {
	one, template := shippedOf(t, "pagerduty")
	text, err := os.ReadFile("samples.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ kind, statuses, want string }{
		{"incident.created", "investigating identified monitoring", "trigger"},
		{"incident.created", "resolved", "resolve"},
		{"incident.reopened", "investigating identified monitoring", "trigger"},
		{"incident.updated", "investigating", "trigger"},
		{"incident.updated", "identified monitoring", "acknowledge"},
		{"incident.resolved", "resolved", "resolve"},
		{"incident.post_mortem_published", "resolved", "resolve"},
		{"maintenance.scheduled", "planning inprogress", "acknowledge"},
		{"maintenance.rescheduled", "planning started", "acknowledge"},
		{"maintenance.reminder", "planning", "acknowledge"},
		{"maintenance.updated", "planning", "acknowledge"},
		{"maintenance.started", "started inprogress", "trigger"},
		{"maintenance.completed", "completed", "resolve"},
		{"endpoint.test", "investigating", "trigger"},
	} {
		for _, status := range strings.Fields(row.statuses) {
			var samples map[string]map[string]any
			if err := json.Unmarshal(text, &samples); err != nil {
				t.Fatal(err)
			}
			sample := samples[string(bodytemplate.Full)]
			sample["kind"], sample["event"].(map[string]any)["status"] = row.kind, status
			changed, err := json.Marshal(sample)
			if err != nil {
				t.Fatal(err)
			}
			payload, err := bodytemplate.Decode(changed)
			if err != nil {
				t.Fatal(err)
			}
			out, err := template.Render(payload, one.Secrets)
			var body struct {
				Action string `json:"event_action"`
			}
			if err != nil || json.Unmarshal(out, &body) != nil || body.Action != row.want {
				t.Errorf("%s with %s: %s, want %s (%v)", row.kind, status, body.Action, row.want, err)
			}
		}
	}
}
