// Package telemetry provides the Prometheus metrics and the traces of package dispatch.
package telemetry

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Metrics implements dispatch.Observer.
type Metrics struct {
	attempts *prometheus.HistogramVec
	inFlight prometheus.Gauge
	slow     prometheus.Gauge
	waiting  prometheus.Gauge
	lag      prometheus.Histogram
}

// New registers the metrics.
func New(registerer prometheus.Registerer) *Metrics {
	name := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Namespace: "bellbuoy", Subsystem: "delivery", Name: name, Help: help}
	}
	m := &Metrics{
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "bellbuoy", Subsystem: "delivery", Name: "attempt_seconds", Help: "Time of attempts, by channel and result.",
			Buckets: []float64{.005, .01, .025, .05, .1, .2, .5, 1, 2.5, 5, 10},
		}, []string{"channel", "result"}),
		inFlight: prometheus.NewGauge(name("in_flight", "Attempts in progress.")),
		slow:     prometheus.NewGauge(name("slow_lane", "Attempts in slow slots.")),
		waiting:  prometheus.NewGauge(name("retries_waiting", "Deliveries in this process's partitions that wait for a retry.")),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "bellbuoy", Subsystem: "delivery", Name: "plan_lag_seconds", Help: "Time from a change to its last published shard.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
	}
	registerer.MustRegister(m.attempts, m.inFlight, m.slow, m.waiting, m.lag)
	return m
}

func (m *Metrics) Attempted(channel topic.Channel, result string, took time.Duration) {
	m.attempts.WithLabelValues(string(channel), result).Observe(took.Seconds())
}

func (m *Metrics) InFlight(delta int) { m.inFlight.Add(float64(delta)) }

func (m *Metrics) SlowSlots(delta int) { m.slow.Add(float64(delta)) }

func (m *Metrics) Waiting(deliveries int) { m.waiting.Set(float64(deliveries)) }

func (m *Metrics) Planned(lag time.Duration) { m.lag.Observe(lag.Seconds()) }

// Traces implements dispatch.Traces.
type Traces struct{ Propagator propagation.TextMapPropagator }

func (Traces) Adopt(ctx, from context.Context) context.Context {
	return trace.ContextWithSpanContext(ctx, trace.SpanContextFromContext(from))
}

func (t Traces) Carry(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	t.Propagator.Inject(ctx, carrier)
	return carrier[traceparent]
}

func (t Traces) Resume(ctx context.Context, carried string) context.Context {
	return t.Propagator.Extract(ctx, propagation.MapCarrier{traceparent: carried})
}

// traceparent is the name of the header of W3C Trace Context.
const traceparent = "traceparent"
