package boot

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const flushTimeout = 3 * time.Second

// Open builds the process's logger (JSON lines on logs, each with the service's
// name and the trace's id), tracer provider and metrics, all under name. The
// function it returns sends the last traces away.
func (p *Process) Open(ctx context.Context, name string, registry prometheus.Registerer, logs io.Writer) (func(), error) {
	p.Name = name
	p.Now = clock
	p.Propagator = propagation.TraceContext{}
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.LogLevel)); err != nil {
		return nil, fmt.Errorf("BELLBUOY_LOG_LEVEL: %w", err)
	}
	p.Log = slog.New(traceHandler{slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: level})}).With("service", name)
	p.Metrics = prometheus.WrapRegistererWith(prometheus.Labels{"service": name}, registry)
	for _, collector := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := p.Metrics.Register(collector); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", name))),
	}
	if p.OTLPEndpoint != "" {
		exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(tracesURL(p.OTLPEndpoint)))
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
		}
		options = append(options, sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(time.Second)))
	} else {
		// Without a receiver nothing is recorded, but ids still exist and travel, so logs can be joined.
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

// traceHandler adds the ids of the context's span to every line.
type traceHandler struct{ slog.Handler }

func (h traceHandler) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}

// tracesURL is where the base endpoint takes traces, as the OTLP exporter
// specification has it for a setting that is not the traces' own.
func tracesURL(endpoint string) string {
	for len(endpoint) > 0 && endpoint[len(endpoint)-1] == '/' {
		endpoint = endpoint[:len(endpoint)-1]
	}
	return endpoint + "/v1/traces"
}
