// Package boot is what every binary of the platform does the same way: read its
// settings (a flag and an environment variable each), open its listeners, build
// its logger, traces and metrics, start serving before its engines can be
// reached and say when they are, and finish what is in flight on SIGTERM.
//
// A service's Config embeds Process and those of the setting groups it needs;
// its Run(ctx, Config) is then one straight line that ends in Process.Serve.
// Nothing here is global: logger, tracer provider and registry are fields of
// Process, so that six services live in one process without knowing of each other.
package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Settings are every binary's own.
type Settings struct {
	Addr         string `name:"addr" env:"BELLBUOY_ADDR" default:"${addr}" help:"Address to serve on (host:port)."`
	InternalAddr string `name:"internal-addr" env:"BELLBUOY_INTERNAL_ADDR" default:"${internal_addr}" help:"Address for metrics and profiles; port 0 takes any."`
	OTLPEndpoint string `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" default:"" help:"Where traces leave by OTLP over HTTP, e.g. http://jaeger:4318; empty: nowhere."`
	LogLevel     string `name:"log-level" env:"BELLBUOY_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least level of the logs: debug, info, warn or error."`
}

// Validate is called by the settings' parser.
func (s Settings) Validate() error {
	return errors.Join(Address("BELLBUOY_ADDR", s.Addr), Address("BELLBUOY_INTERNAL_ADDR", s.InternalAddr),
		OptionalURL("OTEL_EXPORTER_OTLP_ENDPOINT", s.OTLPEndpoint, "http", "https"))
}

// Process is one service's share of the operating system process: its settings,
// and what Open builds of them.
type Process struct {
	Settings `embed:""`

	Name       string                        `kong:"-"`
	Listener   net.Listener                  `kong:"-"`
	Log        *slog.Logger                  `kong:"-"`
	Tracer     trace.TracerProvider          `kong:"-"`
	Propagator propagation.TextMapPropagator `kong:"-"`
	Metrics    prometheus.Registerer         `kong:"-"`
	Now        func() time.Time              `kong:"-"`
}

// Config is a service's Config: it embeds Process.
type Config interface{ Host() *Process }

// Host gives Main the process inside a service's Config.
func (p *Process) Host() *Process { return p }

// Main is a binary: it parses the settings into a C, opens the process and runs
// until SIGINT or SIGTERM. It does not return.
func Main[C any, P interface {
	*C
	Config
}](name, description string, run func(context.Context, C) error) {
	var config C
	kong.Parse(&config, kong.Name(name), kong.Description(description),
		kong.Vars{"addr": "0.0.0.0:8080", "internal_addr": "0.0.0.0:8081", "base_url": "http://127.0.0.1:8080"})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	process := P(&config).Host()
	if err := process.main(ctx, name, func(ctx context.Context) error { return run(ctx, config) }); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func (p *Process) main(ctx context.Context, name string, run func(context.Context) error) error {
	registry := prometheus.NewRegistry()
	closeTelemetry, err := p.Open(ctx, name, registry, os.Stderr)
	if err != nil {
		return err
	}
	defer closeTelemetry()
	internal, err := net.Listen("tcp", p.InternalAddr)
	if err != nil {
		return fmt.Errorf("cannot listen on BELLBUOY_INTERNAL_ADDR: %w", err)
	}
	if p.Listener, err = net.Listen("tcp", p.Addr); err != nil {
		return fmt.Errorf("cannot listen on BELLBUOY_ADDR: %w", err)
	}
	return Together(ctx,
		func(ctx context.Context) error { return ServeInternal(ctx, internal, registry) },
		run,
	)
}

// clock is the time as the platform keeps it: UTC, to the millisecond.
func clock() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
