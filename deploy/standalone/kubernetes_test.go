package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// readChart reads a file of the Helm chart.
func readChart(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, "deploy/kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalWithOptions(content, into, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
}

// For each binary, the chart sets exactly the variables that -h of the binary lists. So no required variable is
// missing, and an operator can change each setting.
func TestChartAgreesWithTheBinaries(t *testing.T) {
	t.Parallel()
	var chart struct {
		Common   []string
		Services map[string]struct{ Calls, Settings, Secrets []string }
	}
	readChart(t, "services.yaml", &chart)
	for service, given := range chart.Services {
		help, err := exec.CommandContext(t.Context(), filepath.Join(binaries, service), "-h").Output()
		if err != nil {
			t.Fatal(err)
		}
		var explained []string
		for _, match := range regexp.MustCompile(`\(\$([A-Z_]+)[,)]`).FindAllStringSubmatch(string(help), -1) {
			explained = append(explained, match[1])
		}
		set := slices.Concat(chart.Common, given.Settings, given.Secrets, []string{"BELLBUOY_ADDR", "BELLBUOY_INTERNAL_ADDR"})
		for _, called := range given.Calls {
			set = append(set, strings.ToUpper(called)+"_URL")
		}
		if service == "delivery" {
			set = append(set, "BELLBUOY_DATA")
		}
		slices.Sort(explained)
		slices.Sort(set)
		if !slices.Equal(explained, set) {
			t.Errorf("the chart gives %s the variables\n%v, and -h explains\n%v", service, set, explained)
		}
	}
	if got := slices.Sorted(maps.Keys(chart.Services)); len(got) != 7 {
		t.Errorf("the chart has the services %v", got)
	}
}

// metric describes a metric in metrics.yaml.
type metric struct {
	Type   string
	Labels []string
}

// exports returns an error if a metric is missing in text, the response for Prometheus, or if its type or its labels
// differ.
func exports(text string, metrics map[string]metric) error {
	for name, metric := range metrics {
		if !strings.Contains(text, "# TYPE "+name+" "+metric.Type+"\n") {
			return fmt.Errorf("%s is not exported as a %s", name, metric.Type)
		}
		series := name
		if metric.Type == "histogram" {
			series += "_count"
		}
		match := regexp.MustCompile(`(?m)^` + series + `\{(.*)\} `).FindStringSubmatch(text)
		if match == nil {
			return fmt.Errorf("%s has no series", series)
		}
		var labels []string
		for _, label := range regexp.MustCompile(`([a-z_]+)="(?:[^"\\]|\\.)*"`).FindAllStringSubmatch(match[1], -1) {
			labels = append(labels, label[1])
		}
		want := slices.Sorted(slices.Values(append([]string{"service"}, metric.Labels...)))
		if slices.Sort(labels); !slices.Equal(labels, want) {
			return fmt.Errorf("%s has the labels %v, not %v", series, labels, want)
		}
	}
	return nil
}

// The platform exports each metric in metrics.yaml with exactly its labels. Alerts and the dashboard use no other
// metrics. The metrics contain the group and topic by which the autoscaler scales delivery.
func TestExportsTheMetricsOfAlertsAndDashboard(t *testing.T) {
	t.Parallel()
	var metrics map[string]metric
	readChart(t, "monitoring/metrics.yaml", &metrics)
	scaler, err := os.ReadFile(filepath.Join(repository, "deploy/kubernetes/templates/autoscaler.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	by := regexp.MustCompile(`consumerGroup: (\S+)\s+topic: (\S+)`).FindSubmatch(scaler)
	if by == nil {
		t.Fatal("the autoscaler names no group and topic")
	}
	lag := regexp.MustCompile(fmt.Sprintf(`bellbuoy_stream_lag\{group="%s",[^}]*topic="%s"\}`, by[1], by[2]))
	r, env := startReceiver(t)
	internal := apitest.FreeAddress(t)
	p, _ := started(t, append(env, "BELLBUOY_INTERNAL_ADDR="+internal)...)
	tour(t, seeded(t, p), r)
	eventually(t, 30*time.Second, "the metrics to be exported", func() error {
		got, err := try(t.Context(), http.MethodGet, "http://"+internal+"/metrics", "", nil)
		if err != nil {
			return err
		}
		if !lag.Match(got.body) {
			return fmt.Errorf("%s is not exported", lag)
		}
		return exports(string(got.body), metrics)
	})
}
