// Package helm compares what Helm makes of the chart with tests.Render, and decodes the objects into the types of
// Kubernetes. It is a long check, because Helm's packages take a minute to compile.
package helm

import (
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"

	"github.com/bellbuoy/bellbuoy/deploy/kubernetes/tests"
)

const folder = "../" + tests.Folder

// kinds are the types of Kubernetes of which the chart has objects. Those of KEDA and the Prometheus Operator are not
// among them.
func kinds() map[string]any {
	return map[string]any{
		"apps/v1 Deployment": &apps.Deployment{}, "v1 Service": &core.Service{}, "v1 Secret": &core.Secret{}, "v1 ConfigMap": &core.ConfigMap{},
		"policy/v1 PodDisruptionBudget": &policy.PodDisruptionBudget{}, "networking.k8s.io/v1 NetworkPolicy": &networking.NetworkPolicy{},
		"networking.k8s.io/v1 Ingress": &networking.Ingress{},
	}
}

func TestHelm(t *testing.T) {
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
			decoded := map[string]int{}
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
					// The two have other rules for the quotes and the indentation of lists.
					if i >= len(mine) || normal(t, document) != normal(t, mine[i]) {
						t.Errorf("%s: Helm makes\n%s", file, document)
					}
					if kind := decode(t, document); kind != "" {
						decoded[kind]++
					}
				}
			}
			if name == "full" {
				for kind := range kinds() {
					if decoded[kind] == 0 {
						t.Errorf("no %s was decoded", kind)
					}
				}
			}
		})
	}
}

// Helm refuses what values.schema.json refuses.
func TestHelm_schema(t *testing.T) {
	chart, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chartutil.ToRenderValues(chart, map[string]any{}, chartutil.ReleaseOptions{Name: tests.Release}, nil); err == nil {
		t.Error("Helm accepts empty values")
	}
}

func TestHelm_lint(t *testing.T) {
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

// decode decodes the document into the type of its kind and returns the kind, or "" for an empty document. An unknown
// field is an error.
func decode(t *testing.T, document string) string {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		t.Fatal(err)
	}
	if head.Kind == "" {
		return ""
	}
	kind := head.APIVersion + " " + head.Kind
	into, known := kinds()[kind]
	switch {
	case known:
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Errorf("%s: %v\n%s", kind, err, document)
		}
	case kind != "keda.sh/v1alpha1 ScaledObject" && kind != "monitoring.coreos.com/v1 PodMonitor" && kind != "monitoring.coreos.com/v1 PrometheusRule":
		t.Errorf("the kind %s is unknown", kind)
	}
	return kind
}
