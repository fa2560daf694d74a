package boot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
)

const checkTimeout = 2 * time.Second

// Time limits of an HTTP server.
const (
	HeaderTimeout = 5 * time.Second  // to read the head of a request
	WriteTimeout  = 60 * time.Second // from the end of the request's head to the end of the response
	IdleTimeout   = 2 * time.Minute  // between two requests on a connection
	StopTimeout   = 15 * time.Second // for running requests after a stop has begun
	// ConnectionAge is the age from which a connection is closed after its next request. Clients reuse their connections,
	// and only a new connection can reach another process of a service. Without this limit, a process that was just started
	// would get no requests from clients that are busy all the time.
	ConnectionAge = time.Minute
)

// Service is the argument of Serve. The Run of a service creates it.
type Service struct {
	Handler http.Handler
	// Start contains the steps that prepare the engines, in order. Each step waits for its engine and logs that it waits.
	// Until the last step returns, every request except /healthz gets status 503.
	Start []func(ctx context.Context) error
	// Ready contains the checks for /readyz, by the name of the checked engine or service. /readyz lists a
	// Tolerable failure, but does not respond with 503 because of it.
	Ready map[string]func(ctx context.Context) error
	// Background contains consumers and relays. They run from the end of Start until ctx ends. They may then finish
	// running work before they return.
	Background []func(ctx context.Context) error
}

// Serve serves the handler on the process's listener and runs the service until ctx ends. It
// returns after running requests and the background functions have ended.
func (p *Process) Serve(ctx context.Context, s Service) error {
	checks := map[string]func(context.Context) error{}
	maps.Copy(checks, s.Ready)
	maps.Copy(checks, p.Ready)
	var started atomic.Bool
	// A ServeMux would itself respond to unusual requests ("//", CONNECT), so this is a switch.
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz" && isRead(r):
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/readyz" && isRead(r):
			p.readyz(w, r, started.Load(), checks)
		case !started.Load():
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, `{"error":"The service is starting; try again shortly."}`)
		default:
			s.Handler.ServeHTTP(w, r)
		}
	})
	return Together(ctx,
		func(ctx context.Context) error { return ServeHTTP(ctx, p.Listener, handler) },
		func(ctx context.Context) error {
			for _, step := range s.Start {
				if err := step(ctx); err != nil {
					if ctx.Err() != nil {
						return nil
					}
					return fmt.Errorf("%s cannot start: %w", p.Name, err)
				}
			}
			started.Store(true)
			p.Log.Info("ready", "addr", p.Listener.Addr().String())
			return Together(ctx, s.Background...)
		},
	)
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// Tolerable is the error of a check whose failure does not stop the service from working.
type Tolerable struct{ Err error }

// Error implements error.
func (t Tolerable) Error() string { return t.Err.Error() }

// readyz writes one line for each check that fails. The status is 503 unless the errors of all failed checks are
// Tolerable. ?exclude=NAME skips a check: an orchestrator skips Kafka, because a service without Kafka still serves
// requests. An unknown name gets 400.
func (p *Process) readyz(w http.ResponseWriter, r *http.Request, started bool, checks map[string]func(context.Context) error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !started {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%s: starting\n", p.Name)
		return
	}
	excluded, names := r.URL.Query()["exclude"], slices.Sorted(maps.Keys(checks))
	for _, name := range excluded {
		if checks[name] == nil {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "%s: exclude must be one of: %s\n", p.Name, strings.Join(names, ", "))
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	lines := make([]string, len(checks))
	var missing atomic.Bool
	var group sync.WaitGroup
	for i, name := range names {
		if slices.Contains(excluded, name) {
			continue
		}
		group.Go(func() {
			if err := checks[name](ctx); err != nil {
				p.Log.DebugContext(ctx, "not ready", "check", name, "error", err)
				if _, tolerable := errors.AsType[Tolerable](err); !tolerable {
					missing.Store(true)
				}
				lines[i] = fmt.Sprintf("%s: %s is not ready\n", p.Name, name)
			}
		})
	}
	group.Wait()
	state := p.Name + ": ready\n"
	if missing.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		state = ""
	}
	fmt.Fprint(w, state+strings.Join(lines, ""))
}

// ServeHTTP serves handler on the listener until ctx ends. It then waits for running requests. It returns an error if
// they have not ended after StopTimeout. Each read and write has a time limit, so a slow client cannot occupy a
// connection forever.
func ServeHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: endOld(endUnclear(handler)),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connected{}, time.Now())
		},
		ReadHeaderTimeout: HeaderTimeout,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    32 << 10,
	}
	return Together(ctx,
		func(context.Context) error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", listener.Addr(), err)
			}
			return nil
		},
		func(ctx context.Context) error {
			<-ctx.Done()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTimeout)
			defer cancel()
			if err := server.Shutdown(ctx); err != nil {
				return errors.Join(fmt.Errorf("requests did not end in time at the stop: %w", err), server.Close())
			}
			return nil
		},
	)
}

// endUnclear closes the connection after a request with Transfer-Encoding, and after a request in HTTP/1.0. Such a
// request may also have had a Content-Length that contradicts its Transfer-Encoding. net/http hides this from
// handlers. The bytes that follow may then belong to the body (RFC 9112, 6.1).
func endUnclear(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// connected is the context key of the time at which the connection of a request began.
type connected struct{}

// endOld closes the connection after the first request that arrives when the connection is at least ConnectionAge old.
func endOld(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if since, ok := r.Context().Value(connected{}).(time.Time); ok && time.Since(since) >= ConnectionAge {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// InternalPages returns the handler of metrics and profiles. A service may add pages of its own (see Process.Internal).
func InternalPages(metrics prometheus.Gatherer) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return mux
}

// Together runs the functions concurrently and returns when all have returned. The first error ends the context of the
// others, and Together returns this error.
func Together(ctx context.Context, functions ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, function := range functions {
		group.Go(func() error { return function(ctx) })
	}
	return group.Wait()
}
