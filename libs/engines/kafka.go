package engines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kfake"
)

const segmentBytes = "1048576" // a whole segment is the least that trimming gives back

// Kafka says where the in-process broker listens and where it keeps its data.
type Kafka struct {
	Addr string       // host:port as clients dial it; port 0 is a free one
	Dir  string       // data folder, made when missing; one broker at a time
	Log  *slog.Logger // nil: nobody is told
}

// Broker is a running Kafka broker.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	stop    context.CancelFunc
	trimmed chan struct{} // ends with the trimming
}

// StartKafka opens the folder and listens. The broker lives until Close; ctx only
// gives its values. It may listen elsewhere than the last time: the address is not
// part of what it keeps.
func StartKafka(ctx context.Context, kafka Kafka) (*Broker, error) {
	if kafka.Log == nil {
		kafka.Log = slog.New(slog.DiscardHandler)
	}
	listener, err := net.Listen("tcp", kafka.Addr)
	if err != nil {
		return nil, fmt.Errorf("Kafka broker: %w", err)
	}
	addr := listener.Addr().String()
	if host, _, _ := net.SplitHostPort(addr); net.ParseIP(host).IsUnspecified() {
		listener.Close()
		return nil, fmt.Errorf("Kafka broker: clients cannot be sent to %s, listen on one address", addr)
	}
	if err := forgetMembers(kafka.Dir); err != nil {
		listener.Close()
		return nil, fmt.Errorf("Kafka broker: %w", err)
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
			"offsets.retention.minutes":  "525600", // a group that rests for a year is gone

			"group.min.session.timeout.ms": "2000", // what libs/stream asks for is less than the usual 6 s
		}),
		kfake.WithLogger(logger{kafka.Log}),
	)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("Kafka broker in %s: %w", kafka.Dir, err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	broker := &Broker{cluster: cluster, addr: addr, stop: stop, trimmed: make(chan struct{})}
	go func() {
		defer close(broker.trimmed)
		trimEvery(running, addr, trimInterval, kafka.Log)
	}()
	return broker, nil
}

// Addr is where the broker listens, host:port.
func (b *Broker) Addr() string { return b.addr }

// Close ends the broker; its folder can be opened again.
func (b *Broker) Close() error {
	b.stop()
	<-b.trimmed
	b.cluster.Close()
	return nil
}

// forgetMembers removes what a clean stop kept of group members.
func forgetMembers(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(dir, "session_state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// logger passes on what the broker warns of.
type logger struct{ log *slog.Logger }

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Error("Kafka broker: " + fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		l.log.Warn("Kafka broker: " + fmt.Sprintf(format, args...))
	}
}
