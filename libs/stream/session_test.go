package stream_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/twmb/franz-go/pkg/kfake"
)

// Another member gets the partitions of a killed member within five seconds on an idle machine. On a busy machine the
// limit is longer, and there are three tries.
func TestAKilledMemberIsReplacedSoon(t *testing.T) {
	onBrokers(t, func(t *testing.T, addr string) {
		for range 3 {
			took := missed(t, addr, slog.New(slog.DiscardHandler))
			t.Logf("the partitions moved in %v", took)
			if took <= 9*time.Second {
				return
			}
		}
		t.Error("the partitions moved too late each time")
	})
}

// If a broker refuses the requested session timeout, the members use the timeout that every broker accepts, and log
// this once.
func TestMembersUseASessionTimeoutThatTheBrokerAccepts(t *testing.T) {
	t.Parallel()
	strict, err := kfake.NewCluster(kfake.NumBrokers(1)) // like Apache Kafka, refuses less than six seconds
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(strict.Close)
	var log apitest.Log
	took := missed(t, strict.ListenAddrs()[0], slog.New(slog.NewTextHandler(&log, nil)))
	t.Logf("the partitions moved in %v", took)
	if n := strings.Count(log.String(), "group.min.session.timeout.ms"); n != 1 || strings.Contains(log.String(), "waiting to join") {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}

// missed returns the time from the kill of a member until another member gets its partitions.
func missed(t *testing.T, addr string, log *slog.Logger) time.Duration {
	t.Helper()
	client := connect(t, addr, stream.Options{Log: log})
	topic, group := newTopic(t, client, 4), unique("group")
	ledger := newLedger()
	start(t, func(ctx context.Context) error {
		return client.Consume(ctx, stream.Subscription{Group: group, Topics: []string{topic}, Assigned: ledger.assigned("heir")},
			ledger.handle(t, "heir"))
	})
	eventually(t, "one owns all", func() bool { return ledger.members()["heir"] == 4 })
	other := startChild(t, "consumer", "ADDR="+addr, "TOPIC="+topic, "GROUP="+group)
	eventually(t, "the other is to own half", func() bool { return ledger.members()["heir"] == 2 })
	publish(t, client, numbered(topic, 0, 40, 40)...)
	other.line(t) // the rebalance has ended
	other.kill()
	killed := time.Now()
	eventually(t, "the other has all", func() bool { return ledger.members()["heir"] == 4 })
	took := time.Since(killed)
	ledger.check(t)
	return took
}
