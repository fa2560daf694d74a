package tests

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// object is a Kubernetes object.
type object map[string]any

// at returns the value at a path of keys and positions, or nil.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			switch m := value.(type) {
			case object:
				value = m[step]
			case map[string]any:
				value = m[step]
			default:
				return nil
			}
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// list returns the list at the path.
func list(value any, path ...any) []any {
	found, _ := at(value, path...).([]any)
	return found
}

func (o object) name() string { return fmt.Sprint(o["kind"], "/", at(o, "metadata", "name")) }

// objects renders the chart and returns its objects by kind and name.
func objects(t *testing.T, values map[string]any) map[string]object {
	t.Helper()
	found := map[string]object{}
	for _, document := range documents(t, values) {
		var o object
		if err := yaml.UnmarshalWithOptions([]byte(document), &o, yaml.Strict()); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if o == nil {
			continue
		}
		if found[o.name()] != nil {
			t.Errorf("%s is rendered twice", o.name())
		}
		found[o.name()] = o
	}
	return found
}

// documents renders the chart and returns its YAML documents. Some are empty.
func documents(t *testing.T, values map[string]any) (all []string) {
	t.Helper()
	rendered, err := Render(Folder, values)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range rendered {
		if strings.HasSuffix(file, ".yaml") {
			all = append(all, strings.Split("\n"+text, "\n---")...)
		}
	}
	return all
}

// given describes a service in services.yaml.
type given struct{ Calls, Settings, Secrets []string }

// services returns the services of services.yaml. The common settings are added to the settings of each.
func services(t *testing.T) map[string]given {
	t.Helper()
	var all struct {
		Common   []string
		Services map[string]given
	}
	if err := Read(filepath.Join(Folder, "services.yaml"), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Services) != 7 {
		t.Fatalf("services.yaml has %d services", len(all.Services))
	}
	for name, given := range all.Services {
		given.Settings = append(given.Settings, all.Common...)
		all.Services[name] = given
	}
	return all.Services
}

const release = Release + "-bellbuoy"

func TestEachServiceHasItsObjects(t *testing.T) {
	for name, values := range map[string]map[string]any{"minimal": Minimal(), "full": Full()} {
		all := objects(t, values)
		for service := range services(t) {
			for _, kind := range []string{"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"} {
				o := all[kind+"/"+release+"-"+service]
				if o == nil {
					t.Errorf("%s: %s has no %s", name, service, kind)
					continue
				}
				// The selector matches only the pods of this service.
				selector := at(o, "spec", "selector")
				if kind == "NetworkPolicy" {
					selector = at(o, "spec", "podSelector")
				}
				if kind != "Service" {
					selector = at(selector, "matchLabels")
				}
				labels := at(all["Deployment/"+release+"-"+service], "spec", "template", "metadata", "labels")
				want := map[string]any{"app.kubernetes.io/name": "bellbuoy", "app.kubernetes.io/instance": Release, "app.kubernetes.io/component": service}
				if got, _ := selector.(map[string]any); !maps.Equal(got, want) {
					t.Errorf("%s: the %s of %s selects %v", name, kind, service, selector)
				}
				for label, value := range want {
					if at(labels, label) != value {
						t.Errorf("%s: the pods of %s have the labels %v", name, service, labels)
					}
				}
			}
		}
		if more := name == "full"; (all["ScaledObject/"+release+"-delivery"] != nil) != more || (all["Ingress/"+release] != nil) != more ||
			(all["PodMonitor/"+release] != nil) != more || (all["PrometheusRule/"+release] != nil) != more ||
			(all["ConfigMap/"+release+"-dashboard"] != nil) != more || (all["Secret/"+release] != nil) != more {
			t.Errorf("%s: %v", name, slices.Sorted(maps.Keys(all)))
		}
		// An autoscaler and a fixed number of replicas would contradict each other.
		for service := range services(t) {
			fixed := at(all["Deployment/"+release+"-"+service], "spec", "replicas") != nil
			if fixed != (name == "minimal" || service != "delivery") {
				t.Errorf("%s: %s has a number of replicas: %v", name, service, fixed)
			}
		}
	}
}

// services.yaml gives each of these variables to the service, and each setting reaches the pods.
func TestServicesGetTheirSettings(t *testing.T) {
	for name, values := range map[string]map[string]any{"minimal": Minimal(), "full": Full()} {
		all := objects(t, values)
		settings := values["settings"].(map[string]any)
		for service, given := range services(t) {
			got := map[string]any{}
			for _, variable := range list(all["Deployment/"+release+"-"+service], "spec", "template", "spec", "containers", 0, "env") {
				text, _ := at(variable, "name").(string)
				if got[text] != nil {
					t.Errorf("%s: %s has %s twice", name, service, text)
				}
				got[text] = at(variable, "value")
				if got[text] == nil {
					got[text] = at(variable, "valueFrom", "secretKeyRef")
				}
			}
			want := map[string]any{"BELLBUOY_ADDR": ":8080", "BELLBUOY_INTERNAL_ADDR": ":8081", "GOMEMLIMIT": "409MiB"}
			if service == "identity" || service == "console" {
				want["GOMEMLIMIT"] = "204MiB"
			}
			if service == "delivery" {
				want["BELLBUOY_DATA"] = "/data"
			}
			for _, called := range given.Calls {
				want[strings.ToUpper(called)+"_URL"] = "http://" + release + "-" + called + ":8080"
			}
			for _, setting := range given.Settings {
				if settings[setting] != nil {
					want[setting] = settings[setting]
				}
			}
			secret := map[string]string{"minimal": "bellbuoy-secrets", "full": release}[name]
			for _, variable := range given.Secrets {
				reference := map[string]any{"name": secret, "key": variable}
				if !slices.Contains([]string{"BELLBUOY_SECRET", "DOCUMENTS_URL", "REDIS_URL"}, variable) {
					reference["optional"] = true
				}
				want[variable] = reference
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s has the variables\n%v, not\n%v", name, service, got, want)
			}
		}
	}
}

// A service can have another MongoDB than the others.
func TestAServiceCanHaveADatabaseOfItsOwn(t *testing.T) {
	type m = map[string]any
	rendered := objects(t, overlay(Minimal(), m{"services": m{"delivery": m{"documentsKey": "DELIVERY_DOCUMENTS_URL"}}}))
	for service, want := range map[string]string{"delivery": "DELIVERY_DOCUMENTS_URL", "events": "DOCUMENTS_URL"} {
		var got any
		for _, variable := range list(rendered["Deployment/"+release+"-"+service], "spec", "template", "spec", "containers", 0, "env") {
			if at(variable, "name") == "DOCUMENTS_URL" {
				got = at(variable, "valueFrom", "secretKeyRef", "key")
			}
		}
		if got != want {
			t.Errorf("the address of the database of %s is that of key %v, not %s", service, got, want)
		}
	}
}

// If a container has no memory limit in MiB or GiB, the garbage collector gets no limit.
func TestTheMemoryLimitFollowsTheLimitOfTheContainer(t *testing.T) {
	type m = map[string]any
	for limits, want := range map[string]any{"2Gi": "1638MiB", "100Mi": "80MiB", "512M": nil, "": nil} {
		values := overlay(Minimal(), m{"services": m{"gateway": m{"resources": m{"limits": m{"memory": limits}}}}})
		if limits == "" {
			values = overlay(Minimal(), m{"services": m{"gateway": m{"resources": m{"limits": nil}}}})
		}
		var got any
		for _, variable := range list(objects(t, values)["Deployment/"+release+"-gateway"], "spec", "template", "spec", "containers", 0, "env") {
			if at(variable, "name") == "GOMEMLIMIT" {
				got = at(variable, "value")
			}
		}
		if got != want {
			t.Errorf("with the limit %q GOMEMLIMIT is %v, not %v", limits, got, want)
		}
	}
}

func TestPodsAreConfined(t *testing.T) {
	for _, values := range []map[string]any{Minimal(), Full()} {
		all := objects(t, values)
		for service := range services(t) {
			pod := at(all["Deployment/"+release+"-"+service], "spec", "template", "spec")
			container := at(pod, "containers", 0)
			for _, row := range []struct {
				in   any
				path []any
				want any
			}{
				{pod, []any{"automountServiceAccountToken"}, false},
				{pod, []any{"securityContext", "runAsNonRoot"}, true},
				{pod, []any{"securityContext", "seccompProfile", "type"}, "RuntimeDefault"},
				{container, []any{"securityContext", "allowPrivilegeEscalation"}, false},
				{container, []any{"securityContext", "readOnlyRootFilesystem"}, true},
				{container, []any{"securityContext", "capabilities", "drop", 0}, "ALL"},
				{container, []any{"livenessProbe", "httpGet", "path"}, "/healthz"},
				{container, []any{"startupProbe", "httpGet", "path"}, "/healthz"},
				{container, []any{"readinessProbe", "httpGet", "path"}, cmp.Or(map[string]string{"gateway": "/healthz", "console": "/readyz"}[service], "/readyz?exclude=kafka")},
			} {
				if got := at(row.in, row.path...); got != row.want {
					t.Errorf("%s: %v is %v, not %v", service, row.path, got, row.want)
				}
			}
			for _, path := range [][]any{{"resources", "requests", "cpu"}, {"resources", "requests", "memory"}, {"resources", "limits", "memory"}} {
				if at(container, path...) == nil {
					t.Errorf("%s has no %v", service, path)
				}
			}
			if len(list(pod, "containers")) != 1 || at(pod, "hostNetwork") != nil {
				t.Errorf("%s has another container or the network of the host", service)
			}
		}
	}
}

// expect fails the test unless the object has the value want at the path.
func (o object) expect(t *testing.T, want any, path ...any) {
	t.Helper()
	if got := at(o, path...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v is %v, not %v", o.name(), path, got, want)
	}
}

// A rollout removes no pod before its successor is ready, and a pod has enough time to stop. The autoscaler watches the
// consumer group of delivery. The ingress and the monitor use the ports with these names.
func TestObjectsAgreeWithHowServicesStopAndListen(t *testing.T) {
	all := objects(t, Full())
	for service := range services(t) {
		deployment := all["Deployment/"+release+"-"+service]
		deployment.expect(t, map[string]any{"maxSurge": 1, "maxUnavailable": 0}, "spec", "strategy", "rollingUpdate")
		deployment.expect(t, 45, "spec", "template", "spec", "terminationGracePeriodSeconds")
		deployment.expect(t, 5, "spec", "template", "spec", "containers", 0, "lifecycle", "preStop", "sleep", "seconds")
		deployment.expect(t, []any{map[string]any{"name": "http", "containerPort": 8080}, map[string]any{"name": "internal", "containerPort": 8081}},
			"spec", "template", "spec", "containers", 0, "ports")
		if mounts := list(deployment, "spec", "template", "spec", "containers", 0, "volumeMounts"); at(mounts[len(mounts)-1], "mountPath") != "/words" {
			t.Errorf("%s has the folders %v", service, mounts)
		}
		all["PodDisruptionBudget/"+release+"-"+service].expect(t, 1, "spec", "maxUnavailable")
		all["Service/"+release+"-"+service].expect(t, "http", "spec", "ports", 0, "targetPort")
	}
	scaler := all["ScaledObject/"+release+"-delivery"]
	scaler.expect(t, release+"-delivery", "spec", "scaleTargetRef", "name")
	scaler.expect(t, 2, "spec", "minReplicaCount")
	scaler.expect(t, 8, "spec", "maxReplicaCount")
	scaler.expect(t, map[string]any{
		"bootstrapServers": "kafka-0.kafka:9092,kafka-1.kafka:9092", "consumerGroup": "delivery-send", "topic": "deliveries",
		"lagThreshold": "40", "offsetResetPolicy": "earliest",
	}, "spec", "triggers", 0, "metadata")
	ingress := all["Ingress/"+release]
	ingress.expect(t, "status.example", "spec", "rules", 0, "host")
	ingress.expect(t, map[string]any{"service": map[string]any{"name": release + "-gateway", "port": map[string]any{"name": "http"}}},
		"spec", "rules", 0, "http", "paths", 0, "backend")
	all["PodMonitor/"+release].expect(t, []any{map[string]any{"port": "internal", "path": "/metrics", "interval": "15s"}}, "spec", "podMetricsEndpoints")
}

// If the values name no peers, any pod may connect to the gateway, and only its callers may connect to another service.
// Each service may connect only to the services that it calls and to its engines.
func TestNetworkPoliciesAllowOnlyTheNeededConnections(t *testing.T) {
	all, given := objects(t, Minimal()), services(t)
	ports := func(rule any) (out []string) {
		for _, port := range list(rule, "ports") {
			out = append(out, fmt.Sprint(at(port, "port")))
		}
		return out
	}
	pods := func(rule any, side string) (out []string) {
		for _, peer := range list(rule, side) {
			component, _ := at(peer, "podSelector", "matchLabels", "app.kubernetes.io/component").(string)
			out = append(out, component)
		}
		slices.Sort(out)
		return out
	}
	for service := range given {
		policy := all["NetworkPolicy/"+release+"-"+service]
		if types := list(policy, "spec", "policyTypes"); len(types) != 2 {
			t.Errorf("%s restricts %v only", service, types)
		}
		var callers []string
		for caller, g := range given {
			if slices.Contains(g.Calls, service) {
				callers = append(callers, caller)
			}
		}
		slices.Sort(callers)
		in := list(policy, "spec", "ingress")
		if len(in) != 2 || !slices.Equal(ports(in[0]), []string{"8080"}) || !slices.Equal(pods(in[0], "from"), callers) ||
			(at(in[0], "from") == nil) != (service == "gateway") || !slices.Equal(ports(in[1]), []string{"8081"}) || at(in[1], "from") == nil {
			t.Errorf("%s accepts %v", service, in)
		}
		out := list(policy, "spec", "egress")
		calls := slices.Sorted(slices.Values(given[service].Calls))
		if len(out) < 2 || !slices.Equal(ports(out[0]), []string{"53", "53"}) || !slices.Equal(pods(out[1], "to"), calls) || !slices.Equal(ports(out[1]), []string{"8080"}) {
			t.Fatalf("%s connects to %v", service, out)
		}
		var engines []string
		for _, rule := range out[2:] {
			engines = append(engines, ports(rule)...)
		}
		want := map[string][]string{"gateway": {"6379"}, "console": {"443"}, "delivery": {"9092", "27017", "443", "465", "587"},
			"identity": {"9092", "27017", "6379", "443"}}[service]
		if want == nil {
			want = []string{"9092", "27017", "6379"}
		}
		if !slices.Equal(engines, want) {
			t.Errorf("%s connects to the ports %v, not %v", service, engines, want)
		}
		var refused []string
		for _, peer := range list(out[len(out)-1], "to") {
			if at(peer, "ipBlock") == nil {
				continue // pods
			}
			refused = append(refused, fmt.Sprint(at(peer, "ipBlock", "cidr"), " without ", list(peer, "ipBlock", "except")))
		}
		outward := service == "delivery" || service == "identity" || service == "console" // receivers, issuers of single sign-on, and Statuspage
		if outward && !slices.Equal(refused, []string{
			"0.0.0.0/0 without [10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16]", "::/0 without [fc00::/7 fe80::/10]",
		}) || !outward && len(refused) > 0 {
			t.Errorf("%s reaches %v", service, refused)
		}
	}
}

// Secrets appear only in the Secret object.
func TestSecretsAreNotShown(t *testing.T) {
	rendered, err := Render(Folder, Full())
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range rendered {
		if strings.Contains(text, "hush") {
			t.Errorf("%s shows a secret", file)
		}
	}
	if notes := rendered["NOTES.txt"]; !strings.Contains(notes, "https://status.example") {
		t.Error(notes)
	}
	if data, _ := at(objects(t, Full())["Secret/"+release], "data").(map[string]any); len(data) != 6 {
		t.Errorf("the Secret has %d values", len(data))
	}
}

// The schema refuses a missing, an unknown or a wrong value. Each case changes one of the valid values.
func TestTheSchemaRefusesWrongValues(t *testing.T) {
	type m = map[string]any
	values := m{"secret": m{"existing": "", "values": m{
		"BELLBUOY_SECRET": strings.Repeat("s", 32), "DOCUMENTS_URL": "mongodb://m/b", "REDIS_URL": "redis://r:6379/0",
	}}}
	if _, err := Render(Folder, overlay(Minimal(), values)); err != nil {
		t.Fatal(err)
	}
	for _, change := range []m{
		{"image": m{"repository": ""}},
		{"settings": m{"KAFKA_BROKERS": ""}},
		{"settings": m{"KAFKA_BROKERS": "kafka"}},
		{"settings": m{"APP_BASE_URL": "status.example"}},
		{"settings": m{"DELIVERY_TIMEOUTS": "10s"}},
		{"settings": m{"ALERT_AFTER": 5}},
		{"settings": m{"SMTP_URL": "smtp://password"}},
		{"secret": m{"existing": ""}},
		{"secret": m{"values": m{"REDIS_URL": "redis://r:6379/0"}}},
		overlay(values, m{"secret": m{"existing": "", "values": m{"BELLBUOY_SECRET": "short", "DOCUMENTS_URL": "mongodb://m/b", "REDIS_URL": "redis://r:6379/0"}}}),
		{"services": m{"delivery": m{"replicas": -1}}},
		{"services": m{"mailer": m{"replicas": 1}}},
		{"autoscaler": m{"maxReplicas": 49}},
		{"ingress": m{"enabled": true}},
		{"gatewayservice": m{}},
	} {
		if _, err := Render(Folder, overlay(Minimal(), change)); err == nil {
			t.Errorf("accepted: %v", change)
		}
	}
}
