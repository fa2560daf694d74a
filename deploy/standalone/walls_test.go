package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/bellbuoy/bellbuoy/"

// wall forbids imports, and says why.
type wall struct {
	of     func(pkg string) bool           // the packages it stands around
	admits func(pkg, imported string) bool // of the project's own and of others' packages
	why    string
}

// domains are the services' domain packages.
var domains = map[string]string{
	"identity": "account", "events": "catalog", "subscribers": "audience", "integrations": "endpoint", "delivery": "dispatch",
}

var walls = []wall{
	{
		of: func(pkg string) bool { return isDomain(pkg) },
		admits: func(_, imported string) bool {
			return isStandard(imported) || imported == "github.com/google/uuid" || oneOf(imported, "libs/fault", "libs/topic", "libs/richtext", "libs/find", "libs/seal", "libs/outward", "libs/optional")
		},
		why: "a domain holds nouns and rules; gin, Mongo, Kafka and Redis are somebody else's words",
	},
	{
		of: func(pkg string) bool { return inside(pkg, "/internal/api") },
		admits: func(_, imported string) bool {
			return !inside(imported, "/internal/store") && !oneOf(imported, "libs/document", "libs/stream")
		},
		why: "a handler asks the domain; one that reaches into the store goes round the rules",
	},
	{
		of: func(pkg string) bool { return inside(pkg, "/internal/store") },
		admits: func(_, imported string) bool {
			return !inside(imported, "/internal/api") && !oneOf(imported, "libs/web", "libs/legacy")
		},
		why: "a store knows records, not requests",
	},
	{
		of: func(pkg string) bool { return service(pkg) != "" },
		admits: func(pkg, imported string) bool {
			return service(imported) == "" || service(imported) == service(pkg)
		},
		why: "services talk over HTTP and Kafka; a shared package would make them one service",
	},
	{
		of: func(pkg string) bool { return strings.HasPrefix(pkg, module+"libs/") },
		admits: func(_, imported string) bool {
			return service(imported) == "" && !strings.HasPrefix(imported, module+"gateway") && !strings.HasPrefix(imported, module+"deploy")
		},
		why: "libs are contracts and tools; nothing of the business",
	},
	{
		of: func(pkg string) bool { return strings.HasPrefix(pkg, module+"gateway") },
		admits: func(_, imported string) bool {
			return service(imported) == "" && !oneOf(imported, "libs/document", "libs/stream")
		},
		why: "the gateway decides who and forwards; it keeps no records and hears no messages",
	},
}

func TestImportsKeepToTheWalls(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		for _, w := range walls {
			if !w.of(p.ImportPath) {
				continue
			}
			seen[w.why] = true
			for _, imported := range p.Imports {
				if !w.admits(p.ImportPath, imported) {
					t.Errorf("%s imports %s: %s", strings.TrimPrefix(p.ImportPath, module), strings.TrimPrefix(imported, module), w.why)
				}
			}
		}
	}
	for _, w := range walls {
		if !seen[w.why] {
			t.Errorf("a wall stands around nothing: %s", w.why)
		}
	}
}

// A service exports Config, Run and, if it serves the App or the operator interface, Operations.
func TestServicesExportTheirConfigRunAndOperationsOnly(t *testing.T) {
	for name := range domains {
		out, err := exec.CommandContext(t.Context(), "go", "doc", "-short", module+"services/"+name).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(lines)
		lines = slices.DeleteFunc(lines, func(line string) bool { return line == "func Operations() []web.Operation" })
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "func Run(") || !strings.HasPrefix(lines[1], "type Config struct") {
			t.Errorf("services/%s exports %q", name, lines)
		}
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

// packages are all of the workspace's, with what their production code imports.
func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func service(pkg string) string {
	rest, found := strings.CutPrefix(pkg, module+"services/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func isDomain(pkg string) bool {
	name := service(pkg)
	return name != "" && pkg == module+"services/"+name+"/internal/"+domains[name]
}

func inside(pkg, folder string) bool { return service(pkg) != "" && strings.HasSuffix(pkg, folder) }

func isStandard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

func oneOf(pkg string, of ...string) bool {
	return slices.Contains(of, strings.TrimPrefix(pkg, module))
}
