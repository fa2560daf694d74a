package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// docker-compose.yml contains each of the six binaries. Each variable of a service is a setting
// of its binary, with the same default. Each service on which it depends has a health check. The test
// needs no container engine.
func TestComposeFileAgreesWithTheBinaries(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(repository, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Build struct {
				Dockerfile string
				Args       map[string]string
			}
			Environment map[string]string
			Ports       []string
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
			Healthcheck map[string]any
		}
	}
	if err := yaml.Unmarshal(content, &compose); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gateway", "identity", "events", "subscribers", "integrations", "delivery"} {
		service, there := compose.Services[name]
		if !there || service.Build.Args["SERVICE"] != name || service.Build.Dockerfile != "deploy/Dockerfile" {
			t.Errorf("%s is not built from the one Dockerfile: %+v", name, service.Build)
		}
		help, err := exec.CommandContext(t.Context(), filepath.Join(binaries, name), "-h").Output()
		if err != nil {
			t.Fatal(err)
		}
		for variable, value := range service.Environment {
			if !strings.Contains(string(help), "$"+variable) && !slices.Contains(shared, variable) {
				t.Errorf("%s has the variable %s, which is not one of its settings", name, variable)
			}
			_, byDefault, _ := strings.Cut(strings.TrimSuffix(value, "}"), ":-")
			if byDefault != "" && !regexp.MustCompile(`=`+regexp.QuoteMeta(byDefault)+`[\s,][^$]*\$`+variable+`\b`).Match(help) {
				t.Errorf("%s has %s by default as %s, which is not the default of its setting", name, byDefault, variable)
			}
		}
		for engine, wait := range service.DependsOn {
			if wait.Condition != "service_healthy" || compose.Services[engine].Healthcheck == nil {
				t.Errorf("%s depends on %s, which has no health check", name, engine)
			}
		}
		if name == "delivery" && len(service.Ports) > 0 {
			t.Error("delivery publishes a port: it could not be scaled")
		}
	}
}

// shared are the variables that all six services have, although not every service uses them.
var shared = []string{"DOCUMENTS_URL", "KAFKA_BROKERS", "REDIS_URL", "LEGACY_BASE_URL", "APP_BASE_URL", "DASHBOARD_BASE_URL"}
