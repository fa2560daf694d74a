// Package boot starts every binary of the platform. It reads the settings (each is a flag and an environment variable),
// opens the listeners, and builds the logger, the traces and the metrics. A binary listens before its engines are
// reachable, and reports ready only when they are. On SIGINT or SIGTERM it waits until running work has finished.
//
// The Config of a service embeds Process and the groups of settings that the service needs. The Run(ctx, Config) of a
// service ends with Process.Serve. Logger, tracer provider and registry are fields of Process, not global variables. So
// several services can run in one process.
package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/bellbuoy/bellbuoy/libs/version"
)

// Settings are the settings of every binary.
type Settings struct {
	Version `embed:""`

	Addr         string  `name:"addr" env:"BELLBUOY_ADDR" default:"${addr}" check:"address" help:"Address to serve on, host:port."`
	InternalAddr string  `name:"internal-addr" env:"BELLBUOY_INTERNAL_ADDR" default:"${internal_addr}" check:"address" help:"Address for metrics and profiles; port 0 selects a free port."`
	OTLPEndpoint string  `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" default:"" check:"url http https" help:"Receiver of traces by OTLP over HTTP, e.g. http://jaeger:4318; empty: no traces are sent."`
	TraceRatio   float64 `name:"trace-ratio" env:"OTEL_TRACES_SAMPLER_ARG" default:"1" check:"ratio" help:"Part of the requests whose traces are sent, from 0 to 1. The sampled flag of a client's traceparent header changes nothing."`
	LogLevel     string  `name:"log-level" env:"BELLBUOY_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Lowest level that is logged: debug, info, warn or error."`
	LogFormat    string  `name:"log-format" env:"BELLBUOY_LOG_FORMAT" default:"auto" enum:"auto,json,text" help:"Form of a log line: json, or text for people; auto: text if standard error is a terminal, else json."`
}

// Version is the flag that prints the version of the program and exits.
type Version struct {
	Version kong.VersionFlag `name:"version" help:"Print the version of the program, and end."`
}

// VersionOf returns the variable of the parser that contains the version line of the program with this name.
func VersionOf(name string) kong.Vars { return kong.Vars{"version": version.Line(name)} }

// Process contains what a service gets from the operating system process: the settings, and the fields that the program
// sets before it calls the Run of the service.
type Process struct {
	Settings `embed:""`

	Name       string                        `kong:"-"`
	Listener   net.Listener                  `kong:"-"`
	Log        *slog.Logger                  `kong:"-"`
	Tracer     trace.TracerProvider          `kong:"-"`
	Propagator propagation.TextMapPropagator `kong:"-"`
	Metrics    prometheus.Registerer         `kong:"-"`
	Now        func() time.Time              `kong:"-"`
	// Internal has the pages of the internal address, which must not be reachable from the internet. It is nil if the
	// process has no such address.
	Internal *http.ServeMux `kong:"-"`
	// LastBackup returns when the command backup last wrote a backup of the process's data folder, or nil if there is no
	// backup. The field is nil if the process has no data folder.
	LastBackup func() (*time.Time, error) `kong:"-"`
	// Ready contains checks for /readyz in addition to those of the service.
	Ready map[string]func(context.Context) error `kong:"-"`
}

// Config is implemented by the Config of each service, which embeds Process.
type Config interface{ Host() *Process }

// Host returns the Process that is embedded in a service's Config.
func (p *Process) Host() *Process { return p }

// Main is the main function of a binary. It parses the settings into a C, opens the Process in it and calls run. The
// ctx of run ends at SIGINT or SIGTERM, and if the server of the internal address fails. If a setting is wrong, Parse ends
// the process. If a later step or run returns an error, Main exits with status 1.
func Main[C any, P interface {
	*C
	Config
}](name, description string, run func(context.Context, C) error) {
	var config C
	Parse(&config, name, description, kong.Vars{
		"addr": "0.0.0.0:8080", "internal_addr": "0.0.0.0:8081", "base_url": "http://127.0.0.1:8080",
	})
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
	internal, err := Listen("BELLBUOY_INTERNAL_ADDR", p.InternalAddr)
	if err != nil {
		return err
	}
	p.Internal = InternalPages(registry)
	if p.Listener, err = Listen("BELLBUOY_ADDR", p.Addr); err != nil {
		return err
	}
	return Together(ctx,
		func(ctx context.Context) error { return ServeHTTP(ctx, internal, p.Internal) },
		run,
	)
}

// Listen listens on the address. An error names the setting.
func Listen(setting, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program listens on %s; stop it, or set %s to another address", address, setting)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", setting, err)
	}
	return listener, nil
}
