// Package telemetry provides the Prometheus metrics of package account.
package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

// Metrics implements account.Observer.
type Metrics struct {
	signIns *prometheus.CounterVec
	hashes  prometheus.Counter
}

// New registers the metrics.
func New(registerer prometheus.Registerer) *Metrics {
	name := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "bellbuoy", Subsystem: "identity", Name: name, Help: help}
	}
	m := &Metrics{
		signIns: prometheus.NewCounterVec(name("sign_ins_total", "Attempts to sign in to the console, by method and outcome."), []string{"method", "outcome"}),
		hashes:  prometheus.NewCounter(name("password_hashes_total", "Hashes of passwords that were computed.")),
	}
	for _, method := range account.AttemptMethods() {
		for _, outcome := range account.Outcomes() {
			m.signIns.WithLabelValues(string(method), string(outcome)) // exported as 0
		}
	}
	registerer.MustRegister(m.signIns, m.hashes)
	return m
}

// SignIn implements account.Observer.
func (m *Metrics) SignIn(method account.Method, outcome account.Outcome) {
	m.signIns.WithLabelValues(string(method), string(outcome)).Inc()
}

// PasswordHashed implements account.Observer.
func (m *Metrics) PasswordHashed() { m.hashes.Inc() }
