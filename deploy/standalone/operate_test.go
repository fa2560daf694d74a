package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cells returns the cells of each line of a table, whose columns are separated by at least two spaces.
func cells(table string) (rows [][]string) {
	for line := range strings.Lines(table) {
		rows = append(rows, regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1))
	}
	return rows
}

// field returns the value for a name in a table with two columns.
func field(t testing.TB, table, name string) string {
	t.Helper()
	for _, row := range cells(table) {
		if row[0] == name && len(row) == 2 {
			return row[1]
		}
	}
	t.Fatalf("no %s in %s", name, table)
	return ""
}

// operated starts a platform without organizations. It returns the address of the platform and the environment of the
// commands.
func operated(t *testing.T) (base string, env []string) {
	t.Helper()
	_, base = started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	return base, []string{"BELLBUOY_URL=" + base, "BELLBUOY_OPERATOR_TOKEN=" + operatorToken}
}

// organizationSettings returns the names of the limits, features and capabilities of an organization.
func organizationSettings(t *testing.T) (names []string) {
	t.Helper()
	all := schemas(t, "operator.yaml")
	for _, name := range []string{"LimitsPatch", "FeaturesPatch", "CapabilitiesPatch"} {
		if len(all[name].Properties) == 0 {
			t.Fatalf("the document has no %s", name)
		}
		names = slices.AppendSeq(names, maps.Keys(all[name].Properties))
	}
	return names
}

// An operator creates, changes and deletes an organization, a user and keys with commands only.
func TestOperatorCommandsManageOrganizationsUsersAndKeys(t *testing.T) {
	t.Parallel()
	base, env := operated(t)
	do := func(arguments ...string) string {
		t.Helper()
		return succeed(t, env, arguments...)
	}
	made := do("org", "create", "Acme", "--plan", "free")
	org := field(t, made, "id")
	if field(t, made, "plan") != "free" || field(t, made, "name") != "Acme" {
		t.Errorf("created %s", made)
	}
	changed := do("org", "change", org, "--name", "Acme Inc", "--legacy-per-hour", "77", "--integrations", "true", "--uptime-reports", "false")
	if field(t, changed, "legacy calls per hour") != "77" || field(t, changed, "name") != "Acme Inc" ||
		field(t, changed, "integrations") != "true" || field(t, changed, "uptime reports") != "false" {
		t.Errorf("changed to %s", changed)
	}
	if again := do("org", "change", org, "--legacy-per-hour", "plan"); field(t, again, "legacy calls per hour") == "77" {
		t.Errorf("the limit is not the plan's again: %s", again)
	}
	for value, want := range map[string]string{"7": "7", "plan": "50"} {
		changed := do("org", "change", org, "--max-dashboards", value)
		if shown := do("org", "show", org); field(t, changed, "dashboards") != want || field(t, shown, "dashboards") != want {
			t.Errorf("--max-dashboards %s: %s, shown as %s", value, changed, shown)
		}
	}
	settings := organizationSettings(t)
	if rows := len(cells(do("org", "show", org))); rows != 4+len(settings) {
		t.Errorf("%d rows: an organization has an id, a name, a plan, a dashboard, and %q", rows, settings)
	}
	help := do("org", "change", "-h")
	for _, name := range settings {
		option := "--" + strings.ToLower(regexp.MustCompile("[A-Z]").ReplaceAllString(name, "-$0"))
		if !strings.Contains(help, option+"=") {
			t.Errorf("org change has no option %s", option)
		}
	}
	var one struct{ Organization struct{ ID, Name string } }
	if err := json.Unmarshal([]byte(do("org", "show", org, "--json")), &one); err != nil || one.Organization.ID != org || one.Organization.Name != "Acme Inc" {
		t.Errorf("shown as %+v, %v", one, err)
	}

	created := cells(do("user", "create", org, "ada", "ada@example.com", "--role", "admin", "--role", "api", "--first-name", "Ada"))
	user := created[1][0]
	if fmt.Sprint(created[1][1:]) != "[ada ada@example.com admin,api enabled]" {
		t.Errorf("created %q", created)
	}
	bearer := "Bearer " + field(t, do("key", "create", user, "--name", "deploy"), "api key")
	send(t, http.MethodGet, base+"/app/profile", bearer, nil).expect(t, http.StatusOK)
	legacy := do("key", "legacy", user)
	apiKey := "ApiKey " + field(t, legacy, "username") + ":" + field(t, legacy, "legacy key")
	send(t, http.MethodGet, base+"/api/v1/service/", apiKey, nil).expect(t, http.StatusOK)
	var second struct{ Username, Key string }
	if err := json.Unmarshal([]byte(do("key", "legacy", user, "--json")), &second); err != nil {
		t.Fatal(err)
	}
	send(t, http.MethodGet, base+"/api/v1/service/", apiKey, nil).expect(t, http.StatusForbidden)
	send(t, http.MethodGet, base+"/api/v1/service/", "ApiKey ada:"+second.Key, nil).expect(t, http.StatusOK)

	link := field(t, do("user", "invite", user), "link")
	if !strings.HasPrefix(link, "http://localhost:") || !strings.Contains(link, "/console/welcome?token=") {
		t.Errorf("the link is %q", link)
	}
	var again struct{ URL, ExpiresAt string }
	if err := json.Unmarshal([]byte(do("user", "invite", user, "--json")), &again); err != nil || again.URL == link || again.ExpiresAt == "" {
		t.Errorf("%+v, %v", again, err)
	}

	do("user", "change", user, "--disable")
	send(t, http.MethodGet, base+"/app/profile", bearer, nil).expect(t, http.StatusForbidden)
	do("user", "change", user, "--enable", "--role", "event")
	send(t, http.MethodGet, base+"/app/profile", bearer, nil).expect(t, http.StatusOK)
	if list := cells(do("user", "list", org)); fmt.Sprint(list[1]) != fmt.Sprintf("[%s ada ada@example.com event enabled]", user) {
		t.Errorf("the users are %q", list)
	}
	if out := do("user", "delete", user); out != "" {
		t.Errorf("the deletion wrote %q", out)
	}
	send(t, http.MethodGet, base+"/app/profile", bearer, nil).expect(t, http.StatusForbidden)
	refuse(t, "There is no such user", env, "user", "delete", user)
	refuse(t, "There is no such user", env, "user", "invite", user)
}

// Each mistake causes an error of one line that names the mistake.
func TestOperatorCommandsRefuseMistakes(t *testing.T) {
	t.Parallel()
	_, env := operated(t)
	org := field(t, succeed(t, env, "org", "create", "Acme"), "id")
	for _, test := range []struct{ words, command string }{
		{"There is no such organization", "org show nobody"},
		{"There is no such organization", "user list ../organizations"},
		{"nothing to change", "org change " + org},
		{"nothing to change", "user change nobody"},
		{"whole number or plan", "org change " + org + " --app-per-minute many"},
		{`"few"; a limit`, "org change " + org + " --legacy-per-hour few --app-per-minute many"},
		{"limits.appPerMinute", "org change " + org + " --app-per-minute 0"},
		{"limits.maxDashboards", "org change " + org + " --max-dashboards 0"},
		{"email", "user create " + org + " bob nonsense --role api"},
		{"--role", "user create " + org + " bob bob@example.com"},
		{"--role", "user create " + org + " bob bob@example.com --role king"},
		{"--plan", "org create Beta --plan gold"},
		{"unexpected argument", "organisation list"},
		{"expected one of", "org"},
		{"--token", "org list --token secret"},
	} {
		refuse(t, test.words, env, strings.Fields(test.command)...)
	}
	refuse(t, "BELLBUOY_OPERATOR_TOKEN", env[:1], "org", "list")
	refuse(t, "BELLBUOY_URL must be", append(env, "BELLBUOY_URL=nowhere"), "org", "list")
	refuse(t, "check BELLBUOY_URL", append(env, "BELLBUOY_URL=http://127.0.0.1:1"), "org", "list")
	wrong := append(env, "BELLBUOY_OPERATOR_TOKEN=wrong")
	for range 10 {
		refuse(t, "operator token is refused", wrong, "org", "list")
	}
	refuse(t, "too many wrong operator tokens", wrong, "org", "list")
}

func TestOperatorListsAllOrganizations(t *testing.T) {
	t.Parallel()
	base, env := operated(t)
	if table := cells(succeed(t, env, "org", "list")); len(table) != 1 || table[0][0] != "ID" {
		t.Errorf("without organizations the table is %q", table)
	}
	if list := succeed(t, env, "org", "list", "--json"); list != "{\"organizations\":[]}\n" {
		t.Errorf("without organizations the JSON is %q", list)
	}
	const many = 230 // three pages
	for n := range many {
		send(t, http.MethodPost, base+"/operator/v1/organizations", "Operator "+operatorToken, map[string]any{"name": fmt.Sprintf("Org %d", n)}).expect(t, http.StatusCreated)
	}
	if table := cells(succeed(t, env, "org", "list")); len(table) != many+1 || table[many][1] != fmt.Sprintf("Org %d", many-1) {
		t.Errorf("the table has %d rows", len(table))
	}
	var all struct{ Organizations []struct{ Name string } }
	if err := json.Unmarshal([]byte(succeed(t, env, "org", "list", "--json")), &all); err != nil || len(all.Organizations) != many {
		t.Errorf("the JSON has %d organizations, %v", len(all.Organizations), err)
	}
}

// A response cannot move the cursor of the terminal, and the token is not sent to the target of a redirect.
func TestOperatorCommandsDoNotTrustTheServer(t *testing.T) {
	t.Parallel()
	redirected := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirection was followed with %v", r.Header)
	}))
	t.Cleanup(redirected.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/operator/v1/organizations/redirected":
			http.Redirect(w, r, redirected.URL, http.StatusTemporaryRedirect)
		case "/operator/v1/organizations/page":
			fmt.Fprint(w, "<html>")
		case "/operator/v1/organizations/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/operator/v1/organizations/error":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "red\u001b[31m\ntwo"}`)
		default:
			fmt.Fprint(w, `{"organization": {"id": "1", "name": "red\u001b[31m\u202e"}, "dashboard": {}}`)
		}
	}))
	t.Cleanup(server.Close)
	env := []string{"BELLBUOY_URL=" + server.URL, "BELLBUOY_OPERATOR_TOKEN=" + operatorToken}
	refuse(t, "status 307", env, "org", "show", "redirected")
	refuse(t, "check BELLBUOY_URL", env, "org", "show", "page")
	refuse(t, "status 502", env, "org", "show", "broken")
	refuse(t, "red\uFFFD[31m\uFFFDtwo", env, "org", "show", "error")
	if out := succeed(t, env, "org", "show", "1"); strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("wrote %q", out)
	}
}

// Shells can complete commands, flags and values.
func TestShellsCompleteCommandsFlagsAndValues(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"bellbuoy re":                     "restore",
		"bellbuoy org ":                   "change create list show",
		"bellbuoy user create --ro":       "--role",
		"bellbuoy org create --plan ":     "enterprise free team",
		"bellbuoy org change --integrati": "--integrations",
		"bellbuoy key ":                   "create legacy",
		"bellbuoy backup --d":             "--data",
	} {
		words := strings.Fields(succeed(t, []string{"COMP_LINE=" + line}))
		slices.Sort(words)
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q is completed by %q instead of %q", line, got, want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code := succeed(t, nil, "completion", "-c", shell)
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // the script of a shell is checked only where the shell is installed
		}
		if out, err := exec.CommandContext(t.Context(), path, "-n", "-c", code).CombinedOutput(); err != nil {
			t.Errorf("%s refuses its code: %s", shell, out)
		}
	}
	// bash runs the command that completes a line.
	script := `source /dev/stdin <<< "$1" && eval "set -- $(complete -p bellbuoy)"
while [ "$1" != -C ]; do shift; done
COMP_LINE='bellbuoy us' "$2"`
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", succeed(t, nil, "completion", "-c", "bash")).CombinedOutput()
	if err != nil || string(out) != "user\n" {
		t.Errorf("bash: %v: %s", err, out)
	}
}
