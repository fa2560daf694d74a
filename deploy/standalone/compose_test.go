package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// binaryNames contains the names of the services of the platform, which are also the names of their binaries.
var binaryNames = []string{"gateway", "identity", "events", "subscribers", "integrations", "delivery", "console"}

// loadCompose loads docker-compose.yml with all profiles as Docker Compose does, and checks it against the schema.
func loadCompose(t *testing.T, variables map[string]string) *types.Project {
	t.Helper()
	return loadProfiles(t, variables, "*")
}

func loadProfiles(t *testing.T, variables map[string]string, profiles ...string) *types.Project {
	t.Helper()
	variables["BELLBUOY_SECRET"] = strings.Repeat("s", 32)
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  repository,
		ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(repository, "docker-compose.yml")}},
		Environment: variables,
	}, func(o *loader.Options) { o.Profiles = profiles })
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// docker-compose.yml contains each of the seven binaries and the first start. Each variable of a container is a setting
// of its binary, and each setting can be set. Defaults are only in the binary. The test needs no container engine.
func TestComposeFileAgreesWithTheBinaries(t *testing.T) {
	t.Parallel()
	byDefault := loadCompose(t, map[string]string{})
	variables := map[string]string{}
	for _, service := range byDefault.Services {
		for key := range service.Environment {
			variables[key] = "/another/value"
		}
	}
	set := loadCompose(t, variables)
	for container, service := range byDefault.Services {
		if service.Build == nil {
			continue // the container runs an engine
		}
		name := *service.Build.Args["SERVICE"]
		if service.Build.Dockerfile != "deploy/Dockerfile" || name != container && (name != "standalone" || container != "bellbuoy") {
			t.Errorf("%s is not built from the one Dockerfile: %+v", container, service.Build)
			continue
		}
		help, err := exec.CommandContext(t.Context(), filepath.Join(binaries, name), "-h").Output()
		if err != nil {
			t.Fatal(err)
		}
		if name == "standalone" { // the container also runs the operator's commands
			commands, err := exec.CommandContext(t.Context(), filepath.Join(binaries, name), "org", "list", "-h").Output()
			if err != nil {
				t.Fatal(err)
			}
			help = append(help, commands...)
		}
		for key, value := range service.Environment {
			if !strings.Contains(string(help), "$"+key) && !slices.Contains(shared, key) {
				t.Errorf("%s has the variable %s, which is not one of its settings", container, key)
			}
			if value == nil { // the variable is passed on only if it is set
				if given := set.Services[container].Environment[key]; given == nil || *given != variables[key] {
					t.Errorf("%s does not get its setting %s", container, key)
				}
				continue
			}
			canBeSet := *set.Services[container].Environment[key] != *value
			if canBeSet && *value != "" && !slices.Contains(links, key) && name == container {
				t.Errorf("%s repeats the default of %s, so a change of the default in the code would have no effect", container, key)
			}
			if canBeSet && *value != "" && !slices.Contains(links, key) &&
				!regexp.MustCompile(`="?`+regexp.QuoteMeta(*value)+`"?[\s,][^$]*\$`+key+`\b`).Match(help) {
				t.Errorf("%s has %s by default as %s, which is not the default of its setting", container, key, *value)
			}
		}
		for _, match := range regexp.MustCompile(`\$([A-Z_]+)`).FindAllSubmatch(help, -1) {
			if _, there := service.Environment[string(match[1])]; !there && name == container && !slices.Contains(fixed, string(match[1])) {
				t.Errorf("%s does not get its setting %s", container, match[1])
			}
		}
	}
	for _, name := range binaryNames {
		if byDefault.Services[name].Build == nil {
			t.Errorf("the file has no service %s", name)
		}
	}
}

// docker compose down -v deletes the volumes of its active services. The README's command has no profile and must
// delete all volumes. Otherwise the credentials of a first start could outlive its records, and the next make up would
// print keys that are not valid.
func TestReadmeDeletesEachVolume(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile("`docker compose.* down -v`").MatchString(readme(t, "deploy")) {
		t.Error("the README has no command that deletes the volumes")
	}
	deleted := loadProfiles(t, map[string]string{}).WithoutUnnecessaryResources()
	for name := range loadCompose(t, map[string]string{}).Volumes {
		if _, there := deleted.Volumes[name]; !there {
			t.Errorf("docker compose down -v does not delete the volume %s", name)
		}
	}
}

func TestLinksFollowThePublishedAddress(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		variables  map[string]string
	}{
		{"by default", "http://127.0.0.1:8080", map[string]string{}},
		{"another address", "http://127.0.0.1:9000", map[string]string{"BELLBUOY_PUBLISH": "127.0.0.1:9000"}},
		{"behind a proxy", "https://status.example", map[string]string{
			"BELLBUOY_PUBLISH": "127.0.0.1:9000", "LEGACY_BASE_URL": "https://status.example",
			"APP_BASE_URL": "https://status.example", "DASHBOARD_BASE_URL": "https://status.example",
		}},
	} {
		for name, service := range loadCompose(t, test.variables).Services {
			for _, link := range links {
				if value := service.Environment[link]; service.Build != nil && *value != test.want {
					t.Errorf("%s: %s has %s %s, want %s", test.name, name, link, *value, test.want)
				}
			}
		}
	}
}

// Each container has a pinned image, no privileges, and limits for memory and logs. Its state is in a named volume, and
// it stops in time. Only the gateway and Jaeger publish a port, on loopback.
func TestComposeFileBoundsEachContainer(t *testing.T) {
	t.Parallel()
	project := loadCompose(t, map[string]string{})
	pinned := regexp.MustCompile(`:v?\d+\.\d+\.\d+(-[a-z0-9.]+)?$`)
	for name, service := range project.Services {
		job := name == "bellbuoy"
		for what, right := range map[string]bool{
			"a pinned image":              service.Build != nil || pinned.MatchString(service.Image),
			"a user":                      service.Build != nil || service.User != "" && service.User != "root" && service.User != "0",
			"a read-only root":            service.ReadOnly,
			"no capabilities":             slices.Equal(service.CapDrop, []string{"ALL"}) && !service.Privileged,
			"no new privileges":           slices.Contains(service.SecurityOpt, "no-new-privileges:true"),
			"a memory limit":              service.MemLimit > 0,
			"the restart policy":          service.Restart == types.RestartPolicyUnlessStopped || job && service.Restart == types.RestartPolicyNo,
			"rotated logs":                service.Logging != nil && service.Logging.Options["max-size"] != "" && service.Logging.Options["max-file"] != "",
			"time to stop":                service.StopGracePeriod != nil && time.Duration(*service.StopGracePeriod) >= 20*time.Second,
			"a check of health":           service.Build != nil || name == "checks" || service.HealthCheck != nil && len(service.HealthCheck.Test) > 0, // Gatus's image has no other program
			"no check of health by a JVM": service.HealthCheck == nil || !strings.Contains(strings.Join(service.HealthCheck.Test, " "), ".sh"),
		} {
			if !right {
				t.Errorf("%s does not have %s", name, what)
			}
		}
		for other, dependency := range service.DependsOn {
			if dependency.Condition != types.ServiceConditionStarted {
				t.Errorf("%s waits until %s is ready", name, other)
			}
		}
		for _, volume := range service.Volumes {
			if _, named := project.Volumes[volume.Source]; !named && volume.Type != types.VolumeTypeBind || volume.Type == types.VolumeTypeBind && !volume.ReadOnly {
				t.Errorf("%s writes to %s %q at %s", name, volume.Type, volume.Source, volume.Target)
			}
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" || name != "gateway" && name != "jaeger" {
				t.Errorf("%s publishes %s:%s", name, port.HostIP, port.Published)
			}
		}
	}
	dockerfile, err := os.ReadFile(filepath.Join(repository, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	compiled, image, _ := strings.Cut(string(dockerfile), "ARG SERVICE")
	if strings.Count(compiled, "go build") != 1 || strings.Contains(image, "go build") {
		t.Error("the Dockerfile compiles more than once: the argument SERVICE comes before the compilation")
	}
	for _, match := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(dockerfile), -1) {
		if !pinned.MatchString(match[1]) {
			t.Errorf("the Dockerfile does not pin %s", match[1])
		}
	}
	for _, line := range []string{"\nUSER 10001:10001\n", "\nHEALTHCHECK "} {
		if !strings.Contains(image, line) {
			t.Errorf("the image does not have the line %q", line)
		}
	}
}

var (
	// links are the settings whose default is the published address.
	links = []string{"LEGACY_BASE_URL", "APP_BASE_URL", "DASHBOARD_BASE_URL", "CONSOLE_BASE_URL"}
	// shared are the variables that all seven services get, although not every service uses them.
	shared = append([]string{"DOCUMENTS_URL", "KAFKA_BROKERS", "REDIS_URL", "GOMEMLIMIT"}, links...)
	// fixed are the settings that compose does not set, because their default is right in a container.
	fixed = []string{"BELLBUOY_ADDR", "BELLBUOY_INTERNAL_ADDR", "IDENTITY_URL", "EVENTS_URL", "SUBSCRIBERS_URL", "INTEGRATIONS_URL", "DELIVERY_URL", "CONSOLE_URL"}
)
