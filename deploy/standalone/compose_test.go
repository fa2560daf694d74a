package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// No container engine is needed to hold docker-compose.yml to what the binaries
// understand: each of the six is there, every variable it is given is a setting of
// its, and whatever it waits for says when it is healthy.
func TestComposeFileSpeaksTheBinariesLanguage(t *testing.T) {
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
		for variable := range service.Environment {
			if !strings.Contains(string(help), "$"+variable) && !slices.Contains(shared, variable) {
				t.Errorf("%s is given %s, which it does not know", name, variable)
			}
		}
		for engine, wait := range service.DependsOn {
			if wait.Condition != "service_healthy" || compose.Services[engine].Healthcheck == nil {
				t.Errorf("%s waits for %s, which does not say when it is healthy", name, engine)
			}
		}
		if name == "delivery" && len(service.Ports) > 0 {
			t.Error("delivery publishes a port: it could not be scaled")
		}
	}
}

// shared are given to all six alike, though not every one has a use for each.
var shared = []string{"DOCUMENTS_URL", "KAFKA_BROKERS", "REDIS_URL", "LEGACY_BASE_URL", "APP_BASE_URL", "DASHBOARD_BASE_URL"}
