package stream

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	published     *prometheus.CounterVec // by topic
	publishErrors prometheus.Counter
	consumed      *prometheus.CounterVec // by group and topic
	failed        *prometheus.CounterVec // by group and topic
	unfinished    *prometheus.GaugeVec   // by group and topic
	lag           *prometheus.GaugeVec   // by group, topic and partition
}

// register creates the metrics. It registers them unless registerer is nil.
func register(registerer prometheus.Registerer) *metrics {
	const prefix = "bellbuoy_stream_"
	auto, perGroup := promauto.With(registerer), []string{"group", "topic"}
	return &metrics{
		published:     auto.NewCounterVec(prometheus.CounterOpts{Name: prefix + "published_total", Help: "Records written and acknowledged."}, []string{"topic"}),
		publishErrors: auto.NewCounter(prometheus.CounterOpts{Name: prefix + "publish_errors_total", Help: "Calls of Publish that failed."}),
		consumed:      auto.NewCounterVec(prometheus.CounterOpts{Name: prefix + "consumed_total", Help: "Records handed out to handlers."}, perGroup),
		failed:        auto.NewCounterVec(prometheus.CounterOpts{Name: prefix + "handler_errors_total", Help: "Errors of handlers; each is retried."}, perGroup),
		unfinished:    auto.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "unfinished", Help: "Records handed out and not finished yet."}, perGroup),
		lag: auto.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + "lag", Help: "Records of the partition that the group has not committed."},
			[]string{"group", "topic", "partition"}),
	}
}

// begin creates the counters of the group and topic with the value 0, if they do not exist. Without this, the first error
// would create the counter, and a query would see no increase.
func (m *metrics) begin(group, topic string) {
	m.consumed.WithLabelValues(group, topic)
	m.failed.WithLabelValues(group, topic)
	m.unfinished.WithLabelValues(group, topic)
}
