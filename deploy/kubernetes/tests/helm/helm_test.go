// Package helm compares Helm's rendering of the chart with that of tests.Render. It is a long check, because Helm's
// packages take a minute to compile.
package helm

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"

	"github.com/bellbuoy/bellbuoy/deploy/kubernetes/tests"
)

const folder = "../" + tests.Folder

func TestHelmRendersTheSameDocuments(t *testing.T) {
	for name, values := range map[string]map[string]any{"minimal": tests.Minimal(), "full": tests.Full()} {
		t.Run(name, func(t *testing.T) {
			chart, err := loader.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			options := chartutil.ReleaseOptions{Name: tests.Release, Namespace: tests.Namespace, IsInstall: true}
			all, err := chartutil.ToRenderValues(chart, values, options, nil)
			if err != nil {
				t.Fatal(err)
			}
			rendered, err := engine.Render(chart, all)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := tests.Render(folder, values)
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range rendered {
				file := strings.TrimPrefix(path, "bellbuoy/templates/")
				if strings.HasPrefix(file, "_") {
					continue
				}
				if !strings.HasSuffix(file, ".yaml") {
					if text != ours[file] {
						t.Errorf("%s: Helm makes\n%s\nand Render\n%s", file, text, ours[file])
					}
					continue
				}
				mine := strings.Split("\n"+ours[file], "\n---")
				for i, document := range strings.Split("\n"+text, "\n---") {
					// Helm and tests.Render quote strings and indent lists differently.
					if i >= len(mine) || normal(t, document) != normal(t, mine[i]) {
						t.Errorf("%s: Helm makes\n%s", file, document)
					}
				}
			}
		})
	}
}

// values.schema.json requires some values, so Helm refuses empty values.
func TestHelmRefusesEmptyValues(t *testing.T) {
	chart, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chartutil.ToRenderValues(chart, map[string]any{}, chartutil.ReleaseOptions{Name: tests.Release}, nil); err == nil {
		t.Error("Helm accepts empty values")
	}
}

func TestHelmFindsNoFaultInTheChart(t *testing.T) {
	for _, message := range lint.AllWithKubeVersion(folder, tests.Full(), tests.Namespace, nil).Messages {
		if message.Severity >= support.WarningSev {
			t.Error(message)
		}
	}
}

// normal returns the document as JSON.
func normal(t *testing.T, document string) string {
	t.Helper()
	text, err := yaml.YAMLToJSONStrict([]byte(document))
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return string(text)
}
