package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/engines"
)

func TestFirstStartCreatesTheSeedOnceAndPrintsTheCredentials(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	file := filepath.Join(dataFolder(p), "credentials.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("credentials.json has mode %v, %v", info.Mode(), err)
	}
	var c credentials
	readJSON(t, file, &c)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "the credentials on the terminal", func() error {
		if !strings.Contains(p.output(), string(bytes.TrimSpace(content))) {
			return fmt.Errorf("not among %q", p.output())
		}
		return nil
	})

	_, port, _ := strings.Cut(strings.TrimPrefix(base, "http://"), ":")
	if !strings.HasPrefix(c.ConsoleURL, "http://localhost:"+port+"/console/welcome?token=") || !strings.Contains(p.output(), "  console            "+c.ConsoleURL+"\n") {
		t.Errorf("the console's link is %q, and the terminal has %s", c.ConsoleURL, p.output())
	}

	var list page
	looker{t: t, base: c.DashboardURL}.visit("GET", "/api/v1/dashboard/", nil).expect(t, http.StatusOK).into(t, &list)
	if len(list.Objects) != 3 {
		t.Fatalf("the seed's dashboard has %d rows: %v", len(list.Objects), list.Objects)
	}
	send(t, http.MethodGet, base+"/app/profile", c.app(), nil).expect(t, http.StatusOK)
	send(t, http.MethodGet, base+"/api/v1/service/", c.legacy(), nil).expect(t, http.StatusOK)
	send(t, http.MethodGet, base+"/operator/v1/organizations", c.operator(), nil).expect(t, http.StatusOK)

	// The operator deletes the credentials. The next start still creates no second organization.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.stop()
	p.start()
	eventually(t, 30*time.Second, "ready again", ready(base))
	send(t, http.MethodGet, base+"/app/profile", c.app(), nil).expect(t, http.StatusOK)
	var organizations struct{ Organizations []any }
	send(t, http.MethodGet, base+"/operator/v1/organizations", c.operator(), nil).expect(t, http.StatusOK).into(t, &organizations)
	if len(organizations.Organizations) != 1 {
		t.Errorf("after the second start there are %d organizations", len(organizations.Organizations))
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the second start wrote credentials again")
	}
}

func TestFirstStartKilledAtAnyMomentIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	p, base := standalone(t)
	file := filepath.Join(dataFolder(p), "credentials.json")
	// The pauses are short at first, when a start does most, and grow so that the test also ends on a slow machine.
	for moment := 20 * time.Millisecond; ; moment += max(40*time.Millisecond, moment/10) {
		p.start()
		select {
		case <-p.ended:
			t.Fatalf("a start after a kill ended by itself; it wrote:\n%s", p.output())
		case <-time.After(moment): // the kill
		}
		p.kill()
		if _, err := os.Stat(file); err == nil {
			break
		}
		if moment > 20*time.Second {
			t.Fatalf("no first start came to its end; the last wrote:\n%s", p.output())
		}
	}
	p.start()
	eventually(t, 30*time.Second, "ready", ready(base))
	var c credentials
	readJSON(t, file, &c)
	var list page
	send(t, http.MethodGet, base+"/api/v1/service/", c.legacy(), nil).expect(t, http.StatusOK).into(t, &list)
	var organizations struct{ Organizations []any }
	send(t, http.MethodGet, base+"/operator/v1/organizations", c.operator(), nil).expect(t, http.StatusOK).into(t, &organizations)
	if list.Meta.Total != 3 || len(organizations.Organizations) != 1 {
		t.Errorf("after the kills there are %d services and %d organizations", list.Meta.Total, len(organizations.Organizations))
	}
}

func TestASeedIsReadFromAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seed.json")
	content := `{"organization": {"name": "Owls"}, "user": {"username": "owl", "email": "owl@example.com", "roles": ["admin", "api"]},
		"components": [{"service_name": "Nest"}],
		"showcase": {"slug": "owls-at-night", "dashboard": {"name": "Owls at night"}, "days": 1, "components": [{"ref": "oak", "name": "Oak", "group": "Trees"}],
			"content": {"modules": {"announcement": false, "overallStatus": true, "activeIncidents": true, "activeMaintenance": true, "components": true, "uptimeHistory": false,
					"upcomingMaintenance": true, "eventHistory": true, "subscribe": false, "about": false},
				"order": ["announcement", "overallStatus", "activeIncidents", "activeMaintenance", "components", "uptimeHistory", "upcomingMaintenance", "eventHistory", "subscribe", "about"],
				"uptime": {"windowDays": 90, "showPercentage": true, "precision": 2, "partialOutageWeight": 0.3, "historyDays": 14}},
			"events": [{"externalId": "storm", "type": "incident", "title": "A storm", "components": [{"ref": "oak"}], "begins": {"minutes": -10},
				"timeline": [{"after": 1, "status": "investigating", "message": "The oak bends."}]}]}}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p, base := started(t, "BELLBUOY_SEED="+file)
	c := seeded(t, p)
	if shown := (looker{t: t, base: base + "/d/owls-at-night"}).visit("GET", "/", nil).expect(t, http.StatusOK); !strings.Contains(string(shown.body), "The oak bends.") {
		t.Errorf("the page lacks the open event: %s", shown.body)
	}
	var list page
	looker{t: t, base: c.DashboardURL}.visit("GET", "/api/v1/dashboard/", nil).expect(t, http.StatusOK).into(t, &list)
	if c.Username != "owl" || len(list.Objects) != 1 || list.Objects[0]["service_name"] != "Nest" {
		t.Errorf("credentials of %q, rows %v", c.Username, list.Objects)
	}
}

// The user of a seed creates the seed's components. If the user may not, the first start would fail halfway. So such a
// seed is refused.
func TestASeedWhoseUserMayNotCreateComponentsIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seed.json")
	content := `{"organization": {"name": "Owls"}, "user": {"username": "owl", "email": "owl@example.com", "roles": ["api"]},
		"components": [{"service_name": "Nest"}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := standalone(t, "BELLBUOY_SEED="+file)
	p.start()
	if code := p.exit(time.Minute); code == 0 || !strings.Contains(p.output(), "must contain admin") {
		t.Errorf("the platform ended with code %d: %s", code, p.output())
	}
}

// A first start that failed does not make the seed of a later start enter an installation that was filled meanwhile.
func TestAFailedFirstStartIsNotCompletedWithAnotherSeed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seed.json")
	content := `{"organization": {"name": "Owls"}, "user": {"username": "owl", "email": "nobody", "roles": ["admin", "api"]}, "components": []}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p, base := standalone(t, "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_SEED="+file)
	if p.start(); p.exit(time.Minute) == 0 || !strings.Contains(p.output(), "could not create the seed's records") {
		t.Fatalf("a wrong address was accepted: %s", p.output())
	}
	restart := func(seed string) {
		t.Helper()
		p.env = append(p.env, "BELLBUOY_SEED="+seed)
		p.start()
		eventually(t, time.Minute, "ready", ready(base))
	}
	restart("")
	provision(t, base, "Acme", "ada", "admin")
	p.stop()
	restart("built-in")
	eventually(t, time.Minute, "a remark", func() error {
		if !strings.Contains(p.output(), "BELLBUOY_SEED=built-in has no effect") {
			return fmt.Errorf("only %s", p.output())
		}
		return nil
	})
	var list struct{ Organizations []struct{ Name string } }
	send(t, http.MethodGet, base+"/operator/v1/organizations", "Operator "+operatorToken, nil).expect(t, http.StatusOK).into(t, &list)
	for _, organization := range list.Organizations {
		if organization.Name == "Example" {
			t.Error("the sample organization was created in an installation that has another")
		}
	}
}

func TestCredentialsContainTheBaseURLs(t *testing.T) {
	t.Parallel()
	p, base := started(t, "LEGACY_BASE_URL=https://api.example.com/status/", "DASHBOARD_BASE_URL=https://status.example.com:8443")
	c := seeded(t, p)
	var list struct{ Dashboards []struct{ URL string } }
	send(t, http.MethodGet, base+"/app/dashboards", c.app(), nil).expect(t, http.StatusOK).into(t, &list)
	want := "https://status.example.com:8443/d/" + c.DashboardSlug
	if len(list.Dashboards) != 1 || list.Dashboards[0].URL != want || c.DashboardURL != want || c.BaseURL != "https://api.example.com/status" {
		t.Errorf("the dashboard is at %q, or at %v; the legacy interface at %q", c.DashboardURL, list.Dashboards, c.BaseURL)
	}
	created := send(t, http.MethodPost, base+"/api/v1/service/", c.legacy(), map[string]any{"service_name": "Roof"}).expect(t, http.StatusCreated)
	if location := created.header.Get("Location"); !strings.HasPrefix(location, "https://api.example.com/status/api/v1/service/") {
		t.Errorf("the Location of a new service is %q", location)
	}
}

func TestDataFolderIsForOneProcess(t *testing.T) {
	t.Parallel()
	p, _ := started(t)
	second, _ := standalone(t, "BELLBUOY_DATA="+dataFolder(p))
	second.start()
	if code := second.exit(time.Minute); code == 0 || !strings.Contains(second.output(), "in use") {
		t.Errorf("a second platform on the folder ended with code %d: %s", code, second.output())
	}
}

func TestATakenAddressStopsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	_, base := started(t)
	taken := strings.TrimPrefix(base, "http://")
	for _, setting := range []string{"BELLBUOY_ADDR", "BELLBUOY_INTERNAL_ADDR"} {
		p, _ := standalone(t, setting+"="+taken)
		code := p.start().exit(30 * time.Second)
		if want := "bellbuoy: error: another program listens on " + taken + "; stop it, or set " + setting + " to another address\n"; code == 0 || p.output() != want {
			t.Errorf("%s: code %d, %q", setting, code, p.output())
		}
	}
}

func TestWrongSettingStopsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	required := []string{"BELLBUOY_SECRET=" + secret, "DOCUMENTS_URL=sqlite:" + t.TempDir(), "KAFKA_BROKERS=127.0.0.1:1", "REDIS_URL=redis://127.0.0.1:1"}
	for _, test := range []struct{ binary, setting string }{
		{"standalone", "BELLBUOY_ADDR=nonsense"},
		{"standalone", "BELLBUOY_ADDR=127.0.0.1:99999"},
		{"standalone", "BELLBUOY_SECRET=short"},
		{"standalone", "BELLBUOY_OPERATOR_TOKEN=short"},
		{"standalone", "DOCUMENTS_URL=postgres://x"},
		{"standalone", "KAFKA_BROKERS=nonsense"},
		{"standalone", "REDIS_URL=nonsense"},
		{"standalone", "OTEL_EXPORTER_OTLP_ENDPOINT=jaeger"},
		{"standalone", "OTEL_TRACES_SAMPLER_ARG=1.01"},
		{"standalone", "OTEL_TRACES_SAMPLER_ARG=NaN"},
		{"standalone", "OTEL_TRACES_SAMPLER_ARG=half"},
		{"standalone", "BELLBUOY_SEED=/nowhere/seed.json"},
		{"standalone", "BELLBUOY_SEED=dmeo"},
		{"standalone", "BELLBUOY_LOG_LEVEL=loud"},
		{"standalone", "BELLBUOY_LOG_FORMAT=pretty"},
		{"delivery", "BELLBUOY_LOG_FORMAT="},
		{"standalone", "LEGACY_RATE_PER_HOUR=0"},
		{"standalone", "LEGACY_RATE_PER_HOUR=many"},
		{"standalone", "DASHBOARD_BASE_URL=nowhere"},
		{"standalone", "DASHBOARD_BASE_URL=https://user@status.example"},
		{"standalone", "DASHBOARD_BASE_URL=https://status.example/?"},
		{"standalone", "DASHBOARD_BASE_URL=https://status.example/#top"},
		{"standalone", "DASHBOARD_BASE_URL=https://:443"},
		{"standalone", "LEGACY_BASE_URL=https://status.example:65536"},
		{"standalone", "APP_BASE_URL=https://status.example:0"},
		{"standalone", "CONSOLE_BASE_URL=nowhere"},
		{"console", "CONSOLE_BASE_URL=https://status.example/?"},
		{"console", "BELLBUOY_SECRET=short"},
		{"console", "IDENTITY_URL=nonsense"},
		{"gateway", "CONSOLE_URL=nonsense"},
		{"standalone", "DELIVERY_RESOLVE=nonsense"},
		{"standalone", "DELIVERY_CA_FILE=/nowhere/ca.pem"},
		{"standalone", "SSO_RESOLVE=nonsense"},
		{"identity", "SSO_CA_FILE=/nowhere/ca.pem"},
		{"standalone", "DELIVERY_RETRY_SCHEDULE=soon"},
		{"standalone", "DELIVERY_TIMEOUT=0s"},
		{"standalone", "SUPPRESS_AFTER=0"},
		{"standalone", "ALERT_AFTER=0"},
		{"standalone", "SMTP_URL=zzz"},
		{"standalone", "MAIL_FROM=nobody"},
		{"standalone", "SMTP_URL=smtp://mail.example"},
		{"standalone", "SMS_URL=zzz"},
		{"standalone", "SMS_URL=https://api.example/"},
		{"standalone", "SMS_URL=https://sid:token@api.example/?from=-"},
		{"standalone", "TEAMS_CONNECTOR_HOSTS=*"},
		{"standalone", "TEAMS_PLATFORM_HOSTS=*"},
		{"standalone", "TEAMS_WORKFLOW_HOSTS=a b"},
		{"gateway", "BELLBUOY_SECRET="},
		{"gateway", "REDIS_URL="},
		{"gateway", "BELLBUOY_TRUSTED_PROXIES=10.0.0.0/8,proxy.example"},
		{"standalone", "BELLBUOY_TRUSTED_PROXIES=10.0.0.0/33"},
		{"gateway", "DASHBOARD_CACHE=64MB"},
		{"standalone", "DASHBOARD_CACHE=0MiB"},
		{"events", "BELLBUOY_DOMAIN_PROOF=txt"},
		{"standalone", "CONFIRM_WITHIN=0s"},
		{"standalone", "BELLBUOY_TEMPLATES=/nowhere"},
		{"integrations", "REDIS_URL="},
		{"subscribers", "REDIS_URL="},
		{"subscribers", "CONFIRM_WITHIN=never"},
		{"subscribers", "EVENTS_URL=nonsense"},
		{"integrations", "CONFIRM_WITHIN=never"},
		{"gateway", "IDENTITY_URL=nonsense"},
		{"identity", "DOCUMENTS_URL="},
		{"events", "KAFKA_BROKERS="},
		{"events", "REDIS_URL="},
		{"subscribers", "BELLBUOY_SECRET=short"},
		{"integrations", "EVENTS_URL=nonsense"},
		{"integrations", "EVENTS_URL=http://events:99999"},
		{"delivery", "DELIVERY_TIMEOUT=never"},
		{"delivery", "BELLBUOY_TEMPLATES=/nowhere"},
	} {
		t.Run(test.binary+" "+test.setting, func(t *testing.T) {
			env := []string{"BELLBUOY_DATA=" + t.TempDir(), "BELLBUOY_ADDR=127.0.0.1:0", "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0"}
			if test.binary != "standalone" {
				env = append(env, required...)
			}
			p := newProcess(t, test.binary, test.binary, append(env, test.setting)...).start()
			code := p.exit(time.Minute)
			name, _, _ := strings.Cut(test.setting, "=")
			line := strings.TrimSpace(p.output())
			if code == 0 || strings.Contains(line, "\n") || !mentions(line, name) {
				t.Errorf("code %d: %q", code, line)
			}
		})
	}
}

// mentions reports whether the line contains the setting, as variable or as flag.
func mentions(line, variable string) bool {
	flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "BELLBUOY_")), "_", "-")
	return strings.Contains(line, variable) || strings.Contains(line, "--"+flag)
}

func TestHelpExplainsEverySetting(t *testing.T) {
	t.Parallel()
	help := map[string]string{}
	for binary, settings := range map[string][]string{
		"standalone": {"BELLBUOY_ADDR", "BELLBUOY_INTERNAL_ADDR", "BELLBUOY_DATA", "BELLBUOY_SEED", "BELLBUOY_OPERATOR_TOKEN", "BELLBUOY_SECRET",
			"DOCUMENTS_URL", "KAFKA_BROKERS", "REDIS_URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER_ARG", "BELLBUOY_LOG_FORMAT", "LEGACY_BASE_URL", "APP_BASE_URL", "DASHBOARD_BASE_URL", "CONSOLE_BASE_URL",
			"DELIVERY_RESOLVE", "DELIVERY_CA_FILE", "SSO_RESOLVE", "SSO_CA_FILE", "DELIVERY_RETRY_SCHEDULE", "DELIVERY_TIMEOUT", "ALERT_AFTER", "SUPPRESS_AFTER",
			"TEAMS_WORKFLOW_HOSTS", "TEAMS_PLATFORM_HOSTS", "TEAMS_CONNECTOR_HOSTS", "SMTP_URL", "MAIL_FROM", "SMS_URL", "LEGACY_RATE_PER_HOUR", "APP_RATE_PER_MINUTE",
			"CONFIRM_WITHIN", "BELLBUOY_TRUSTED_PROXIES", "BELLBUOY_TEMPLATES", "DASHBOARD_CACHE", "BELLBUOY_DOMAIN_PROOF"},
		"gateway":      {"BELLBUOY_ADDR", "BELLBUOY_SECRET", "REDIS_URL", "IDENTITY_URL", "EVENTS_URL", "SUBSCRIBERS_URL", "INTEGRATIONS_URL", "CONSOLE_URL", "CONSOLE_BASE_URL", "BELLBUOY_OPERATOR_TOKEN", "BELLBUOY_TRUSTED_PROXIES", "DASHBOARD_CACHE"},
		"identity":     {"BELLBUOY_ADDR", "BELLBUOY_SECRET", "DOCUMENTS_URL", "REDIS_URL", "EVENTS_URL", "LEGACY_RATE_PER_HOUR", "APP_RATE_PER_MINUTE", "CONSOLE_BASE_URL", "SSO_RESOLVE", "SSO_CA_FILE"},
		"events":       {"BELLBUOY_ADDR", "BELLBUOY_SECRET", "DOCUMENTS_URL", "KAFKA_BROKERS", "LEGACY_BASE_URL", "DASHBOARD_BASE_URL", "REDIS_URL", "IDENTITY_URL", "BELLBUOY_DOMAIN_PROOF"},
		"subscribers":  {"BELLBUOY_ADDR", "BELLBUOY_SECRET", "DOCUMENTS_URL", "KAFKA_BROKERS", "LEGACY_BASE_URL", "EVENTS_URL", "REDIS_URL", "CONFIRM_WITHIN"},
		"integrations": {"BELLBUOY_ADDR", "BELLBUOY_SECRET", "DOCUMENTS_URL", "KAFKA_BROKERS", "EVENTS_URL", "IDENTITY_URL", "ALERT_AFTER", "SUPPRESS_AFTER", "DELIVERY_RESOLVE", "REDIS_URL", "CONFIRM_WITHIN"},
		"delivery": {"BELLBUOY_ADDR", "BELLBUOY_SECRET", "DOCUMENTS_URL", "KAFKA_BROKERS", "EVENTS_URL", "INTEGRATIONS_URL", "SUBSCRIBERS_URL", "IDENTITY_URL", "DELIVERY_RESOLVE", "DELIVERY_CA_FILE", "DELIVERY_RETRY_SCHEDULE", "DELIVERY_TIMEOUT",
			"BELLBUOY_TEMPLATES", "CONFIRM_WITHIN"},
		"console": {"BELLBUOY_ADDR", "BELLBUOY_SECRET", "CONSOLE_BASE_URL", "APP_BASE_URL", "IDENTITY_URL", "EVENTS_URL", "SUBSCRIBERS_URL", "INTEGRATIONS_URL", "DELIVERY_URL"},
	} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(binaries, binary), "-h").Output()
		if err != nil {
			t.Errorf("%s -h: %v", binary, err)
		}
		help[binary] = string(out)
		for _, setting := range settings {
			if !strings.Contains(help[binary], "$"+setting) {
				t.Errorf("%s -h does not explain %s", binary, setting)
			}
		}
	}
	// The platform as one process has each setting of the services, except the addresses at which they find each other.
	for binary, text := range help {
		for _, setting := range regexp.MustCompile(`\$[A-Z_]+`).FindAllString(text, -1) {
			service, is := strings.CutSuffix(strings.ToLower(setting[1:]), "_url")
			if (!is || !slices.Contains(binaryNames, service)) && !strings.Contains(help["standalone"], setting) {
				t.Errorf("%s has the setting %s, and standalone does not", binary, setting)
			}
		}
	}
}

func TestStartWaitsForUnreachableEngines(t *testing.T) {
	t.Parallel()
	kafka, redis := apitest.FreeAddress(t), apitest.FreeAddress(t)
	p, base := standalone(t, "KAFKA_BROKERS="+kafka, "REDIS_URL=redis://"+redis+"/0")
	p.start()
	eventually(t, time.Minute, "a log line that says what it waits for", func() error {
		if !strings.Contains(p.output(), "kafka") {
			return fmt.Errorf("only %q", p.output())
		}
		return nil
	})
	send(t, http.MethodGet, base+"/healthz", "", nil).expect(t, http.StatusNoContent)
	waiting := send(t, http.MethodGet, base+"/readyz", "", nil).expect(t, http.StatusServiceUnavailable)
	if len(waiting.body) == 0 {
		t.Error("/readyz does not say what it waits for")
	}
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: kafka, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	server, err := engines.StartRedis(redis)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	eventually(t, 30*time.Second, "ready once the engines are there", ready(base))
	seeded(t, p)
}

// blockDelivery returns the DOCUMENTS_URL of a folder in which delivery cannot open its database, and a function that
// removes the obstacle. The database file is a socket. The service waits, as for a locked file.
func blockDelivery(t *testing.T) (setting string, unblock func()) {
	t.Helper()
	documents, err := os.MkdirTemp("", "bellbuoy-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(documents) })
	socket, err := net.Listen("unix", filepath.Join(documents, "delivery.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return "DOCUMENTS_URL=sqlite:" + documents, func() {
		if err := socket.Close(); err != nil { // removes the socket
			t.Fatal(err)
		}
	}
}

func TestReadyIsPrintedOnlyWhenDeliveryIsReadyToo(t *testing.T) {
	t.Parallel()
	documents, unblock := blockDelivery(t)
	p, base := standalone(t, documents, "BELLBUOY_SEED=")
	p.start()
	eventually(t, 30*time.Second, "the gateway is ready without delivery", ready(base))
	tries := func() int { return strings.Count(p.output(), "waiting for the database") }
	before := tries()
	eventually(t, 60*time.Second, "delivery retries", func() error {
		if tries() < before+2 {
			return fmt.Errorf("%d tries after %d", tries(), before)
		}
		return nil
	})
	const line = "Bellbuoy is ready."
	if strings.Contains(p.output(), line) {
		t.Error("the platform prints that it is ready while delivery's database cannot be opened")
	}
	unblock()
	eventually(t, 60*time.Second, "the platform prints that it is ready", func() error {
		if !strings.Contains(p.output(), line) {
			return fmt.Errorf("only %q", p.output())
		}
		return nil
	})
}

func TestReadyzWaitsForTheCredentialsOfTheFirstStart(t *testing.T) {
	t.Parallel()
	documents, unblock := blockDelivery(t) // blocks the first start, too, which waits for all services
	p, base := standalone(t, documents)
	p.start()
	eventually(t, 30*time.Second, "only the first start is missing", func() error {
		got, err := try(t.Context(), http.MethodGet, base+"/readyz", "", nil)
		if err == nil && (got.status != http.StatusServiceUnavailable || string(got.body) != "gateway: delivery is not ready\ngateway: first start is not ready\n") {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		return err
	})
	file := filepath.Join(dataFolder(p), "credentials.json")
	if _, err := os.Stat(file); err == nil {
		t.Error("credentials.json exists before the first start")
	}
	unblock()
	eventually(t, 60*time.Second, "ready", ready(base))
	var c credentials
	readJSON(t, file, &c) // without waiting
	if c.LegacyKey == "" || c.AppKey == "" || c.DashboardURL == "" || c.OperatorToken == "" || c.ConsoleURL == "" {
		t.Errorf("credentials.json is not complete: %+v", c)
	}
	send(t, http.MethodGet, base+"/api/v1/service/", c.legacy(), nil).expect(t, http.StatusOK)
}

func TestLogsAreInUTC(t *testing.T) {
	t.Parallel()
	p, _ := started(t, "TZ=America/New_York")
	for line := range strings.Lines(p.output()) {
		var logged struct{ Time string }
		if json.Unmarshal([]byte(line), &logged) != nil {
			continue // this line is printed, not logged
		}
		if !strings.HasSuffix(logged.Time, "Z") {
			t.Errorf("a log line is not in UTC: %s", line)
		}
		return
	}
	t.Error("there is no log line")
}

func TestMetricsAreOnTheInternalListenerOnly(t *testing.T) {
	t.Parallel()
	internal := apitest.FreeAddress(t)
	_, base := started(t, "BELLBUOY_INTERNAL_ADDR="+internal)
	send(t, http.MethodGet, base+"/metrics", "", nil).expect(t, http.StatusNotFound)
	send(t, http.MethodGet, base+"/debug/pprof/", "", nil).expect(t, http.StatusNotFound)
	got := string(send(t, http.MethodGet, "http://"+internal+"/metrics", "", nil).expect(t, http.StatusOK).body)
	for _, service := range []string{"gateway", "identity", "events", "subscribers", "integrations", "delivery", "console"} {
		if !strings.Contains(got, `service="`+service+`"`) {
			t.Errorf("no metrics of %s", service)
		}
	}
}

// If the platform is empty, the first start replaces the credentials of a former installation. If it has other
// organizations, the first start keeps them.
func TestCredentialsAreReplacedAtAnEmptyPlatformOnly(t *testing.T) {
	t.Parallel()
	start := func(base string, env ...string) *process {
		t.Helper()
		p, _ := standalone(t, append([]string{"FIRST_START_AT=" + strings.TrimPrefix(base, "http://"), "BELLBUOY_OPERATOR_TOKEN=" + operatorToken}, env...)...)
		if code := p.start().exit(time.Minute); code != 0 {
			t.Fatalf("code %d: %s", code, p.output())
		}
		return p
	}
	var bases []string
	for range 2 {
		_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
		bases = append(bases, base)
	}
	first := start(bases[0])
	former := seeded(t, first)
	start(bases[1], "BELLBUOY_DATA="+dataFolder(first))
	made := seeded(t, first)
	if made.OrganizationID == former.OrganizationID || made.BaseURL != bases[1] {
		t.Errorf("the credentials are still those of the former installation: %s", made.BaseURL)
	}
	send(t, http.MethodGet, bases[1]+"/app/profile", made.app(), nil).expect(t, http.StatusOK)
	if p := start(bases[0], "BELLBUOY_DATA="+dataFolder(first)); !strings.Contains(p.output(), "is of another installation") || seeded(t, first) != made {
		t.Errorf("at an installation with another organization: %s", p.output())
	}
}

func TestASeedForAnExistingInstallationIsRemarked(t *testing.T) {
	t.Parallel()
	p, base := started(t)
	made := seeded(t, p)
	for _, test := range []struct {
		seed     string
		remarked bool
	}{{"demo", true}, {"built-in", false}, {"", false}} {
		p.stop()
		before := len(p.output())
		p.env = append(p.env, "BELLBUOY_SEED="+test.seed)
		p.start()
		eventually(t, time.Minute, "the end of the start", func() error {
			if !strings.Contains(p.output()[before:], "dashboards  ") {
				return fmt.Errorf("only %q", p.output()[before:])
			}
			return nil
		})
		remark := "BELLBUOY_SEED=" + test.seed + " has no effect"
		if strings.Contains(p.output()[before:], remark) != test.remarked || seeded(t, p) != made {
			t.Errorf("BELLBUOY_SEED=%s: %s", test.seed, p.output()[before:])
		}
		send(t, http.MethodGet, base+"/d/demo/", "", nil).expect(t, http.StatusNotFound)
	}
}

// With FIRST_START_AT, the seed is created once, on a platform in other processes, as `make up` does.
func TestAFirstStartElsewhereCreatesTheSeedOnce(t *testing.T) {
	t.Parallel()
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken)
	elsewhere := func(env ...string) *process {
		t.Helper()
		p, _ := standalone(t, append([]string{"FIRST_START_AT=" + strings.TrimPrefix(base, "http://"), "BELLBUOY_OPERATOR_TOKEN=" + operatorToken}, env...)...)
		return p
	}
	p := elsewhere().start()
	if status := p.exit(time.Minute); status != 0 {
		t.Fatalf("status %d: %s", status, p.output())
	}
	made := seeded(t, p)
	if !strings.Contains(p.output(), made.LegacyKey) {
		t.Errorf("the credentials are not printed: %s", p.output())
	}
	if made.BaseURL != base {
		t.Errorf("base URL %s, want %s", made.BaseURL, base)
	}
	send(t, http.MethodGet, base+"/api/v1/service/", "ApiKey "+made.Username+":"+made.LegacyKey, nil).expect(t, http.StatusOK)
	if p.start(); p.exit(time.Minute) != 0 || seeded(t, p) != made {
		t.Error("the second run is a first start again")
	}
	if strings.Contains(p.output(), dataFolder(p)) || strings.Contains(p.output(), "has no effect") {
		t.Errorf("it names a folder that is not on the host, or a seed that nobody has set: %s", p.output())
	}
	again := elsewhere("BELLBUOY_DATA="+dataFolder(p), "BELLBUOY_SEED=demo").start()
	if again.exit(time.Minute) != 0 || !strings.Contains(again.output(), "BELLBUOY_SEED=demo has no effect") || seeded(t, p) != made {
		t.Errorf("a seed for an installation that exists: %s", again.output())
	}
	other := elsewhere().start() // its data folder knows nothing of the first start
	if other.exit(time.Minute) != 0 || !strings.Contains(other.output(), "BELLBUOY_SEED=built-in has no effect") {
		t.Errorf("a new data folder for an installation that exists: %s", other.output())
	}
	if _, err := os.Stat(filepath.Join(dataFolder(other), "credentials.json")); err == nil {
		t.Error("a new data folder got credentials of an installation that exists")
	}
	send(t, http.MethodGet, base+"/api/v1/service/", "ApiKey "+made.Username+":"+made.LegacyKey, nil).expect(t, http.StatusOK)
	for want, p := range map[string]*process{
		"FIRST_START_AT must be host:port":              elsewhere("FIRST_START_AT=nowhere"),
		"FIRST_START_AT needs BELLBUOY_OPERATOR_TOKEN":  elsewhere("BELLBUOY_OPERATOR_TOKEN="),
		"/operator/v1/organizations?limit=100 returned": elsewhere("BELLBUOY_OPERATOR_TOKEN=" + strings.Repeat("x", 40)),
	} {
		if p.start(); p.exit(time.Minute) == 0 || !strings.Contains(p.output(), want) {
			t.Errorf("want %q, got %s", want, p.output())
		}
	}
}
