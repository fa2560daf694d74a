package engines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

const segmentBytes = "1048576" // trimming frees whole segments only

// Kafka contains the settings of the embedded broker.
type Kafka struct {
	Addr string       // host:port that clients dial; port 0 selects a free port
	Dir  string       // data folder, created if missing; only one broker at a time may use it
	Log  *slog.Logger // nil: no log
}

// Broker is a running Kafka broker.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	stop    func() // stops the trimming
}

// StartKafka opens the folder and listens. The broker runs until Close. StartKafka uses only the values of ctx, so the
// end of ctx does not stop the broker. The address may differ from the address of an earlier start, because the folder
// does not contain the address.
func StartKafka(ctx context.Context, kafka Kafka) (*Broker, error) {
	if kafka.Log == nil {
		kafka.Log = slog.New(slog.DiscardHandler)
	}
	// After a clean stop, session_state.json contains the members that the groups had then.
	err := errors.Join(os.MkdirAll(kafka.Dir, 0o700), os.RemoveAll(filepath.Join(kafka.Dir, "session_state.json")))
	if err != nil {
		return nil, fmt.Errorf("Kafka broker: %w", err)
	}
	listener, err := net.Listen("tcp", kafka.Addr)
	if err != nil {
		return nil, fmt.Errorf("Kafka broker: %w", err)
	}
	addr := listener.Addr().String()
	if host, _, _ := net.SplitHostPort(addr); net.ParseIP(host).IsUnspecified() {
		listener.Close()
		return nil, fmt.Errorf("Kafka broker: clients cannot dial %s; listen on a specific address", addr)
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return listener, nil }),
		kfake.ClusterID("bellbuoy"),
		kfake.DataDir(kafka.Dir),
		kfake.SyncWrites(),
		kfake.BrokerConfigs(map[string]string{
			"log.segment.bytes":          segmentBytes,
			"log.retention.ms":           "-1",
			"state.log.compact.bytes":    segmentBytes,
			"default.replication.factor": "1",
			"offsets.retention.minutes":  "525600", // one year; after that the offsets of an unused group are deleted

			"group.min.session.timeout.ms": "2000", // libs/stream requests less than the default of 6 s
		}),
		kfake.WithLogger(logger{kafka.Log}),
	)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("Kafka broker in %s: %w", kafka.Dir, err)
	}
	stop := every(trimInterval, func(ctx context.Context, now time.Time) {
		if err := trim(ctx, addr, now); err != nil && ctx.Err() == nil {
			kafka.Log.Warn("Kafka broker: old records were not deleted", "error", err)
		}
	})
	return &Broker{cluster, addr, stop}, nil
}

// Addr returns the host:port on which the broker listens.
func (b *Broker) Addr() string { return b.addr }

// Close stops the broker. Its folder can then be opened again.
func (b *Broker) Close() error {
	b.stop()
	b.cluster.Close()
	return nil
}

type logger struct{ log *slog.Logger }

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Error("Kafka broker: " + fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		l.log.Warn("Kafka broker: " + fmt.Sprintf(format, args...))
	}
}
