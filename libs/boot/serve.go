package boot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
)

const (
	checkTimeout = 2 * time.Second
	stopTimeout  = 15 * time.Second
)

// Service is what a Run hands over to be served.
type Service struct {
	Handler http.Handler
	// Start prepares the engines, in order. Each step waits for its engine and says
	// so in the log; until all are done every request is answered 503.
	Start []func(ctx context.Context) error
	// Ready are the checks behind /readyz, by the name of what they reach.
	Ready map[string]func(ctx context.Context) error
	// Background runs from the end of Start until ctx ends: consumers, relays. It
	// may use its context's end to finish what is in flight.
	Background []func(ctx context.Context) error
}

// Serve answers on the process's listener and runs the service until ctx ends;
// then requests in flight and the background finish.
func (p *Process) Serve(ctx context.Context, s Service) error {
	var started atomic.Bool
	// A switch and not a ServeMux, which would answer odd paths ("//", CONNECT) itself.
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz" && isRead(r):
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/readyz" && isRead(r):
			p.readyz(w, r, started.Load(), s.Ready)
		case !started.Load():
			refuse(w)
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

// refuse holds a request off until the service has started.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintln(w, `{"error":"The service is starting; try again shortly."}`)
}

func (p *Process) readyz(w http.ResponseWriter, r *http.Request, started bool, checks map[string]func(context.Context) error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !started {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%s: starting\n", p.Name)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	var group errgroup.Group
	for name, check := range checks {
		group.Go(func() error {
			if err := check(ctx); err != nil {
				p.Log.DebugContext(ctx, "not ready", "check", name, "error", err)
				return fmt.Errorf("%s: %s cannot be reached", p.Name, name)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, err)
		return
	}
	fmt.Fprintf(w, "%s: ready\n", p.Name)
}

// ServeHTTP serves handler on the listener until ctx ends, then lets requests in
// flight finish. Slow clients are cut off: everything read from outside is bounded in time.
func ServeHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
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
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			if err := server.Shutdown(ctx); err != nil {
				return errors.Join(fmt.Errorf("requests still in flight at the stop: %w", err), server.Close())
			}
			return nil
		},
	)
}

// ServeInternal serves metrics and profiles, which are nobody's outside.
func ServeInternal(ctx context.Context, listener net.Listener, metrics prometheus.Gatherer) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return ServeHTTP(ctx, listener, mux)
}

// Together runs the functions until all have returned; the first error ends the
// context of the others and is returned.
func Together(ctx context.Context, functions ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, function := range functions {
		group.Go(func() error { return function(ctx) })
	}
	return group.Wait()
}
