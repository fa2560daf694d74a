package document_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// The test binary runs itself as the process that is killed.
const (
	childAddress = "BELLBUOY_TEST_CHILD_ADDRESS"
	childLife    = "BELLBUOY_TEST_CHILD_LIFE" // number of the process
	childLog     = "BELLBUOY_TEST_CHILD_LOG"  // the file to which it publishes
)

func TestMain(m *testing.M) {
	if address := os.Getenv(childAddress); address != "" {
		fmt.Fprintln(os.Stderr, live(address))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// live writes, acknowledges on standard output and relays into a synced file until it is killed.
func live(address string) error {
	t := &childT{}
	db, c, _ := derivedFleet(t, address, nil)
	log, err := os.OpenFile(os.Getenv(childLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	failed := make(chan error)
	go func() {
		failed <- db.Relay(context.Background(), func(_ context.Context, records []stream.Record) error {
			// A line that a kill has cut must not join the next.
			lines := bytes.NewBufferString("\n")
			for _, r := range records {
				lines.Write(append(r.Value, '\n'))
			}
			if _, err := log.Write(lines.Bytes()); err != nil {
				return err
			}
			return log.Sync()
		})
	}()
	var out sync.Mutex
	acknowledge := func(key string, trip int) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf("%s %d\n", key, trip)
	}
	for writer := range 4 {
		go func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%s.%d.%d", os.Getenv(childLife), writer, n)
				if err := voyage(c, key, n, acknowledge); err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// voyage stores and changes a boat, and deletes every third.
func voyage(c *document.Collection[boat], key string, n int, acknowledge func(string, int)) error {
	ctx := context.Background()
	if err := c.Insert(ctx, boat{ID: key, Owner: "a", Length: 1, Harbours: []string{"Kiel"}}, sailed{key, 1}); err != nil {
		return err
	}
	acknowledge(key, 1)
	_, err := c.Update(ctx, key, func(b *boat) ([]topic.Message, error) {
		b.Length, b.Harbours = 2, []string{"Oslo"}
		return trips(key, 2, 2), nil
	})
	if err != nil || n%3 > 0 {
		if err == nil {
			acknowledge(key, 2)
		}
		return err
	}
	acknowledge(key, 2)
	if err := c.Delete(ctx, key, func(*boat) ([]topic.Message, error) { return trips(key, 3, 3), nil }); err != nil {
		return err
	}
	acknowledge(key, 3)
	return nil
}

// childT lets the child process use the helpers of the tests.
type childT struct{ testing.TB }

func (*childT) Helper()                  {}
func (*childT) Cleanup(func())           {}
func (*childT) Context() context.Context { return context.Background() }
func (*childT) Output() io.Writer        { return os.Stderr }
func (*childT) Fatal(args ...any)        { panic(fmt.Sprint(args...)) }

// killedChild starts a child and kills it at a random moment. It reports what the child acknowledged.
func killedChild(t *testing.T, address, log string, life int, acknowledged func(key string, trip int)) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childAddress+"="+address, childLog+"="+log, fmt.Sprintf("%s=%d", childLife, life))
	var complaints bytes.Buffer
	child.Stderr = &complaints
	out, err := child.StdoutPipe()
	if err = errors.Join(err, child.Start()); err != nil {
		t.Error(err)
		return
	}
	first := true
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // an incomplete line acknowledges nothing
			break
		}
		var key string
		var trip int
		if _, err := fmt.Sscanf(line, "%s %d", &key, &trip); err != nil {
			t.Errorf("the child wrote %q", line)
		}
		acknowledged(key, trip)
		if first {
			first = false
			time.AfterFunc(time.Duration(rand.IntN(250))*time.Millisecond, func() { _ = child.Process.Kill() })
		}
	}
	err = child.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Exited() {
		t.Errorf("the child was not killed: %v\n%s", err, complaints.String())
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		log := filepath.Join(t.TempDir(), "published")
		acknowledged := map[string]int{}
		var mu sync.Mutex
		acknowledge := func(key string, trip int) {
			mu.Lock()
			defer mu.Unlock()
			acknowledged[key] = max(acknowledged[key], trip)
		}
		atOnce := 1
		if shared(address) {
			atOnce = 2
		}
		for life := range 6 {
			var processes sync.WaitGroup
			for n := range atOnce {
				processes.Go(func() { killedChild(t, address, log, atOnce*life+n, acknowledge) })
			}
			processes.Wait()
		}
		t.Logf("%d boats were acknowledged", len(acknowledged))

		db, c, rows := derivedFleet(t, address, nil)
		b := newBroker()
		published, err := os.ReadFile(log)
		must(t, err)
		for line := range strings.Lines(string(published)) {
			if json.Valid([]byte(line)) {
				b.records = append(b.records, stream.Record{Value: []byte(line)})
			}
		}
		before := len(b.records)
		due := maps.Clone(acknowledged)
		for key, trip := range acknowledged { // a record that was stored and not acknowledged has messages, too
			item, err := c.Get(t.Context(), key)
			due[key] = max(trip, int(item.Length))
			if fault.Is(err, fault.NotFound) {
				due[key] = 3
			}
		}
		stop := run(t, db, b.publish)
		sequence := awaitAll(t, b, due)
		t.Logf("%d records were published before, %d after the last kill", before, len(b.all())-before)

		for key, trip := range acknowledged {
			got := sequence[key]
			if !slices.IsSorted(got) || got[0] != 1 || got[len(got)-1] != len(got) {
				t.Errorf("%s: relayed %v", key, got)
			}
			item, err := c.Get(t.Context(), key)
			gone := fault.Is(err, fault.NotFound)
			if gone && len(got) < 3 || !gone && (err != nil || trip == 3 || int(item.Length) < trip) {
				t.Errorf("%s: trip %d was acknowledged, stored is %+v, %v", key, trip, item, err)
			}
			want := map[bool]string{true: "", false: map[float64]string{1: "Kiel:", 2: "Oslo:"}[item.Length]}[gone]
			// A Derive that was killed after another process had published the message is repeated later.
			eventually(t, fmt.Sprintf("%s: derived is %q", key, want), func() bool { return berthsOf(t, rows, key) == want })
		}
		stop()
	})
}

// awaitAll waits until every due message is published. It returns the trips of each boat in the order of their first
// publication.
func awaitAll(t *testing.T, b *broker, due map[string]int) map[string][]int {
	t.Helper()
	patience := time.After(60 * time.Second)
	for {
		sequence := map[string][]int{}
		for _, r := range b.all() {
			var s sailed
			must(t, json.Unmarshal(r.Value, &s))
			if !slices.Contains(sequence[s.Boat], s.Trip) {
				sequence[s.Boat] = append(sequence[s.Boat], s.Trip)
			}
		}
		missing := slices.DeleteFunc(slices.Collect(maps.Keys(due)), func(key string) bool {
			return slices.Contains(sequence[key], due[key])
		})
		if len(missing) == 0 {
			return sequence
		}
		select {
		case <-b.changed:
		case <-patience:
			t.Fatalf("messages of %d boats are missing, so of %s", len(missing), missing[0])
		}
	}
}
