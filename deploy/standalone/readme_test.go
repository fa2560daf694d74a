package main_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// repository is the root of the working tree.
const repository = "../.."

func TestReadmeTourWorksWordForWord(t *testing.T) {
	t.Parallel()
	clone := t.TempDir()
	copyTree(t, repository, clone)
	demo := exec.CommandContext(t.Context(), filepath.Join(clone, "scripts", "demo"))
	demo.Env = append(os.Environ(), "GOFLAGS=-trimpath -ldflags=-w", "BELLBUOY_ADDR="+apitest.FreeAddress(t), "BELLBUOY_INTERNAL_ADDR=127.0.0.1:0")
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	output := string(out)
	active := strings.Index(output, `"service_name":"Checkout","status":"active incident"`)
	operational := strings.Index(output, `"service_name":"Checkout","status":"operational"`)
	if !regexp.MustCompile(`(?m)^a dashboard with a history: http://127\.0\.0\.1:\d+/d/demo/$`).MatchString(output) {
		t.Errorf("the demo does not print the address of its dashboard:\n%s", output)
	}
	if active < 0 || operational < active || strings.Count(output, "signature right") != 2 {
		t.Errorf("the tour shows something else:\n%s", output)
	}
}

func TestDemoEndsAtOnceIfABlockCannotStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	// The first block of the tour runs with the built binary and with a port that is already in use.
	tour := "## Tour\n```bash\n" + filepath.Join(binaries, "receiver") + " --addr " + taken.Addr().String() + "\n```\n"
	clone := t.TempDir()
	if err := os.WriteFile(filepath.Join(clone, "README.md"), []byte(tour), 0o600); err != nil {
		t.Fatal(err)
	}
	copyTree(t, filepath.Join(repository, "scripts"), filepath.Join(clone, "scripts"))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	demo := exec.CommandContext(ctx, filepath.Join(clone, "scripts", "demo"))
	demo.WaitDelay = time.Second
	out, err := demo.CombinedOutput()
	if err == nil || ctx.Err() != nil || !strings.Contains(string(out), "receiver: error: listen") {
		t.Errorf("%v, %v:\n%s", err, ctx.Err(), out)
	}
}

// Each README links to files and headings that exist, and mentions only targets of the Makefile and scripts that exist.
func TestReadmesNameWhatExists(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"", "services", "scripts", "deploy", "deploy/kubernetes"} {
		name := filepath.Join(folder, "README.md")
		content := readme(t, folder)
		links := regexp.MustCompile(`(?:\]\(|src="|srcset=")([^)#"]*)(#[^)"]*)?[)"]`).FindAllStringSubmatch(content, -1)
		if len(links) == 0 {
			t.Errorf("no links were found in %s", name)
		}
		for _, link := range links {
			if strings.HasPrefix(link[1], "https://") {
				continue
			}
			target := filepath.Join(folder, link[1])
			if link[1] == "" {
				target = name
			}
			linked, err := os.Stat(filepath.Join(repository, target))
			if err != nil {
				t.Errorf("%s links to %s: %v", name, link[1], err)
			} else if link[2] != "" && (linked.IsDir() || !slices.Contains(anchors(readme(t, filepath.Dir(target))), link[2])) {
				t.Errorf("%s links to %s, which has no heading %s", name, target, link[2])
			}
		}
		for _, target := range regexp.MustCompile("(?m)(?:^|`|[A-Z]=\\S+ )make ([a-z-]+)").FindAllStringSubmatch(content, -1) {
			if out, err := exec.CommandContext(t.Context(), "make", "-C", repository, "-n", target[1]).CombinedOutput(); err != nil {
				t.Errorf("%s: make %s: %s", name, target[1], out)
			}
		}
		for _, script := range regexp.MustCompile("(?m)(?:^|`)(scripts/[a-z-]+)").FindAllStringSubmatch(content, -1) {
			if _, err := os.Stat(filepath.Join(repository, script[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// readme returns the README in the folder.
func readme(t *testing.T, folder string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// anchors returns the link fragments of the headings, as Markdown renderers usually create them.
func anchors(content string) []string {
	var all []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(content, -1) {
		words := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, "#"+strings.ReplaceAll(words, " ", "-"))
	}
	return all
}

// copyTree copies the files that a clone would have. It omits files that a run creates.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if slices.Contains([]string{".git", "data", "bin", ".env"}, relative) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each script explains itself with -h and then starts nothing. scripts/bench explains each row of its results.
func TestScriptsExplainThemselves(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(repository, "scripts", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts (%v)", err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() || filepath.Base(file) == "README.md" {
			continue
		}
		script, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		help, err := exec.CommandContext(t.Context(), file, "-h").Output()
		wanted := strings.TrimPrefix(strings.Split(string(script), "\n")[1], "# ")
		if filepath.Base(file) == "inbound" { // this script passes -h to its program
			wanted = "Usage: inbound"
		}
		if err != nil || !strings.HasPrefix(string(help), wanted) || strings.Contains(string(help), "\nset -") {
			t.Errorf("%s -h: %v\n%s", file, err, help)
		}
	}
	bench := filepath.Join(repository, "scripts", "bench")
	help, err := exec.CommandContext(t.Context(), bench, "-h").Output()
	refusal, _ := exec.CommandContext(t.Context(), bench, "none").CombinedOutput()
	_, rows, _ := strings.Cut(string(refusal), "the rows are:")
	if rows == "" || err != nil {
		t.Fatalf("it wrote %q, %v", refusal, err)
	}
	for row := range strings.FieldsSeq(rows) {
		if !slices.Contains(strings.Fields(string(help)), row) {
			t.Errorf("the help does not explain %s", row)
		}
	}
}
