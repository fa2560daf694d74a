// Package telemetry provides the Prometheus metrics and the traces of package dispatch.
package telemetry

import (
	"context"
	"sync/atomic"
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
	paused   atomic.Int64 // latest end of the pauses of hosts, in Unix ns
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
	paused := prometheus.NewGaugeFunc(name("host_paused", "1 while nothing is sent to any endpoint of a chat program, because its host refused too many requests."), func() float64 {
		if time.Now().UnixNano() < m.paused.Load() {
			return 1
		}
		return 0
	})
	registerer.MustRegister(m.attempts, m.inFlight, m.slow, m.waiting, m.lag, paused)
	return m
}

func (m *Metrics) Attempted(channel topic.Channel, result string, took time.Duration) {
	m.attempts.WithLabelValues(string(channel), result).Observe(took.Seconds())
}

func (m *Metrics) InFlight(delta int) { m.inFlight.Add(float64(delta)) }

func (m *Metrics) SlowSlots(delta int) { m.slow.Add(float64(delta)) }

func (m *Metrics) Waiting(deliveries int) { m.waiting.Set(float64(deliveries)) }

func (m *Metrics) Planned(lag time.Duration) { m.lag.Observe(lag.Seconds()) }

func (m *Metrics) HostPaused(until time.Time) {
	for end := until.UnixNano(); ; {
		if known := m.paused.Load(); end <= known || m.paused.CompareAndSwap(known, end) {
			return
		}
	}
}

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
