// Package web is what every service's HTTP side shares: the gin engine with its
// traces, metrics, logs and bounds; the check of the caller's passport; strict
// reading of JSON bodies; page tokens; and the App form of errors. Handlers
// return an error and never write one themselves.
package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	// MaxBody bounds what is read of a request, in bytes. The gateway has the same bound.
	MaxBody = 1 << 20
	// requestTimeout bounds the work on one request.
	requestTimeout = 20 * time.Second
)

// Options are what an engine is made of; they are the service's boot.Process'.
type Options struct {
	Service    string
	Signer     *passport.Signer
	Log        *slog.Logger
	Tracer     trace.TracerProvider
	Propagator propagation.TextMapPropagator
	Metrics    prometheus.Registerer
}

// gin's mode is a global of gin's; setting it more than once, from services
// that start side by side, would be a race.
var releaseMode = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// NewEngine makes a service's engine. Whatever is mounted on it is reached with a
// valid passport for this service only.
func NewEngine(o Options) *gin.Engine {
	releaseMode()
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.UseRawPath = true
	engine.Use(
		otelgin.Middleware(o.Service, otelgin.WithTracerProvider(o.Tracer), otelgin.WithPropagators(o.Propagator)),
		observe(o.Log, o.Metrics),
		recovery(o.Log),
		bound,
		checkPassport(o.Service, o.Signer, o.Log),
	)
	engine.NoRoute(Handle(func(*gin.Context) error { return fault.New(fault.NotFound, "There is nothing at this path.") }))
	engine.NoMethod(Handle(func(*gin.Context) error {
		return fault.New(fault.Method, "The path does not have this method.")
	}))
	return engine
}

// observe logs each request at its end and counts its time by route and status.
func observe(log *slog.Logger, metrics prometheus.Registerer) gin.HandlerFunc {
	seconds := boot.RequestSeconds()
	metrics.MustRegister(seconds)
	return func(c *gin.Context) {
		start := time.Now()
		c.Next()
		route := c.FullPath()
		if route == "" {
			route = "none"
		}
		took := time.Since(start)
		seconds.WithLabelValues(method(c.Request.Method), route, strconv.Itoa(c.Writer.Status())).Observe(took.Seconds())
		for _, err := range c.Errors {
			log.ErrorContext(c.Request.Context(), "request failed", "method", c.Request.Method, "route", route,
				"status", c.Writer.Status(), "error", err.Err.Error())
		}
		log.DebugContext(c.Request.Context(), "request", "method", c.Request.Method, "route", route,
			"status", c.Writer.Status(), "ms", took.Milliseconds(), "request_id", c.GetHeader("X-Request-Id"))
	}
}

// method keeps invented method names out of the metrics.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}

// recovery turns a panic into an Internal fault: the client learns nothing of it,
// the log everything.
func recovery(log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			if cause := recover(); cause != nil {
				log.ErrorContext(c.Request.Context(), "panic", "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
				Fail(c, fault.As(fmt.Errorf("panic: %v", cause)))
			}
		}()
		c.Next()
	}
}

func bound(c *gin.Context) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, MaxBody)
	ctx, cancel := context.WithTimeout(c.Request.Context(), requestTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}
