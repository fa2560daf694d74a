package stream

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of a client. Clients that share a registry count into the same
// series.
type metrics struct {
	published     *prometheus.CounterVec // topic
	publishErrors prometheus.Counter
	consumed      *prometheus.CounterVec // group, topic
	failed        *prometheus.CounterVec // group, topic
	unfinished    *prometheus.GaugeVec   // group, topic
	lag           *prometheus.GaugeVec   // group, topic, partition
}

func register(registerer prometheus.Registerer) *metrics {
	if registerer == nil {
		registerer = prometheus.NewRegistry()
	}
	perGroup := []string{"group", "topic"}
	return &metrics{
		published: counters(registerer, "published_total", "Records written and acknowledged.", "topic"),
		publishErrors: registered(registerer, prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "bellbuoy", Subsystem: "stream", Name: "publish_errors_total", Help: "Calls of Publish that failed."})),
		consumed:   counters(registerer, "consumed_total", "Records handed out to handlers.", perGroup...),
		failed:     counters(registerer, "handler_errors_total", "Errors of handlers; each is retried.", perGroup...),
		unfinished: gauges(registerer, "unfinished", "Records handed out and not finished yet.", perGroup...),
		lag:        gauges(registerer, "lag", "Records of the partition that the group has not committed.", "group", "topic", "partition"),
	}
}

func counters(registerer prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	return registered(registerer, prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: "bellbuoy", Subsystem: "stream", Name: name, Help: help}, labels))
}

func gauges(registerer prometheus.Registerer, name, help string, labels ...string) *prometheus.GaugeVec {
	return registered(registerer, prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Namespace: "bellbuoy", Subsystem: "stream", Name: name, Help: help}, labels))
}

// registered registers the collector and returns it, or the one that is registered under its name.
func registered[C prometheus.Collector](registerer prometheus.Registerer, collector C) C {
	err := registerer.Register(collector)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	return collector
}
