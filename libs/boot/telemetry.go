package boot

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const flushTimeout = 3 * time.Second

// Open sets the fields Name, Now, Propagator, Log, Metrics and Tracer. name is the name of the service. Each log line has
// the name, the time in UTC, and the trace id if there is one. The returned function sends the last traces.
func (p *Process) Open(ctx context.Context, name string, registry prometheus.Registerer, logs io.Writer) (func(), error) {
	p.Name = name
	p.Now = func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) } // times of the platform have this precision
	p.Propagator = propagation.TraceContext{}
	log, err := p.Logger(name, logs)
	if err != nil {
		return nil, err
	}
	p.Log = log
	p.Metrics = prometheus.WrapRegistererWith(prometheus.Labels{"service": name}, registry)
	p.Metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", name))),
	}
	if p.OTLPEndpoint != "" {
		exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimRight(p.OTLPEndpoint, "/")+"/v1/traces"))
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
		}
		// The sampling decision for the first span of a trace applies to all of its later spans. So a trace is sent
		// completely or not at all.
		options = append(options, sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(time.Second)),
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(p.TraceRatio))))
	} else {
		// Without a receiver of traces no span is recorded. Trace ids still exist, so the log lines of one request can
		// be found.
		options = append(options, sdktrace.WithSampler(sdktrace.NeverSample()))
	}
	provider := sdktrace.NewTracerProvider(options...)
	p.Tracer = provider
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			p.Log.Warn("the last traces were not sent", "error", err)
		}
	}, nil
}

// RequestSeconds registers and returns the histogram of the duration of HTTP requests, by method, route and status.
// Services and the gateway share this definition, because in one registry definitions with the same name must be equal.
func RequestSeconds(metrics prometheus.Registerer) *prometheus.HistogramVec {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_request_seconds", Help: "Time from a request to the end of its response.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"method", "route", "status"})
	metrics.MustRegister(seconds)
	return seconds
}
