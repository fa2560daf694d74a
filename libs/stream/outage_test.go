package stream_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
)

// A failing handler, for example because the database is down, is called again and again. The log has one line about
// the failures, and one when the handler succeeds.
func TestAFailingHandlerIsLoggedAsOneOutage(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		var log apitest.Log
		client := connect(t, addr, stream.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		topic, group := newTopic(t, client, 4), unique("group")
		const failures = 12 // failures of all partitions together
		var tries atomic.Int64
		for i := range 20 {
			publish(t, client, stream.Record{Topic: topic, Key: strconv.Itoa(i), Value: []byte("{}")})
		}
		start(t, func(ctx context.Context) error {
			return client.ConsumeBatches(ctx, stream.Subscription{Group: group, Topics: []string{topic}}, func(context.Context, []stream.Record) error {
				if tries.Add(1) <= failures {
					return errors.New("no database")
				}
				return nil
			})
		})
		eventually(t, "the outage to be over", func() bool { return strings.Contains(log.String(), "An outage is over.") })
		if n := strings.Count(log.String(), "a batch failed"); n > 2 { // the last line contains the text, too
			t.Errorf("%d lines: %s", n, log.String())
		}
	})
}
