package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document/documenttest"
)

const module = "github.com/bellbuoy/bellbuoy/"

// wall forbids imports and states the reason.
type wall struct {
	of     func(pkg string) bool           // reports whether the wall applies to the package
	admits func(pkg, imported string) bool // reports whether the wall allows the import
	why    string
}

// domains are the services' domain packages. The two of integrations share no record and no rule.
var domains = map[string][]string{
	"identity": {"account"}, "events": {"catalog", "edition", "uptime"}, "subscribers": {"audience"}, "integrations": {"endpoint", "inbound"}, "delivery": {"deliverylog", "dispatch"},
}

// foundations contains the domain packages of the same service that a domain package may import. The catalog does not
// import edition: it knows visitors only by its interface Published. Edition does not import site, which renders files.
// The delivery log does not import dispatch: a stored delivery has no rule that depends on how the delivery is sent.
var foundations = map[string][]string{
	"services/delivery/internal/dispatch":     {"services/delivery/internal/deliverylog", "services/delivery/internal/slots"},
	"services/integrations/internal/endpoint": {"services/integrations/internal/outcome"},
	"services/events/internal/catalog":        {"services/events/internal/uptime"},
	"services/events/internal/edition":        {"services/events/internal/catalog", "services/events/internal/uptime"},
}

// pure are libraries that compute and have no effect: identifiers, the standards of addresses and languages, groups of
// goroutines, maps of limited size, and the standards of one-time codes and passkeys.
var pure = []string{
	"github.com/google/uuid", "github.com/hashicorp/golang-lru/v2", "github.com/hashicorp/golang-lru/v2/simplelru", "golang.org/x/net/idna", "golang.org/x/sync/errgroup",
	"golang.org/x/text/language", "golang.org/x/text/unicode/norm",
	"github.com/pquerna/otp", "github.com/pquerna/otp/hotp", "github.com/pquerna/otp/totp", "github.com/go-webauthn/webauthn/protocol", "github.com/go-webauthn/webauthn/webauthn",
}

var walls = []wall{
	{
		of: func(pkg string) bool { return isDomain(pkg) },
		admits: func(pkg, imported string) bool {
			return isStandard(imported) || slices.Contains(pure, imported) || oneOf(imported, foundations[strings.TrimPrefix(pkg, module)]...) || oneOf(imported, "libs/audit", "libs/bodytemplate", "libs/cache", "libs/coalesce", "libs/fault", "libs/topic", "libs/richtext", "libs/find", "libs/seal", "libs/egress", "libs/optional", "libs/failurelog", "libs/timing", "libs/words", "libs/link", "libs/phone")
		},
		why: "a domain contains nouns and rules; gin, MongoDB, Kafka and Redis belong outside",
	},
	{
		of: func(pkg string) bool { return inside(pkg, "/internal/api") },
		admits: func(_, imported string) bool {
			return !inside(imported, "/internal/store") && !oneOf(imported, "libs/document", "libs/stream", "libs/service")
		},
		why: "a handler calls the domain; a handler that calls the store bypasses the rules",
	},
	{
		of: func(pkg string) bool { return inside(pkg, "/internal/store") },
		admits: func(_, imported string) bool {
			return !inside(imported, "/internal/api") && !oneOf(imported, "libs/web", "libs/legacy")
		},
		why: "a store handles records, not requests",
	},
	{
		of: func(pkg string) bool { return service(pkg) != "" },
		admits: func(pkg, imported string) bool {
			return service(imported) == "" || service(imported) == service(pkg)
		},
		why: "services communicate over HTTP and Kafka; a shared package would make them one service",
	},
	{
		of: func(pkg string) bool { return service(pkg) == "console" },
		admits: func(_, imported string) bool {
			return !oneOf(imported, "libs/peer", "libs/document", "libs/stream", "libs/service")
		},
		why: "the console does only what the App interface offers, and stores nothing",
	},
	{
		of: func(pkg string) bool { return strings.HasPrefix(pkg, module+"libs/") },
		admits: func(_, imported string) bool {
			return service(imported) == "" && !strings.HasPrefix(imported, module+"gateway") && !strings.HasPrefix(imported, module+"deploy")
		},
		why: "libs are contracts and tools without business rules",
	},
	{
		of: func(pkg string) bool { return pkg == module+"libs/bodytemplate" },
		admits: func(_, imported string) bool {
			return isStandard(imported) && !oneOf(imported, "os", "net", "net/http", "text/template", "html/template", "reflect") || oneOf(imported, "libs/topic")
		},
		why: "a template of an operator sees one payload and nothing else: it has no files, no network, and no engine that calls methods",
	},
	{
		of: func(pkg string) bool { return strings.HasPrefix(pkg, module+"gateway") },
		admits: func(_, imported string) bool {
			return service(imported) == "" && !oneOf(imported, "libs/document", "libs/stream", "libs/service")
		},
		why: "the gateway decides who the caller is and forwards; it stores no records and consumes no messages",
	},
	{
		of: func(pkg string) bool {
			return !strings.HasPrefix(pkg, module+"deploy/") && !strings.HasPrefix(pkg, module+"libs/moving") && service(pkg) != "console"
		},
		admits: func(_, imported string) bool { return !strings.HasPrefix(imported, module+"libs/moving") },
		why:    "the readers of other products parse foreign files; only the command and the console do that, for a member, and they store nothing",
	},
	{
		of: func(pkg string) bool {
			return strings.HasPrefix(pkg, module+"libs/moving") && !oneOf(pkg, "libs/moving/download", "libs/moving/transfer", "libs/moving/pause")
		},
		admits: func(_, imported string) bool {
			return isStandard(imported) && imported != "net/http" || !strings.HasPrefix(imported, module) && !strings.HasPrefix(imported, "net/") || oneOf(imported, "libs/moving/lines", "libs/richtext", "libs/phone", "libs/words")
		},
		why: "a reader is a function from files to lines; it calls no server and knows no record of ours",
	},
	{
		of: func(pkg string) bool { return pkg == module+"libs/moving/transfer" },
		admits: func(_, imported string) bool {
			return !strings.HasPrefix(imported, module) || oneOf(imported, "libs/moving/lines", "libs/moving/pause")
		},
		why: "the import knows the platform by requests of the App interface only, so that the command and the console can both use it",
	},
}

func TestImportsKeepToTheWalls(t *testing.T) {
	t.Parallel()
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
			t.Errorf("a wall applies to no package: %s", w.why)
		}
	}
}

// A service exports only Config, Run and its declarations: Operations, Legacy and Public.
func TestServicesExportTheirConfigRunAndDeclarationsOnly(t *testing.T) {
	t.Parallel()
	for _, name := range append(slices.Collect(maps.Keys(domains)), "console") {
		out, err := exec.CommandContext(t.Context(), "go", "doc", "-short", module+"services/"+name).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(lines)
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return slices.Contains([]string{"func Operations() []web.Operation", "func Legacy() []legacy.Declared", "func Public() []web.Public"}, line)
		})
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "func Run(") || !strings.HasPrefix(lines[1], "type Config struct") {
			t.Errorf("services/%s exports %q", name, lines)
		}
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

// packages returns all packages of the workspace, with the imports of their code without tests.
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
	return slices.ContainsFunc(domains[name], func(domain string) bool { return pkg == module+"services/"+name+"/internal/"+domain })
}

func inside(pkg, folder string) bool { return service(pkg) != "" && strings.HasSuffix(pkg, folder) }

func isStandard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

func oneOf(pkg string, of ...string) bool {
	return slices.Contains(of, strings.TrimPrefix(pkg, module))
}

// Each service compares the fields of all its collections with a golden file (package documenttest). So no field can
// get other values without a new Revision.
func TestEveryCollectionIsInTheGoldenFileOfItsService(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`document\.Declare\(`)
	for name := range domains {
		folder := filepath.Join("..", "..", "services", name)
		want := 0
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				var text []byte
				text, err = os.ReadFile(path)
				want += len(declared.FindAll(text, -1))
			}
			return err
		})
		golden, failed := os.ReadFile(filepath.Join(folder, "internal", "store", filepath.FromSlash(documenttest.GoldenFile)))
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		collections := map[string]bool{}
		for line := range strings.Lines(string(golden)) {
			collections[strings.Fields(line)[0]] = true
		}
		if len(collections) != want || want == 0 {
			t.Errorf("services/%s declares %d collections, and its golden file has %d; declare all of them in the test that calls documenttest.Fields", name, want, len(collections))
		}
	}
}
