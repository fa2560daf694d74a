package stream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/segmentio/kafka-go"
)

// A test can start the test binary as a child process and kill it. childRole is the environment variable with the role
// of the child. The child writes lines to its standard output.
const childRole = "STREAM_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childRole) {
	case "":
		parallel()
		os.Exit(m.Run())
	case "broker":
		childBroker()
	case "consumer":
		childConsumer()
	}
}

// parallel lets more tests run at the same time than there are processors, because these tests mostly wait: for a
// session timeout, a rebalance or a retry.
func parallel() {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
}

// childBroker runs a broker with a folder until the process is killed.
func childBroker() {
	broker, err := engines.StartKafka(context.Background(), engines.Kafka{
		Addr: os.Getenv("ADDR"), Dir: os.Getenv("DIR"), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready", broker.Addr())
	select {}
}

// childConsumer claims records. It finishes each record unless its value is in the environment variable KEEP.
func childConsumer() {
	client := stream.Connect(stream.Options{Brokers: []string{os.Getenv("ADDR")}, ClientID: "child"})
	keep := strings.Fields(os.Getenv("KEEP"))
	_ = client.Consume(context.Background(), stream.Subscription{Group: os.Getenv("GROUP"), Topics: []string{os.Getenv("TOPIC")}},
		func(_ context.Context, claim stream.Claim) {
			value := string(claim.Record.Value)
			fmt.Println("claimed", value)
			for _, kept := range keep {
				if kept == value || kept == "all" {
					return
				}
			}
			claim.Done()
		})
}

// child is a child process of this test binary.
type child struct {
	command *exec.Cmd
	lines   chan string
}

func startChild(t *testing.T, role string, environment ...string) *child {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(append(os.Environ(), childRole+"="+role), environment...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{command: command, lines: make(chan string, 10_000)}
	go func() {
		defer close(c.lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() { c.kill() })
	return c
}

// line returns the next line that the child writes.
func (c *child) line(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			t.Fatal("the child process ended")
		}
		return line
	case <-time.After(patience):
		t.Fatal("the child process writes nothing")
	}
	return ""
}

// kill sends SIGKILL.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

// patience is the time after which a test stops waiting and fails.
const patience = 60 * time.Second

// onBrokers runs a test with the embedded broker. If BELLBUOY_TEST_KAFKA names an Apache Kafka broker, it also runs the
// test with that broker. Both run in parallel with other tests.
func onBrokers(t *testing.T, test func(t *testing.T, addr string)) {
	t.Parallel()
	t.Run("in process", func(t *testing.T) {
		t.Parallel()
		test(t, startBroker(t))
	})
	if addr := os.Getenv("BELLBUOY_TEST_KAFKA"); addr != "" {
		t.Run("Apache Kafka", func(t *testing.T) {
			t.Parallel()
			test(t, addr)
		})
	}
}

func startBroker(t testing.TB) string {
	t.Helper()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	return broker.Addr()
}

// unique returns a name that no other test uses, even on a Kafka broker that outlives the test.
func unique(name string) string { return name + "-" + strconv.FormatInt(time.Now().UnixNano(), 36) }

func connect(t testing.TB, addr string, options stream.Options) *stream.Client {
	t.Helper()
	options.Brokers = []string{addr}
	if options.ClientID == "" {
		options.ClientID = "test"
	}
	client := stream.Connect(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// newTopic creates a topic for the test.
func newTopic(t testing.TB, client *stream.Client, partitions int) string {
	t.Helper()
	name := unique("topic")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := client.EnsureTopics(ctx, stream.Topic{Name: name, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	return name
}

func publish(t testing.TB, client *stream.Client, records ...stream.Record) {
	t.Helper()
	if err := client.Publish(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
}

// numbered returns records whose values are the numbers from from to to-1. They have the given number of keys.
func numbered(topic string, from, to, keys int) []stream.Record {
	var records []stream.Record
	for i := from; i < to; i++ {
		records = append(records, stream.Record{Topic: topic, Key: "k" + strconv.Itoa(i%keys), Value: []byte(strconv.Itoa(i))})
	}
	return records
}

// running is a consumer that runs in a goroutine.
type running struct {
	cancel context.CancelFunc
	ended  chan error
}

func start(t testing.TB, consume func(ctx context.Context) error) *running {
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- consume(ctx) }()
	t.Cleanup(func() { r.stop(t) })
	return r
}

func (r *running) stop(t testing.TB) {
	t.Helper()
	r.cancel()
	select {
	case err, first := <-r.ended:
		if first && err != nil {
			t.Errorf("the consumer ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the consumer does not end")
	}
	r.ended = make(chan error)
	close(r.ended)
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(patience)
	for !condition() {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// committed returns the committed offset of a group, -1 if there is none.
func committed(t testing.TB, addr, group, topic string, partition int) int64 {
	t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(addr), Transport: &kafka.Transport{}}
	defer client.Transport.(*kafka.Transport).CloseIdleConnections()
	answer, err := client.OffsetFetch(t.Context(), &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {partition}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range answer.Topics[topic] {
		return each.CommittedOffset
	}
	return -1
}

func decode(t testing.TB, record stream.Record) int {
	t.Helper()
	var n int
	if err := json.Unmarshal(record.Value, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
