package engines

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

func startKafka(t *testing.T, dir string) (*Broker, *kafka.Client) {
	t.Helper()
	broker, err := StartKafka(t.Context(), Kafka{Addr: "127.0.0.1:0", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return broker, &kafka.Client{Addr: kafka.TCP(broker.Addr()), Transport: transport}
}

func closeKafka(t *testing.T, broker *Broker) {
	t.Helper()
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
}

func createTopic(t *testing.T, client *kafka.Client, name string) {
	t.Helper()
	answer, err := client.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: 1, ReplicationFactor: -1}}})
	if err != nil || answer.Errors[name] != nil {
		t.Fatal(err, answer)
	}
}

// produce appends a record and returns its offset.
func produce(t *testing.T, client *kafka.Client, topic string, value []byte, at time.Time) int64 {
	t.Helper()
	answer, err := client.Produce(t.Context(), &kafka.ProduceRequest{Topic: topic, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Time: at, Value: kafka.NewBytes(value)})})
	if err != nil || answer.Error != nil {
		t.Fatal(err, answer)
	}
	return answer.BaseOffset
}

func commit(t *testing.T, client *kafka.Client, group, topic string, offset int64) {
	t.Helper()
	answer, err := client.OffsetCommit(t.Context(), &kafka.OffsetCommitRequest{GroupID: group, GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: 0, Offset: offset}}}})
	if err != nil || answer.Topics[topic][0].Error != nil {
		t.Fatal(err, answer)
	}
}

// bounds returns the first offset of the partition and the offset after its last record.
func bounds(t *testing.T, client *kafka.Client, topic string) (first, end int64) {
	t.Helper()
	answer, err := client.ListOffsets(t.Context(), &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: {kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	partition := answer.Topics[topic][0]
	return partition.FirstOffset, partition.LastOffset
}

// killed returns a copy of the folder of a running broker, as kill -9 would leave the folder.
func killed(t *testing.T, dir string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "left")
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return left
}

// Topics, records and commits survive a stop and a kill. The broker may use another port after a restart.
func TestKafkaKeepsItsDataOverARestart(t *testing.T) {
	dir := t.TempDir()
	broker, client := startKafka(t, dir)
	createTopic(t, client, "t")
	for n := range 10 {
		produce(t, client, "t", []byte(strconv.Itoa(n)), time.Now())
	}
	commit(t, client, "g", "t", 7)
	left := killed(t, dir)
	closeKafka(t, broker)
	for name, dir := range map[string]string{"stopped": dir, "killed": left} {
		t.Run(name, func(t *testing.T) {
			again, client := startKafka(t, dir)
			defer closeKafka(t, again)
			if first, end := bounds(t, client, "t"); first != 0 || end != 10 {
				t.Errorf("records %d to %d", first, end)
			}
			offsets, err := client.OffsetFetch(t.Context(), &kafka.OffsetFetchRequest{GroupID: "g", Topics: map[string][]int{"t": {0}}})
			if err != nil || offsets.Topics["t"][0].CommittedOffset != 7 {
				t.Error(err, offsets)
			}
			if offset := produce(t, client, "t", []byte("more"), time.Now()); offset != 10 {
				t.Errorf("the next record is at %d", offset)
			}
		})
	}
}

// trim deletes records that are an hour old and that every group has committed, and records that are a week old. It
// keeps the last record, and offsets continue after it.
func TestTrimKeepsWhatAGroupStillNeeds(t *testing.T) {
	dir := t.TempDir()
	broker, client := startKafka(t, dir)
	defer closeKafka(t, broker)
	createTopic(t, client, "t")
	createTopic(t, client, "unread")
	now := time.Now()
	big := make([]byte, 100<<10) // a segment holds ten of them
	for n := range 100 {
		age := 2 * time.Hour
		if n >= 80 {
			age = 0
		}
		produce(t, client, "t", big, now.Add(-age))
		produce(t, client, "unread", []byte("small"), now.Add(-age))
	}
	commit(t, client, "slow", "t", 40)
	commit(t, client, "fast", "t", 100)
	steps := []struct {
		name        string
		before      func()
		at          time.Time
		first       int64
		firstUnread int64
	}{
		{"behind the slowest group", func() {}, now, 40, 0},
		{"nothing younger than an hour", func() { commit(t, client, "slow", "t", 100) }, now, 80, 0},
		{"all but the last", func() {}, now.Add(2 * time.Hour), 99, 0},
		{"again", func() {}, now.Add(2 * time.Hour), 99, 0},
		{"a week", func() {}, now.Add(8 * 24 * time.Hour), 99, 99},
	}
	for _, step := range steps {
		step.before()
		if err := trim(t.Context(), broker.Addr(), step.at); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if first, end := bounds(t, client, "t"); first != step.first || end != 100 {
			t.Errorf("%s: records %d to %d", step.name, first, end)
		}
		if first, _ := bounds(t, client, "unread"); first != step.firstUnread {
			t.Errorf("%s: without a group, the first is %d", step.name, first)
		}
	}
	if size := folderSize(t, dir); size > 2<<20 {
		t.Errorf("the folder still has %d bytes", size)
	}

	again, client := startKafka(t, killed(t, dir))
	defer closeKafka(t, again)
	if offset := produce(t, client, "t", []byte("next"), now); offset != 100 {
		t.Errorf("after the restart the next record is at %d", offset)
	}
}

func folderSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// StartKafka refuses an address that is in use, and an address that clients cannot dial.
func TestKafkaRefusesUnusableAddresses(t *testing.T) {
	broker, _ := startKafka(t, t.TempDir())
	defer closeKafka(t, broker)
	for _, addr := range []string{broker.Addr(), "0.0.0.0:0", "nowhere"} {
		if second, err := StartKafka(t.Context(), Kafka{Addr: addr, Dir: t.TempDir()}); err == nil {
			closeKafka(t, second)
			t.Errorf("a broker listens on %s", addr)
		}
	}
}

// BenchmarkStartOfAKilledBroker opens the folder of a killed broker with 128 MiB of records.
func BenchmarkStartOfAKilledBroker(b *testing.B) {
	dir := b.TempDir()
	broker, err := StartKafka(b.Context(), Kafka{Addr: "127.0.0.1:0", Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	writer := &kafka.Writer{Addr: kafka.TCP(broker.Addr()), Topic: "t", RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond}
	client := &kafka.Client{Addr: writer.Addr}
	if _, err := client.CreateTopics(b.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: "t", NumPartitions: 16, ReplicationFactor: -1}}}); err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 1<<10)
	for range 128 {
		messages := make([]kafka.Message, 1<<10)
		for i := range messages {
			messages[i].Value = value
		}
		if err := writer.WriteMessages(b.Context(), messages...); err != nil {
			b.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		b.Fatal(err)
	}
	left := filepath.Join(b.TempDir(), "left")
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		b.Fatal(err)
	}
	if err := broker.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		again, err := StartKafka(b.Context(), Kafka{Addr: "127.0.0.1:0", Dir: left})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := again.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
