// Package web is the HTTP server side that all services share: the gin engine with traces,
// metrics, logs and limits; the verification of the caller's passport; strict decoding of JSON
// bodies; page tokens; and the App form of errors. Handlers return an error and never
// write an error response themselves.
package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

const (
	// MaxBody is the limit of a request body in bytes. The gateway has the same limit.
	MaxBody = 1 << 20
	// requestTimeout is the time limit of the work on one request.
	requestTimeout = 20 * time.Second
)

// releaseMode sets gin's mode once. The mode is a global variable of gin, and services that start at the same time in
// one process would race to write it.
var releaseMode = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// NewEngine returns the engine of the service. It responds with an error to each request without a valid passport for
// this service.
func NewEngine(service string, process boot.Process, signer *passport.Signer) *gin.Engine {
	releaseMode()
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.UseRawPath = true
	engine.Use(
		otelgin.Middleware(service, otelgin.WithTracerProvider(process.Tracer), otelgin.WithPropagators(process.Propagator)),
		observe(process.Log, process.Metrics),
		recovery(process.Log),
		bound,
		checkPassport(service, signer, process.Log),
	)
	engine.NoRoute(Handle(func(*gin.Context) error { return fault.New(fault.NotFound, "There is nothing at this path.") }))
	engine.NoMethod(Handle(func(*gin.Context) error {
		return fault.New(fault.Method, "The path does not have this method.")
	}))
	return engine
}

// observe logs each request when it has ended, and measures its time by method, route and status.
func observe(log *slog.Logger, metrics prometheus.Registerer) gin.HandlerFunc {
	seconds := boot.RequestSeconds(metrics)
	return func(c *gin.Context) {
		start, client := time.Now(), c.Request.Context()
		c.Next()
		route := c.FullPath()
		if route == "" {
			route = "none"
		}
		took := time.Since(start)
		seconds.WithLabelValues(method(c.Request.Method), route, strconv.Itoa(c.Writer.Status())).Observe(took.Seconds())
		for _, err := range c.Errors {
			if client.Err() != nil { // nobody waits for the response any more
				break
			}
			log.ErrorContext(c.Request.Context(), "request failed", "method", c.Request.Method, "route", route,
				"status", c.Writer.Status(), "error", err.Err.Error())
		}
		log.DebugContext(c.Request.Context(), "request", "method", c.Request.Method, "route", route,
			"status", c.Writer.Status(), "ms", took.Milliseconds(), "request_id", c.GetHeader("X-Request-Id"))
	}
}

// method returns the name of a known method, and "other" for an unknown one, so that clients cannot create new
// metrics.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}

// recovery responds to a panic with an Internal fault. The log contains the panic and its stack, the
// response does not. http.ErrAbortHandler is passed to the server, which closes the connection.
func recovery(log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			if cause := recover(); cause == http.ErrAbortHandler {
				panic(cause)
			} else if cause != nil {
				log.ErrorContext(c.Request.Context(), "panic", "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
				Fail(c, fault.As(fmt.Errorf("panic: %v", cause)))
			}
		}()
		c.Next()
	}
}

// wholeBody is the key, in the context of gin, of the body without a limit.
const wholeBody = "whole body"

// Admit lets the handler read up to most bytes of the body, which may be more than MaxBody. The handler calls Admit before
// it reads, because the limited reader that bound has set must not have read anything. The gateway has a limit of its own.
func Admit(c *gin.Context, most int64) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.MustGet(wholeBody).(io.ReadCloser), most)
}

func bound(c *gin.Context) {
	c.Set(wholeBody, c.Request.Body)
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, MaxBody)
	c.Set(clientContext, c.Request.Context())
	ctx, cancel := context.WithTimeout(c.Request.Context(), requestTimeout)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}
