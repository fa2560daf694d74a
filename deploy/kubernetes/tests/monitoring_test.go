package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

var promQL = parser.NewParser(parser.Options{})

// alerts returns the alert rules of the platform. The parser of Prometheus checks the file, the queries and the
// templates.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(filepath.Join(Folder, "monitoring", "alerts.yaml"), false, model.UTF8Validation, promQL, promslog.NewNopLogger())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// dashboard returns the queries of the Grafana dashboard, with values for the variables of Grafana.
func dashboard(t *testing.T) (queries []string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Folder, "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID         int
			Title      string
			Datasource struct{ UID string }
			Targets    []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, panel := range board.Panels {
		if seen[panel.ID] || panel.Datasource.UID != "${datasource}" || len(board.Templating.List) != 1 || len(panel.Targets) == 0 {
			t.Errorf("panel %q has the number of another, an unknown source of data or no query", panel.Title)
		}
		seen[panel.ID] = true
		for _, target := range panel.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	return queries
}

// The queries of the alerts and of the dashboard use only metrics and labels in metrics.yaml. A test of the platform
// compares metrics.yaml with the exported metrics.
func TestQueriesUseExportedMetrics(t *testing.T) {
	var exported map[string]struct {
		Type   string
		Labels []string
	}
	if err := Read(filepath.Join(Folder, "monitoring", "metrics.yaml"), &exported); err != nil {
		t.Fatal(err)
	}
	queries := dashboard(t)
	for _, rule := range alerts(t) {
		queries = append(queries, rule.Expr)
	}
	used := map[string]bool{}
	for _, query := range queries {
		expression, err := promQL.ParseExpr(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		var names []string // names of the labels that the query may use
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			selector, is := node.(*parser.VectorSelector)
			if !is {
				return nil
			}
			name, metric := selector.Name, exported[selector.Name]
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				if base, cut := strings.CutSuffix(selector.Name, part); cut && exported[base].Type == "histogram" {
					name, metric = base, exported[base]
				}
			}
			if metric.Type == "" || metric.Type == "histogram" && name == selector.Name {
				t.Errorf("%s: %s is not exported", query, selector.Name)
			}
			used[name] = true
			own := append([]string{"service", labels.MetricName}, metric.Labels...)
			if strings.HasSuffix(selector.Name, "_bucket") {
				own = append(own, "le")
			}
			for _, matcher := range selector.LabelMatchers {
				if !slices.Contains(own, matcher.Name) {
					t.Errorf("%s: %s has no label %s", query, selector.Name, matcher.Name)
				}
			}
			names = append(names, own...)
			return nil
		})
		parser.Inspect(expression, func(node parser.Node, path []parser.Node) error {
			if call, is := node.(*parser.Call); is && (call.Func.Name == "rate" || call.Func.Name == "increase") {
				name := call.Args[0].(*parser.MatrixSelector).VectorSelector.(*parser.VectorSelector).Name
				if exported[name].Type == "gauge" {
					t.Errorf("%s: %s is a gauge", query, name)
				}
			}
			if aggregate, is := node.(*parser.AggregateExpr); is {
				for _, label := range aggregate.Grouping {
					if !slices.Contains(names, label) {
						t.Errorf("%s: no metric has the label %s", query, label)
					}
				}
			}
			return nil
		})
	}
	for name := range exported {
		if !used[name] {
			t.Errorf("neither an alert nor the dashboard uses %s", name)
		}
	}
}

// README.md explains each alert, and no alert that does not exist.
func TestReadmeExplainsTheAlerts(t *testing.T) {
	readme := files(Folder).Get("README.md")
	for _, rule := range alerts(t) {
		if strings.Count(readme, "\n| `"+rule.Alert+"` | ") != 1 || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%s is not explained, or has no severity or summary", rule.Alert)
		}
	}
	if rows := strings.Count(readme, "\n| `Bellbuoy"); rows != len(alerts(t)) {
		t.Errorf("README.md explains %d alerts", rows)
	}
}
