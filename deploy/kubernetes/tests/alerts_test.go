package tests

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// sample is a value at a time in milliseconds.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// seriesSet iterates over series.
type seriesSet struct {
	storage.SeriesSet // an empty set, for the other methods
	series            []storage.Series
	next              int
}

func (s *seriesSet) Next() bool         { s.next++; return s.next <= len(s.series) }
func (s *seriesSet) At() storage.Series { return s.series[s.next-1] }

// storageOf returns a storage of series in the notation of promtool, with a value per minute.
func storageOf(t *testing.T, series []string) storage.Queryable {
	t.Helper()
	var all []storage.Series
	for _, description := range series {
		names, values, err := promQL.ParseSeriesDesc(description)
		if err != nil {
			t.Fatalf("%s: %v", description, err)
		}
		var samples []chunks.Sample
		for minute, value := range values {
			if !value.Omitted {
				samples = append(samples, sample{int64(minute) * time.Minute.Milliseconds(), value.Value})
			}
		}
		all = append(all, storage.NewListSeries(names, samples))
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			found := &seriesSet{SeriesSet: storage.EmptySeriesSet()}
			for _, one := range all {
				if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Labels().Get(m.Name)) }) {
					found.series = append(found.series, one)
				}
			}
			return found
		},
	}}
}

// firing evaluates the rule once a minute for half an hour. It returns the labels of each alert that fires in this
// time.
func firing(t *testing.T, engine *promql.Engine, rule rulefmt.Rule, series []string) (fired []string) {
	t.Helper()
	stored, since := storageOf(t, series), map[string]time.Time{}
	for minute := range 31 {
		now := time.UnixMilli(0).Add(time.Duration(minute) * time.Minute)
		query, err := engine.NewInstantQuery(t.Context(), stored, nil, rule.Expr, now)
		if err != nil {
			t.Fatal(err)
		}
		result, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		active := map[string]time.Time{}
		for _, one := range result {
			name := one.Metric.String()
			active[name] = now
			if began, was := since[name]; was {
				active[name] = began
			}
			if now.Sub(active[name]) >= time.Duration(rule.For) && !slices.Contains(fired, name) {
				fired = append(fired, name)
			}
		}
		since = active
		query.Close()
	}
	slices.Sort(fired)
	return fired
}

// healthy contains the series of a platform under load that has no problem. Its peaks are shorter than the alerts
// allow.
var healthy = []string{
	`go_info{service="gateway"} 1x40`, `go_info{service="identity"} 1x40`, `go_info{service="events"} 1x10 _ 1x30`,
	`go_info{service="subscribers"} 1x40`, `go_info{service="integrations"} 1x40`, `go_info{service="delivery"} 1x40`, `go_info{service="console"} 1x40`,
	`http_request_seconds_count{service="gateway", status="200"} 0+6000x40`, `http_request_seconds_count{service="gateway", status="503"} 0+60x40`,
	`http_request_seconds_bucket{service="gateway", le="0.1"} 0+5900x40`, `http_request_seconds_bucket{service="gateway", le="1"} 0+6050x40`,
	`http_request_seconds_bucket{service="gateway", le="+Inf"} 0+6060x40`,
	`gateway_redis_up 1x40`,
	`bellbuoy_outbox_age_seconds{service="events"} 0x10 90 0x30`,
	`bellbuoy_stream_lag{group="delivery-send", topic="deliveries", partition="1"} 0x10 5000x5 300x30`,
	`bellbuoy_stream_lag{group="identity-audit", topic="audit", partition="1"} 0x40`,
	`bellbuoy_stream_consumed_total{group="delivery-send", topic="deliveries"} 0+10x40`,
	`bellbuoy_stream_consumed_total{group="identity-audit", topic="audit"} 7x40`,
	`bellbuoy_stream_handler_errors_total{service="identity", group="identity-audit"} 0x10 3x30`,
	`bellbuoy_delivery_plan_lag_seconds_bucket{le="30"} 0+100x40`, `bellbuoy_delivery_plan_lag_seconds_bucket{le="60"} 0+100x40`,
	`bellbuoy_delivery_plan_lag_seconds_bucket{le="+Inf"} 0+100x40`,
	`bellbuoy_delivery_host_paused 0x10 1x3 0x30`,
	`bellbuoy_delivery_attempt_seconds_count{channel="webhook", result="success"} 0+900x40`,
	`bellbuoy_delivery_attempt_seconds_count{channel="webhook", result="timeout"} 0+100x40`,
	`bellbuoy_delivery_attempt_seconds_count{channel="teams", result="timeout"} 0 1x40`, // all attempts of a channel with little traffic
	`process_start_time_seconds{service="delivery"} 100x10 700x10 1300x20`,
}

// selector returns the metric and the labels of a series.
func selector(series string) string {
	if at := strings.LastIndex(series, "}"); at >= 0 {
		return series[:at]
	}
	return strings.Fields(series)[0]
}

// problems contains series for each alert. They replace the series of healthy that have the same metric and labels.
var problems = map[string]struct {
	series []string
	labels []string
}{
	"BellbuoyServiceAbsent": {[]string{`go_info{service="delivery"} 1x10`}, []string{`{service="delivery"}`}},
	"BellbuoyErrors":        {[]string{`http_request_seconds_count{service="gateway", status="503"} 0x10 0+400x30`}, []string{`{}`}},
	"BellbuoySlow":          {[]string{`http_request_seconds_bucket{service="gateway", le="1"} 0+5950x40`, `http_request_seconds_bucket{service="gateway", le="5"} 0+6060x40`}, []string{`{}`}},
	"BellbuoyRedisDown":     {[]string{`gateway_redis_up 1x10 0x30`}, []string{`{__name__="gateway_redis_up"}`}},
	"BellbuoyOutboxStuck":   {[]string{`bellbuoy_outbox_age_seconds{service="events"} 0x10 0+60x30`}, []string{`{service="events"}`}},
	"BellbuoyConsumerStuck": {[]string{`bellbuoy_stream_lag{group="identity-audit", topic="audit", partition="1"} 0x10 3x30`}, []string{`{group="identity-audit", topic="audit"}`}},
	"BellbuoyHandlerErrors": {[]string{`bellbuoy_stream_handler_errors_total{service="identity", group="identity-audit"} 0x10 0+2x30`}, []string{`{group="identity-audit", service="identity"}`}},
	"BellbuoyDeliveryBehind": {[]string{`bellbuoy_stream_lag{group="delivery-send", topic="deliveries", partition="1"} 0x10 300x30`,
		`bellbuoy_stream_lag{group="delivery-send", topic="deliveries", partition="2"} 0x10 300x30`}, []string{`{}`}},
	"BellbuoyHostPaused":   {[]string{`bellbuoy_delivery_host_paused 1x40`}, []string{`{}`}},
	"BellbuoyPlanningSlow": {[]string{`bellbuoy_delivery_plan_lag_seconds_bucket{le="30"} 0+90x40`}, []string{`{}`}},
	"BellbuoyAttemptsFail": {[]string{`bellbuoy_delivery_attempt_seconds_count{channel="webhook", result="timeout"} 0x5 0+2000x35`}, []string{`{channel="webhook"}`}},
	"BellbuoyRestarts":     {[]string{`process_start_time_seconds{service="delivery"} 100+60x40`}, []string{`{service="delivery"}`}},
}

// While the platform is healthy, no alert fires. Each problem fires its own alert, with the labels that the alert's
// summary uses, and no other.
func TestEachProblemFiresItsAlertOnly(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 100_000, Timeout: time.Minute, Parser: promQL})
	t.Cleanup(func() { engine.Close() })
	rules := alerts(t)
	for _, rule := range rules {
		if fired := firing(t, engine, rule, healthy); len(fired) > 0 {
			t.Errorf("%s fires without a problem: %v", rule.Alert, fired)
		}
		if _, has := problems[rule.Alert]; !has {
			t.Errorf("%s has no problem", rule.Alert)
		}
	}
	for name, problem := range problems {
		series := slices.Clone(problem.series)
		for _, one := range healthy {
			if !slices.ContainsFunc(problem.series, func(p string) bool { return selector(p) == selector(one) }) {
				series = append(series, one)
			}
		}
		for _, rule := range rules {
			fired := firing(t, engine, rule, series)
			if rule.Alert == name && !slices.Equal(fired, problem.labels) {
				t.Errorf("%s fires with %v, not %v", name, fired, problem.labels)
			}
			if rule.Alert != name && len(fired) > 0 {
				t.Errorf("the problem of %s fires %s: %v", name, rule.Alert, fired)
			}
		}
	}
}
