package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/template"
)

// alertGroup is the body that Alertmanager posts to a webhook (notify/webhook.Message). It uses Alertmanager's own
// types, but not that package, which depends on the modules of the whole server.
type alertGroup struct {
	*template.Data
	Version         string `json:"version"`
	GroupKey        string `json:"groupKey"`
	TruncatedAlerts uint64 `json:"truncatedAlerts"`
}

// alerts returns a group with one alert that has this status.
func alerts(status string, startsAt time.Time) alertGroup {
	labels := template.KV{"alertname": "CheckoutLatency", "severity": "critical", "component": "checkout", "instance": "10.0.0.1:9090"}
	annotations := template.KV{"summary": "Checkout is slow", "description": "The p99 is 30 s."}
	alert := template.Alert{
		Status: status, Labels: labels, Annotations: annotations, StartsAt: startsAt, GeneratorURL: "http://prometheus:9090/graph", Fingerprint: "c6eadffa33fcdf37",
	}
	if status == "resolved" {
		alert.EndsAt = time.Now()
	}
	return alertGroup{
		Data: &template.Data{
			Receiver: "bellbuoy", Status: status, Alerts: template.Alerts{alert}, GroupLabels: template.KV{"alertname": "CheckoutLatency"},
			CommonLabels: labels, CommonAnnotations: annotations, ExternalURL: "http://alertmanager:9093",
		},
		Version: "4", GroupKey: `{}:{alertname="CheckoutLatency"}`,
	}
}

// TestReadmeRecipeLetsAlertmanagerOpenIncidents runs the commands of deploy/README.md and posts what Alertmanager posts,
// with the token that they write.
func TestReadmeRecipeLetsAlertmanagerOpenIncidents(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	a := actor{t, seeded(t, p)}
	clone := t.TempDir()
	copyTree(t, repository, clone)
	if err := os.CopyFS(filepath.Join(clone, "data"), os.DirFS(dataFolder(p))); err != nil {
		t.Fatal(err)
	}
	text := recipe(t, "deploy", "Let a monitoring tool open incidents")
	blocks := regexp.MustCompile("(?s)```bash\n(.*?)```\n").FindAllStringSubmatch(text, -1)
	path := regexp.MustCompile(`url: https://[^/]+(/[^ \n]+)`).FindStringSubmatch(text)
	if len(blocks) != 2 || path == nil {
		t.Fatalf("the recipe has %d blocks and the path %v", len(blocks), path)
	}
	// The shell sets the variables of the tour and then runs both blocks, like a reader of the README.
	shell := exec.CommandContext(t.Context(), "bash", "-e", "-c", values(t)+blocks[0][1]+blocks[1][1])
	shell.Dir = clone
	output, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(output), `"result":"created"`) || !strings.Contains(string(output), `"result":"resolved"`) {
		t.Fatalf("the recipe printed %s: %v", output, err)
	}
	token, err := os.ReadFile(filepath.Join(clone, "data", "inbound-token"))
	if err != nil {
		t.Fatal(err)
	}
	authorization := "Bearer " + string(token)
	checkWithGatus(t, clone, base, string(token))

	type outcome struct {
		Result, EventID string
	}
	post := func(group alertGroup, want string) outcome {
		t.Helper()
		var out outcome
		send(t, http.MethodPost, base+path[1], authorization, group).expect(t, http.StatusOK).into(t, &out)
		if out.Result != want {
			t.Errorf("%s: %+v, want %s", group.Status, out, want)
		}
		return out
	}
	event := func(id string) (out struct {
		Title, Status, Severity, Source, ExternalID, Description string
		AffectedComponents                                       []struct{ Name, Impact string }
	}) {
		t.Helper()
		var got struct{ Event any }
		got.Event = &out
		send(t, http.MethodGet, base+"/app/events/"+id, a.app(), nil).expect(t, http.StatusOK).into(t, &got)
		return out
	}
	started := time.Now().Add(-time.Minute)
	first := post(alerts("firing", started), "created")
	if got := event(first.EventID); got.Title != "Checkout is slow" || got.Status != "investigating" || got.Severity != "major_outage" || got.Source != "inbound" ||
		got.Description != "The p99 is 30 s." || got.ExternalID != `{}:{alertname="CheckoutLatency"}` || len(got.AffectedComponents) != 1 || got.AffectedComponents[0].Name != "Checkout" {
		t.Errorf("the incident is %+v", got)
	}
	a.expectRow("Checkout", "active incident")
	if again := post(alerts("firing", started), "ignored"); again.EventID != first.EventID {
		t.Errorf("a retry gets %+v", again)
	}
	if done := post(alerts("resolved", started), "resolved"); done.EventID != first.EventID {
		t.Errorf("resolved: %+v", done)
	}
	a.expectRow("Checkout", "operational")
	if again := post(alerts("firing", time.Now()), "reopened"); again.EventID != first.EventID || event(first.EventID).Status != "investigating" {
		t.Errorf("fired again: %+v", again)
	}
	// The tool gets the reason why a group is refused.
	group := alerts("firing", started)
	delete(group.CommonLabels, "component")
	send(t, http.MethodPost, base+path[1], authorization, group).expect(t, http.StatusBadRequest)
}

// checkWithGatus runs the commands of README.md and deploy/README.md that write the file for Gatus, and loads
// docker-compose.yml with the settings that they write.
func checkWithGatus(t *testing.T, clone, base, token string) {
	t.Helper()
	component := regexp.MustCompile(`(?m)^component=.*\n`).FindString(readme(t, ""))
	sample := regexp.MustCompile("(?s)```bash\n(.*?)```").FindStringSubmatch(recipe(t, "", "Checks"))
	containers := regexp.MustCompile("(?s)```bash\n(.*?)make up\n```").FindStringSubmatch(recipe(t, "deploy", "Check components with Gatus"))
	if component == "" || sample == nil || containers == nil {
		t.Fatal("the READMEs lack a block")
	}
	if err := os.Symlink(filepath.Join(binaries, "standalone"), filepath.Join(clone, "bin", "bellbuoy")); err != nil {
		t.Fatal(err)
	}
	const docker = `docker() { test "$*" = "compose run --rm -T -e BELLBUOY_APP_KEY bellbuoy export --gatus" && bin/bellbuoy export --gatus; }` + "\n"
	shell := exec.CommandContext(t.Context(), "bash", "-e", "-c", values(t)+component+sample[1]+"cp data/gatus.yaml data/first.yaml\n"+docker+containers[1])
	shell.Dir, shell.Env = clone, append(os.Environ(), "BELLBUOY_URL="+base)
	if output, err := shell.CombinedOutput(); err != nil || len(output) > 0 {
		t.Fatalf("the commands printed %s: %v", output, err)
	}
	var files [3]string
	for i, name := range []string{"data/first.yaml", "data/gatus.yaml", ".env"} {
		content, err := os.ReadFile(filepath.Join(clone, name))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = string(content)
	}
	if read := readGatus(t, files[1], token); files[0] != files[1] || len(read.Endpoints) != 1 || read.Endpoints[0].Name != "Checkout" || read.Endpoints[0].URL != "https://shop.example.com/health" {
		t.Errorf("the files are\n%s\n%s", files[0], files[1])
	}
	variables := map[string]string{}
	for line := range strings.Lines(files[2]) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		variables[name] = value
	}
	checks := loadProfiles(t, variables, variables["COMPOSE_PROFILES"]).Services["checks"]
	if given := checks.Environment["BELLBUOY_INBOUND_KEY"]; given == nil || *given != token {
		t.Errorf("Gatus gets the token %v", given)
	}
	if at := checks.Volumes[1]; !strings.HasSuffix(at.Source, "/data/gatus.yaml") || at.Target != *checks.Environment["GATUS_CONFIG_PATH"] {
		t.Errorf("Gatus gets the file %+v", at)
	}
}

// values returns the block of the README's tour that reads data/credentials.json.
func values(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```bash\n(value\\(\\).*?)```\n").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the tour reads no values")
	}
	return string(block[1])
}
