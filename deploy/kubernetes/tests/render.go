// Package tests renders the chart and tests it, its alerts and its dashboard.
//
// Decision: Helm's own packages depend on the client of Kubernetes. They take a minute to compile, so CI does not use
// them. Render executes the templates as Helm does. The module in the folder helm, a long check, compares Render with
// Helm and decodes the objects into the types of Kubernetes. Both modules are outside the workspace, because inside it
// their requirements would change the versions of the modules that the services use.
package tests

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Folder is the path of the chart.
const Folder = ".."

// Release and Namespace are the names of the release and of the namespace that the tests render.
const Release, Namespace = "status", "bellbuoy"

type files string

// Get returns the content of a file of the chart, or "" if the file does not exist.
func (f files) Get(name string) string {
	content, _ := os.ReadFile(filepath.Join(string(f), name))
	return string(content)
}

// Render executes the templates of the chart in folder with values. It returns the texts by the names of the templates.
// It returns an error if values.schema.json refuses the values or a template fails.
func Render(folder string, values map[string]any) (map[string]string, error) {
	var defaults, chart map[string]any
	if err := Read(filepath.Join(folder, "values.yaml"), &defaults); err != nil {
		return nil, err
	}
	if err := Read(filepath.Join(folder, "Chart.yaml"), &chart); err != nil {
		return nil, err
	}
	values = overlay(defaults, values)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(folder, "values.schema.json"))
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(values); err != nil {
		return nil, err
	}
	root := template.New("chart").Option("missingkey=zero")
	names, err := load(root, folder)
	if err != nil {
		return nil, err
	}
	data := map[string]any{
		"Values": values, "Files": files(folder),
		"Release": map[string]any{"Name": Release, "Namespace": Namespace, "Service": "Helm"},
		"Chart":   map[string]any{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
	}
	out := make(map[string]string, len(names))
	for _, name := range names {
		var text bytes.Buffer
		if err := root.ExecuteTemplate(&text, name, data); err != nil {
			return nil, err
		}
		out[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return out, nil
}

// load parses the templates of the chart with the functions of sprig and with those of Helm's own functions that the
// chart uses. It returns the names of the templates that produce objects or notes.
func load(root *template.Template, folder string) ([]string, error) {
	functions := sprig.TxtFuncMap()
	maps.Copy(functions, template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var text strings.Builder
			err := root.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"toYaml": func(value any) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fromYaml": func(text string) (value map[string]any, err error) {
			return value, yaml.Unmarshal([]byte(text), &value)
		},
	})
	root.Funcs(functions)
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no templates", folder))
	}
	var names []string
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		if _, err := root.New(name).Parse(string(content)); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	return names, nil
}

// Read decodes a YAML or JSON file into value. An unknown field is an error.
func Read(path string, value any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalWithOptions(content, value, yaml.Strict()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// overlay returns a copy of base in which the values of top replace values with the same key. It merges nested maps.
func overlay(base, top map[string]any) map[string]any {
	out := maps.Clone(base)
	for key, value := range top {
		below, both := base[key].(map[string]any)
		above, is := value.(map[string]any)
		if both && is {
			value = overlay(below, above)
		}
		out[key] = value
	}
	return out
}

// Minimal returns a value for each setting of the chart that has no default.
func Minimal() map[string]any {
	return map[string]any{
		"image": map[string]any{"repository": "registry.example/bellbuoy"},
		"settings": map[string]any{
			"KAFKA_BROKERS": "kafka-0.kafka:9092,kafka-1.kafka:9092", "LEGACY_BASE_URL": "https://status.example",
			"APP_BASE_URL": "https://status.example", "DASHBOARD_BASE_URL": "https://status.example",
		},
		"secret": map[string]any{"existing": "bellbuoy-secrets"},
	}
}

// Full returns values that use every part of the chart.
func Full() map[string]any {
	settings := map[string]any{}
	for _, name := range []string{
		"BELLBUOY_TRUSTED_PROXIES", "LEGACY_RATE_PER_HOUR", "APP_RATE_PER_MINUTE", "CONFIRM_WITHIN", "DELIVERY_RESOLVE", "ALERT_AFTER",
		"SUPPRESS_AFTER", "TEAMS_WORKFLOW_HOSTS", "TEAMS_PLATFORM_HOSTS", "TEAMS_CONNECTOR_HOSTS", "GCHAT_HOSTS", "SLACK_HOSTS", "DISCORD_HOSTS", "DELIVERY_CA_FILE", "SSO_RESOLVE", "SSO_CA_FILE",
		"DELIVERY_RETRY_SCHEDULE", "DELIVERY_TIMEOUT", "MAIL_FROM", "WHATSAPP_TEMPLATE", "BELLBUOY_TEMPLATES", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_TRACES_SAMPLER_ARG",
	} {
		settings[name] = `a "value": ` + name
	}
	settings["BELLBUOY_LOG_LEVEL"], settings["BELLBUOY_LOG_FORMAT"] = "debug", "json"
	settings["DASHBOARD_CACHE"], settings["BELLBUOY_DOMAIN_PROOF"] = "128MiB", "dns"
	peer := []any{map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"team": "data"}}}}
	return overlay(Minimal(), map[string]any{
		"image":    map[string]any{"repository": "registry.example/bellbuoy", "tag": "v2", "pullSecrets": []any{"pull"}},
		"settings": overlay(Minimal()["settings"].(map[string]any), settings),
		"secret": map[string]any{"existing": "", "values": map[string]any{
			"BELLBUOY_SECRET": strings.Repeat("hush", 8), "DOCUMENTS_URL": "mongodb://hush@mongodb/bellbuoy", "REDIS_URL": "redis://:hush@redis:6379/0",
			"BELLBUOY_OPERATOR_TOKEN": "hush-" + strings.Repeat("token", 6), "SMTP_URL": "smtps://hush:hush@mail.example:465", "SMS_URL": "https://hush:hush@sms.example/",
		}},
		"volumes":        []any{map[string]any{"name": "words", "configMap": map[string]any{"name": "words"}}},
		"volumeMounts":   []any{map[string]any{"name": "words", "mountPath": "/words", "readOnly": true}},
		"gatewayService": map[string]any{"type": "LoadBalancer", "annotations": map[string]any{"a.example/b": "c"}},
		"ingress": map[string]any{
			"enabled": true, "className": "nginx", "annotations": map[string]any{"a.example/b": "true"},
			"hosts": []any{"status.example"}, "tlsSecret": "tls",
		},
		"autoscaler": map[string]any{"enabled": true},
		"networkPolicy": map[string]any{
			"gatewayFrom": peer, "mongodb": map[string]any{"to": peer}, "kafka": map[string]any{"to": peer}, "traces": map[string]any{"to": peer},
			"deliveryTo": []any{map[string]any{"to": peer, "ports": []any{map[string]any{"port": 25}}}},
			"signOnTo":   []any{map[string]any{"to": peer, "ports": []any{map[string]any{"port": 8443}}}},
		},
		"monitoring": map[string]any{"podMonitor": true, "rules": true, "dashboard": true, "labels": map[string]any{"release": "prometheus"}},
	})
}
