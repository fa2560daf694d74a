package tests

import (
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// kinds contains the types of the Kubernetes objects in the chart, except those of KEDA and of the Prometheus Operator.
func kinds() map[string]any {
	return map[string]any{
		"apps/v1 Deployment": &apps.Deployment{}, "v1 Service": &core.Service{}, "v1 Secret": &core.Secret{}, "v1 ConfigMap": &core.ConfigMap{},
		"policy/v1 PodDisruptionBudget": &policy.PodDisruptionBudget{}, "networking.k8s.io/v1 NetworkPolicy": &networking.NetworkPolicy{},
		"networking.k8s.io/v1 Ingress": &networking.Ingress{},
	}
}

// Each object can be decoded into its Kubernetes type and has no unknown fields.
func TestObjectsAreOfTheTypesOfKubernetes(t *testing.T) {
	for name, values := range map[string]map[string]any{"minimal": Minimal(), "full": Full()} {
		t.Run(name, func(t *testing.T) {
			decoded := map[string]int{}
			for _, document := range documents(t, values) {
				decoded[decode(t, document)]++
			}
			for kind := range kinds() {
				if decoded[kind] == 0 && name == "full" {
					t.Errorf("no %s was decoded", kind)
				}
			}
		})
	}
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
