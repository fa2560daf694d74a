package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// These tests run scripts/up with a replacement of the command docker. It logs its arguments, and the test sets its
// output. The configuration that it prints is docker-compose.yml as the code of Docker Compose renders it.

const fakeDocker = `#!/usr/bin/env bash
echo "$*" >> calls
case "$*" in
"version "*) echo "${ENGINE:-1.51}" ;;
"compose config") cat config ;;
"compose up "*) exit "${UP:-0}" ;;
"ps "*service=delivery*) cat deliveries 2>/dev/null ;;
"ps "*service=gateway*) echo gateway ;;
"ps "*service=jaeger*) ;;
"ps "*) printf '%s\n' 1 2 ;;
"inspect "*HostPort*) cat port 2>/dev/null ;;
"inspect "*) tries=$(($(cat tries 2>/dev/null) + 1)); echo "$tries" > tries; cat "states$tries" 2>/dev/null || cat states ;;
"logs "*) echo "the last line of ${*: -1}" ;;
esac
exit 0
`

// clone is a working tree with docker-compose.yml, scripts/up and the replacement of docker.
type clone struct {
	t      *testing.T
	folder string
	env    []string
}

func newClone(t *testing.T) *clone {
	t.Helper()
	c := &clone{t: t, folder: t.TempDir()}
	for _, name := range []string{"docker-compose.yml", "scripts/up"} {
		content, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		c.write(name, string(content))
	}
	c.write("bin/docker", fakeDocker)
	c.write("states", "identity 1 0 running healthy\nmongodb 2 0 running healthy\n")
	c.configure(map[string]string{"BELLBUOY_PUBLISH": apitest.FreeAddress(t), "JAEGER_PUBLISH": apitest.FreeAddress(t)})
	return c
}

func (c *clone) write(name, content string) {
	c.t.Helper()
	file := filepath.Join(c.folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clone) read(name string) string {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.folder, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(content)
}

// configure sets the output of docker compose config to the configuration with the variables, and with an operator token
// unless they name one.
func (c *clone) configure(variables map[string]string) {
	c.t.Helper()
	if _, is := variables["BELLBUOY_OPERATOR_TOKEN"]; !is {
		variables["BELLBUOY_OPERATOR_TOKEN"] = operatorToken
	}
	config, err := loadProfiles(c.t, variables).MarshalYAML()
	if err != nil {
		c.t.Fatal(err)
	}
	c.write("config", string(config))
}

// up runs scripts/up. It returns the output, the arguments with which docker was called, and whether the script
// succeeded.
func (c *clone) up() (output, calls string, succeeded bool) {
	c.t.Helper()
	c.write("calls", "")
	command := exec.CommandContext(c.t.Context(), filepath.Join(c.folder, "scripts", "up"))
	command.Env = append(c.env, "PATH="+filepath.Join(c.folder, "bin")+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	return string(out), c.read("calls"), err == nil
}

// Without the operator's token there is no operator interface, which creates organizations. The platform starts nevertheless.
func TestUpWithoutAnOperatorTokenCreatesNoOrganization(t *testing.T) {
	t.Parallel()
	for token, runs := range map[string]bool{operatorToken: true, "": false} {
		c := newClone(t)
		c.configure(map[string]string{"BELLBUOY_PUBLISH": apitest.FreeAddress(t), "JAEGER_PUBLISH": apitest.FreeAddress(t), "BELLBUOY_OPERATOR_TOKEN": token})
		out, calls, ok := c.up()
		if !ok || strings.Contains(calls, "compose run --rm -T bellbuoy") != runs || strings.Contains(out, "no organization is created") == runs {
			t.Errorf("with the token %q: %v %s\n%s", token, ok, out, calls)
		}
	}
}

func TestUpWritesTheEnvironmentOfAClone(t *testing.T) {
	t.Parallel()
	written := regexp.MustCompile(`^BELLBUOY_SECRET=[0-9a-f]{64}\nBELLBUOY_OPERATOR_TOKEN=[0-9a-f]{64}\nCOMPOSE_PROJECT_NAME=(bellbuoy-[0-9]+)\n$`)
	var names []string
	for range 2 {
		c := newClone(t)
		if out, _, ok := c.up(); !ok {
			t.Fatal(out)
		}
		env := c.read(".env")
		match := written.FindStringSubmatch(env)
		if match == nil {
			t.Fatalf("a new .env has the names %v", regexp.MustCompile(`(?m)=.*$`).ReplaceAllString(env, ""))
		}
		if info, err := os.Stat(filepath.Join(c.folder, ".env")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the mode of .env: %v, %v", info.Mode(), err)
		}
		if c.up(); c.read(".env") != env {
			t.Error("the second start changed .env")
		}
		options, err := cli.NewProjectOptions([]string{filepath.Join(c.folder, "docker-compose.yml")}, cli.WithWorkingDirectory(c.folder), cli.WithEnvFiles(), cli.WithDotEnv)
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if project.Name != match[1] {
			t.Errorf("Docker Compose names the project %q, and .env names it %q", project.Name, match[1])
		}
		names = append(names, match[1])
	}
	if names[0] == names[1] {
		t.Error("two clones share the name of their project, and so their volumes")
	}

	c := newClone(t)
	c.write(".env", "DELIVERY_SCALE=3") // no newline at the end
	c.up()
	if env := c.read(".env"); !strings.HasPrefix(env, "DELIVERY_SCALE=3\nBELLBUOY_SECRET=") {
		t.Errorf("settings that are older than the first start: %v", regexp.MustCompile(`(?m)=.*$`).ReplaceAllString(env, ""))
	}
	const older = "BELLBUOY_SECRET=0123456789abcdef0123456789abcdef\nBELLBUOY_OPERATOR_TOKEN=0123456789abcdef0123456789abcdef\n"
	c.write(".env", older)
	if c.up(); c.read(".env") != older {
		t.Error("the .env of an older installation has changed, and perhaps the name of its project")
	}
}

func TestUpRefusesATakenAddressBeforeItStartsAnything(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for setting, other := range map[string]string{"BELLBUOY_PUBLISH": "JAEGER_PUBLISH", "JAEGER_PUBLISH": "BELLBUOY_PUBLISH"} {
		for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
			c := newClone(t)
			c.configure(map[string]string{setting: host + ":" + port, other: apitest.FreeAddress(t)})
			out, calls, ok := c.up()
			if ok || !strings.Contains(out, "another program listens on port "+port) || !strings.Contains(out, "echo "+setting+"=127.0.0.1:") {
				t.Errorf("%s=%s:%s: %s", setting, host, port, out)
			}
			if strings.Contains(calls, "build") || strings.Contains(calls, "compose up") {
				t.Errorf("it started something: %s", calls)
			}
		}
	}
	c := newClone(t)
	c.configure(map[string]string{"BELLBUOY_PUBLISH": "127.0.0.1:" + port, "JAEGER_PUBLISH": "127.0.0.1:" + port})
	if out, _, ok := c.up(); ok || !strings.Contains(out, "echo BELLBUOY_PUBLISH=") || !strings.Contains(out, "echo JAEGER_PUBLISH=") {
		t.Errorf("two taken addresses: %s", out)
	}
	c = newClone(t)
	c.configure(map[string]string{"BELLBUOY_PUBLISH": "0.0.0.0:" + port, "JAEGER_PUBLISH": apitest.FreeAddress(t)})
	c.write("port", port+"\n")
	if out, _, ok := c.up(); !ok || !strings.Contains(out, "the links begin with 0.0.0.0") {
		t.Errorf("the platform itself has the address: %s", out)
	}
	c.configure(map[string]string{"BELLBUOY_PUBLISH": "8080"})
	if out, _, ok := c.up(); ok || !strings.Contains(out, "BELLBUOY_PUBLISH must be HOST:PORT") {
		t.Errorf("an address without a host: %s", out)
	}
}

func TestUpNamesTheContainerThatFails(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]string{
		"restarts": "identity 1 1 running starting", "ends": "identity 1 0 exited starting", "is unhealthy": "identity 1 0 running unhealthy",
	} {
		c := newClone(t)
		c.write("states1", "identity 1 0 running starting\nmongodb 2 0 running healthy\n")
		c.write("states", failed+"\nmongodb 2 0 running healthy\n")
		out, calls, ok := c.up()
		if ok || !strings.Contains(out, "the last line of 1\nmake up: identity does not start") || strings.Contains(calls, "compose run") {
			t.Errorf("a container that %s: %s\n%s", name, out, calls)
		}
	}
	c := newClone(t)
	c.write("states1", "identity 1 7 running unhealthy\nmongodb 2 0 running starting\n")
	c.write("states", "identity 1 7 running healthy\nmongodb 2 0 running \n")
	if out, calls, ok := c.up(); !ok || !strings.HasSuffix(calls, "compose run --rm -T bellbuoy\n") {
		t.Errorf("containers that restarted or were unhealthy before: %s\n%s", out, calls)
	}
}

func TestUpLeavesNothingOfAFailedFirstStart(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.write("bin/docker", strings.Replace(fakeDocker, "printf '%s\\n' 1 2", ":", 1))
	c.env = []string{"UP=1"}
	if out, calls, ok := c.up(); ok || !strings.HasSuffix(calls, "compose down\n") {
		t.Errorf("the first start: %s\n%s", out, calls)
	}
	c.write("bin/docker", fakeDocker)
	if out, calls, ok := c.up(); ok || strings.Contains(calls, "compose down") {
		t.Errorf("beside running containers: %s\n%s", out, calls)
	}
}

func TestUpKeepsTheNumberOfDeliveries(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.write("deliveries", "4\n5\n6\n")
	if out, calls, _ := c.up(); !strings.Contains(calls, "--scale delivery=3\n") || !strings.Contains(out, "delivery keeps its 3 containers") {
		t.Errorf("three run: %s\n%s", out, calls)
	}
	c.write(".env", c.read(".env")+"DELIVERY_SCALE=2\n")
	if out, calls, ok := c.up(); !ok || strings.Contains(calls, "--scale") {
		t.Errorf("a setting: %s\n%s", out, calls)
	}
	for setting, want := range map[string]int{"": 1, "3": 3} {
		delivery := loadCompose(t, map[string]string{"DELIVERY_SCALE": setting}).Services["delivery"]
		if got := delivery.GetScale(); got != want {
			t.Errorf("DELIVERY_SCALE=%s: %d containers", setting, got)
		}
	}
}

func TestUpNamesSettingsThatTheNextCommandWouldLose(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.env = []string{"SMS_URL=https://sid:token@sms.example", "BELLBUOY_SEED=demo", "MAIL_FROM=status@example.com"}
	c.write(".env", "MAIL_FROM=status@example.com\n")
	out, _, ok := c.up()
	if want := "make up: SMS_URL holds for this command only"; !ok || !strings.Contains(out, want) || strings.Count(out, "holds for") != 1 {
		t.Errorf("%s", out)
	}
	if strings.Contains(out, "token") {
		t.Error("it prints the value of a setting, which may be a secret")
	}
}

func TestUpRefusesAnOldEngine(t *testing.T) {
	t.Parallel()
	c := newClone(t)
	c.env = []string{"ENGINE=1.43"}
	if out, calls, ok := c.up(); ok || !strings.Contains(out, "install Docker 25 or newer") || strings.Contains(calls, "config") {
		t.Errorf("%s\n%s", out, calls)
	}
}
