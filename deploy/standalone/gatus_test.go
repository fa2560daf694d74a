package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// gatusFile is what Gatus reads from its configuration file.
type gatusFile struct {
	Skip     bool `yaml:"skip-invalid-config-update"`
	Storage  struct{ Type, Path string }
	Alerting struct {
		Custom struct {
			URL, Method, Body string
			Headers           map[string]string
			DefaultAlert      struct {
				Failures int  `yaml:"failure-threshold"`
				Success  int  `yaml:"success-threshold"`
				Resolved bool `yaml:"send-on-resolved"`
			} `yaml:"default-alert"`
		}
	}
	Endpoints []struct {
		Name, Group, URL string
		Interval         time.Duration
		Conditions       []string
		Alerts           []struct{ Type string }
	}
}

// readGatus reads the file as Gatus 5 does (parseAndValidateConfigBytes), with BELLBUOY_INBOUND_KEY as its only variable.
func readGatus(t *testing.T, file, token string) (read gatusFile) {
	t.Helper()
	const literal = "__GATUS_LITERAL_DOLLAR_SIGN__"
	expanded := os.Expand(strings.ReplaceAll(file, "$$", literal), func(name string) string {
		if name != "BELLBUOY_INBOUND_KEY" {
			t.Errorf("Gatus expands %s", name)
		}
		return token
	})
	if err := yaml.UnmarshalWithOptions([]byte(strings.ReplaceAll(expanded, literal, "$")), &read, yaml.Strict()); err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	return read
}

// alert posts the alert of an endpoint as Gatus 5 does (alerting/provider/custom): it replaces the placeholders one after
// the other, without escapes.
func (f gatusFile) alert(t *testing.T, endpoint int, status string) answer {
	t.Helper()
	custom, body := f.Alerting.Custom, f.Alerting.Custom.Body
	for _, placeholder := range [][2]string{
		{"[ALERT_DESCRIPTION]", "It's down: 100 %, {} & <b>"}, {"[ENDPOINT_NAME]", f.Endpoints[endpoint].Name}, {"[ENDPOINT_GROUP]", f.Endpoints[endpoint].Group},
		{"[ENDPOINT_URL]", f.Endpoints[endpoint].URL}, {"[RESULT_ERRORS]", `Get \"https://10.0.0.1\": x509`}, {"[ALERT_TRIGGERED_OR_RESOLVED]", status},
	} {
		body = strings.ReplaceAll(body, placeholder[0], placeholder[1])
	}
	request, err := http.NewRequestWithContext(t.Context(), custom.Method, custom.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range custom.Headers {
		request.Header.Set(name, value)
	}
	return exchange(t, request)
}

// inboundToken creates a signing key with bearer and returns its token.
func (a actor) inboundToken() string {
	a.t.Helper()
	var made struct {
		Key struct{ KeyID, Secret string }
	}
	send(a.t, http.MethodPost, a.BaseURL+"/app/integrations/webhooks/inbound/keys", a.app(), map[string]any{"name": "Monitor", "bearer": true}).
		expect(a.t, http.StatusCreated).into(a.t, &made)
	return made.Key.KeyID + ":" + made.Key.Secret
}

// checked creates components of a group with a checkUrl.
func (a actor) checked(group string, components ...map[string]any) {
	a.t.Helper()
	for i, component := range components {
		in := map[string]any{"groupName": group, "checkUrl": fmt.Sprintf("https://%d.checked.example.com/", i)}
		for name, value := range component {
			in[name] = value
		}
		send(a.t, http.MethodPost, a.BaseURL+"/app/components", a.app(), in).expect(a.t, http.StatusCreated)
	}
}

// Gatus holds each component of the exported file, and each alert of one of them reaches that component. The command
// names the components that Gatus cannot hold.
func TestTheFileForGatusHasEachComponentThatGatusCanHold(t *testing.T) {
	t.Parallel()
	base := commonBase(t)
	a := actor{t, provision(t, base, "Acme", "ann", "admin", "api")}
	env := []string{"BELLBUOY_URL=" + base + "/", "BELLBUOY_APP_KEY=" + strings.TrimPrefix(a.app(), "Bearer ")}
	export := []string{"export", "--gatus"}
	refuse(t, "no component with a checkUrl", env, export...)
	refuse(t, "is for all components", env, "export", "--gatus", "--dashboard", "acme")
	refuse(t, "BELLBUOY_APP_KEY must be set to the key", env[:1], export...)
	refuse(t, "BELLBUOY_URL must be", append(env, "BELLBUOY_URL=nowhere"), export...)
	refuse(t, "check BELLBUOY_URL", append(env, "BELLBUOY_URL=http://127.0.0.1:1"), export...)
	refuse(t, "the key is refused; check BELLBUOY_APP_KEY", append(env, "BELLBUOY_APP_KEY=wrong"), export...)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer elsewhere.Close()
	refuse(t, "does not return the JSON of the platform", append(env, "BELLBUOY_URL="+elsewhere.URL), export...)

	for i := range 110 { // two pages of the list
		a.checked("Lots", map[string]any{"name": fmt.Sprintf("Part %d", i), "checkUrl": nil})
	}
	odd := []string{"${HOME} $$ costs $5", "yes: no # {a} [b] 'c'", " Blank ", "Zoë \U0001f600", "~", "1e3"}
	for _, name := range odd {
		a.checked("A: ${USER}", map[string]any{"name": name})
	}
	a.checked("Lots", map[string]any{"name": "Hidden", "hidden": true, "checkUrl": "HTTP://192.0.2.1:8080/health?a=$HOME&b=__"})
	a.checked("Wrong", map[string]any{"name": `Say "hello"`}, map[string]any{"name": `C:\`}, map[string]any{"name": "In [ENDPOINT_GROUP]"},
		map[string]any{"name": "__GATUS_LITERAL_DOLLAR_SIGN__"}, map[string]any{"name": "Twice"}, map[string]any{"name": "Twice", "checkUrl": nil},
		map[string]any{"name": "For Gatus twice"}, map[string]any{"name": "for-gatus.twice"}, map[string]any{"name": "Taken"}, map[string]any{"name": "Taker", "externalRefs": []string{"gatus:Wrong/Taken"}})
	a.checked("c", map[string]any{"name": "a/b"})
	a.checked("c/a", map[string]any{"name": "b"})
	a.checked("d/a", map[string]any{"name": "b", "checkUrl": nil})
	a.checked("d", map[string]any{"name": "a/b"})
	a.checked("Right", map[string]any{"name": "Same", "externalRefs": []string{"gatus:Right/Same"}}, map[string]any{"name": "Same", "checkUrl": nil})

	file, left, code := command(t, env, export...)
	if code != 0 || strings.Contains(file, "whsec_") {
		t.Fatalf("the command ends with code %d: %s", code, left)
	}
	for i, reason := range []string{`"Say \"hello\"" in group "Wrong" is left out: Gatus refuses names with " or \`, `"C:\\" in group "Wrong" is left out: Gatus refuses`,
		`"In [ENDPOINT_GROUP]" in group "Wrong" is left out: Gatus would replace`,
		`"__GATUS_LITERAL_DOLLAR_SIGN__" in group "Wrong" is left out: Gatus would replace`, `"Twice" in group "Wrong" is left out: another component of the group has this name`,
		`"For Gatus twice" in group "Wrong" is left out: for Gatus, another component has this group and name`, `"for-gatus.twice" in group "Wrong" is left out: for Gatus, another`,
		`"Taken" in group "Wrong" is left out: another component has the external reference "gatus:Wrong/Taken"`,
		`"a/b" in group "c" is left out: the platform could not tell its alerts from those of a component of another group: both are about "gatus:c/a/b"`, `"b" in group "c/a" is left out: the platform could not tell its alerts from those of a component of another group: both are about "gatus:c/a/b"`} {
		if lines := strings.Split(left, "\n"); len(lines) != 11 || !strings.HasPrefix(lines[i], "bellbuoy: "+reason) {
			t.Errorf("line %d is not %s:\n%s", i+1, reason, left)
		}
	}
	token := a.inboundToken()
	read := readGatus(t, file, token)
	alert := read.Alerting.Custom.DefaultAlert
	if !read.Skip || read.Storage.Type != "sqlite" || read.Storage.Path != "/data/gatus.db" || alert.Failures != 3 || alert.Success != 2 || !alert.Resolved ||
		read.Alerting.Custom.Headers["Authorization"] != "Bearer "+token {
		t.Errorf("the file is %+v", read)
	}
	result := func(status string, endpoint int, want string) {
		t.Helper()
		if got := read.alert(t, endpoint, status); got.status != http.StatusOK || !strings.Contains(string(got.body), `"result":"`+want+`"`) {
			t.Errorf("%s: %d %s", read.Endpoints[endpoint].Name, got.status, got.body)
		}
	}
	want := append(odd, "Hidden", "Taker", "a/b", "Same")
	for i, name := range want {
		if i >= len(read.Endpoints) || read.Endpoints[i].Name != name || read.Endpoints[i].Interval != time.Minute ||
			fmt.Sprint(read.Endpoints[i].Conditions, read.Endpoints[i].Alerts) != "[[CONNECTED] == true [STATUS] < 400] [{custom}]" {
			t.Fatalf("endpoint %d is not %q in\n%s", i, name, file)
		}
		result("TRIGGERED", i, "created")
	}
	if at := read.Endpoints[len(odd)].URL; len(read.Endpoints) != len(want) || at != "http://192.0.2.1:8080/health?a=$HOME&b=__" {
		t.Errorf("%d endpoints, with %s", len(read.Endpoints), at)
	}
	page := func(text string) {
		t.Helper()
		eventually(t, 2*time.Second, text, func() error {
			got, err := try(context.Background(), http.MethodGet, a.DashboardURL+"/", "", nil)
			if err == nil && (!strings.Contains(string(got.body), text) || strings.Contains(string(got.body), "checked.example.com")) {
				return fmt.Errorf("the page is %s", got.body)
			}
			return err
		})
	}
	page("1e3 is down")
	for i := range want {
		result("RESOLVED", i, "resolved")
	}
	page("All systems are operational")
}
