package boot

import "github.com/prometheus/client_golang/prometheus"

// RequestSeconds returns the histogram of request times, by method, route and status. The
// gateway and each service register one. In one process they share a registry, which
// requires that all of them have the same help text.
func RequestSeconds() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "http_request_seconds", Help: "Time from a request to the end of its response.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"method", "route", "status"})
}
