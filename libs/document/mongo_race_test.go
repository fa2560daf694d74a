package document

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/mongodb"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

type mooring struct {
	ID    string `json:"id"`
	Place string `json:"place"`
}

func mooringsBy(index ...string) Schema[mooring] {
	return Schema[mooring]{Name: "moorings", Shard: Whole("a test"), Key: func(m *mooring) string { return m.ID },
		Fields: []Field[mooring]{
			{Name: "id", Value: func(m *mooring) any { return m.ID }},
			{Name: "place", Value: func(m *mooring) any { return m.Place }},
		},
		Indexes: []Index{{Name: "place", Fields: index}}}
}

type moored struct{}

func (moored) Topic() string { return "moorings" }
func (moored) Key() string   { return "" }

// moorings returns a collection on MongoDB, its collection of another client, and a function that sets a callback. The
// callback runs after the server's response to the next command of a name, or to each command ("").
func moorings(t *testing.T, server string) (*Collection[mooring], *mongo.Collection, func(command string, do func())) {
	prefix := fmt.Sprintf("race%d_%d", os.Getpid(), time.Now().UnixNano())
	db, err := Open(strings.TrimSuffix(server, "/")+"/"+prefix, "moorings", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	at, step := "", func() {}
	db.engine.(*mongodb.Engine).Monitor = &event.CommandMonitor{Succeeded: func(_ context.Context, done *event.CommandSucceededEvent) {
		mu.Lock()
		do := step
		if at != "" && done.CommandName != at {
			do = func() {}
		} else if at != "" {
			at, step = "", func() {}
		}
		mu.Unlock()
		do()
	}}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	c := Declare(db, mooringsBy("place"))
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := mongo.Connect(options.Client().ApplyURI(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Disconnect(context.Background()) })
	return c, other.Database(prefix + "_moorings").Collection("moorings"), func(command string, do func()) {
		mu.Lock()
		defer mu.Unlock()
		at, step = command, do
	}
}

// mongoServer returns the address of the server under test. It is empty if none is set, and the test ends then.
func mongoServer(t *testing.T) string {
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		t.Log("BELLBUOY_TEST_MONGODB names no MongoDB server")
	}
	return server
}

// A relay may remove a tombstone between the response that its key exists and the next step of the writer.
func TestInsertOverATombstoneThatGoes(t *testing.T) {
	server := mongoServer(t)
	if server == "" {
		return
	}
	for name, insert := range map[string]func(context.Context, *Collection[mooring], mooring) error{
		"insert": func(ctx context.Context, c *Collection[mooring], m mooring) error { return c.Insert(ctx, m) },
		"insert many": func(ctx context.Context, c *Collection[mooring], m mooring) error {
			fresh, err := c.InsertMany(ctx, []mooring{m})
			if err == nil && len(fresh) != 1 {
				err = fmt.Errorf("%d were new", len(fresh))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, stored, after := moorings(t, server)
			if err := c.Insert(t.Context(), mooring{ID: "a", Place: "Kiel"}, moored{}); err != nil {
				t.Fatal(err)
			}
			if err := c.Delete(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
			after("insert", func() {
				if gone, err := stored.DeleteOne(context.Background(), bson.D{{Key: "_id", Value: "a"}}); err != nil || gone.DeletedCount != 1 {
					t.Errorf("no tombstone is deleted: %v", err)
				}
			})
			if err := insert(t.Context(), c, mooring{ID: "a", Place: "Oslo"}); err != nil {
				t.Error(err)
			}
			if m, err := c.Get(t.Context(), "a"); err != nil || m.Place != "Oslo" {
				t.Errorf("stored is %+v, %v", m, err)
			}
		})
	}
}

// A relay may clear the outbox of a record while DeleteMany deletes the record.
func TestDeleteManyOfWhatIsBeingRelayed(t *testing.T) {
	server := mongoServer(t)
	if server == "" {
		return
	}
	c, stored, after := moorings(t, server)
	for _, err := range []error{
		c.Insert(t.Context(), mooring{ID: "silent", Place: "Kiel"}),
		c.Insert(t.Context(), mooring{ID: "loud", Place: "Kiel"}, moored{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	after("delete", func() {
		cleared := bson.D{{Key: "$unset", Value: bson.D{{Key: "o", Value: ""}, {Key: "p", Value: ""}}}}
		if result, err := stored.UpdateOne(context.Background(), bson.D{{Key: "_id", Value: "loud"}}, cleared); err != nil || result.ModifiedCount != 1 {
			t.Errorf("no outbox is cleared: %v", err)
		}
	})
	n, err := c.DeleteMany(t.Context(), find.Query{Where: []find.Condition{find.Eq("place", "Kiel")}})
	left, failed := c.Count(t.Context(), find.Query{})
	if err != nil || failed != nil || n != 2 || left != 0 {
		t.Errorf("deleted %d, %d are left, %v, %v", n, left, err, failed)
	}
}

// Many outboxes are cleared in few commands, because each command waits for the journals of a majority.
func TestClearTakesFewCommands(t *testing.T) {
	server := mongoServer(t)
	if server == "" {
		return
	}
	c, _, after := moorings(t, server)
	for n := range 50 {
		if err := c.Insert(t.Context(), mooring{ID: strconv.Itoa(n)}, moored{}); err != nil {
			t.Fatal(err)
		}
	}
	none := func(string, string) bool { return false }
	commands := 0
	after("", func() { commands++ })
	claims, err := c.db.engine.Claim(t.Context(), c.db.declared(), engine.RelayBatch, none)
	if err != nil || len(claims) != 50 {
		t.Fatalf("%d documents are claimed, %v", len(claims), err)
	}
	if left, err := c.db.engine.Clear(t.Context(), claims); left || err != nil {
		t.Fatal(left, err)
	}
	if commands > 3 {
		t.Errorf("50 documents took %d commands", commands)
	}
	if claims, err = c.db.engine.Claim(t.Context(), c.db.declared(), engine.RelayBatch, none); err != nil || len(claims) != 0 {
		t.Errorf("%d documents still wait, %v", len(claims), err)
	}
}

// A process is killed, or fails, in the middle of Derive for a document that it had claimed. Another process runs Derive
// again, although it had done so itself after its write.
func TestDeriveOfAKilledRelayIsRepeated(t *testing.T) {
	server := mongoServer(t)
	if server == "" {
		return
	}
	for name, fail := range map[string]func(shared sharedStorage, claims []engine.Claim) error{
		"killed": func(sharedStorage, []engine.Claim) error { return nil },
		"failed": func(shared sharedStorage, claims []engine.Claim) error {
			claims[0].Repeat = true
			return shared.Release(context.Background(), claims)
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := fmt.Sprintf("%s/relay%d_%d", strings.TrimSuffix(server, "/"), os.Getpid(), time.Now().UnixNano())
			var derived atomic.Int64
			declare := func() (*Database, *Collection[mooring]) {
				db, err := Open(address, "moorings", Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = db.Close() })
				schema := mooringsBy("place")
				schema.Derive = func(context.Context, string, *mooring) error { derived.Add(1); return nil }
				c := Declare(db, schema)
				if err := db.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				return db, c
			}
			db, c := declare()
			if err := c.Insert(t.Context(), mooring{ID: "a"}, moored{}); err != nil {
				t.Fatal(err)
			}
			other, _ := declare()
			var claims []engine.Claim
			for began := time.Now(); len(claims) == 0; <-time.After(10 * time.Millisecond) { // another process waits before it claims
				var err error
				claims, err = other.engine.Claim(t.Context(), other.declared(), engine.RelayBatch, func(string, string) bool { return false })
				if err != nil || len(claims) > 0 && claims[0].Abandoned || time.Since(began) > time.Minute {
					t.Fatalf("claimed %+v, %v", claims, err)
				}
			}
			if err := fail(other.engine.(sharedStorage), claims); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var atPublish int64
			_ = db.Relay(ctx, func(context.Context, []stream.Record) error {
				atPublish = derived.Load()
				stop()
				return nil
			})
			if atPublish != 2 {
				t.Errorf("Derive had run %d times when the message was published", atPublish)
			}
		})
	}
}

// One update with a message and Derive takes few commands.
func TestUpdateTakesFewCommands(t *testing.T) {
	server := mongoServer(t)
	if server == "" {
		return
	}
	var mu sync.Mutex
	var commands []string
	address := fmt.Sprintf("%s/few%d_%d", strings.TrimSuffix(server, "/"), os.Getpid(), time.Now().UnixNano())
	db, err := Open(address, "moorings", Options{Observe: func(operation string) {
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, operation)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	schema := mooringsBy("place")
	schema.Derive = func(context.Context, string, *mooring) error { return nil }
	c := Declare(db, schema)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Insert(t.Context(), mooring{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	commands = nil
	if _, err := c.Update(t.Context(), "a", func(m *mooring) ([]topic.Message, error) { m.Place = "Kiel"; return []topic.Message{moored{}}, nil }); err != nil {
		t.Fatal(err)
	}
	claims, err := db.engine.Claim(t.Context(), db.takeWritten(), engine.RelayBatch, func(string, string) bool { return false })
	if err != nil || len(claims) != 1 {
		t.Fatalf("claimed %v, %v", claims, err)
	}
	if _, err := db.engine.Clear(t.Context(), claims); err != nil {
		t.Fatal(err)
	}
	want := []string{"find", "update", "find", "find", "update", "update"} // load, replace, check; search, claim, clear
	if !slices.Equal(commands, want) {
		t.Errorf("the commands were %v, want %v", commands, want)
	}
}

// slowly returns the address of a proxy that passes each response of the server on with a delay.
func slowly(t *testing.T, server string) string {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	target := address.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			go func() { _, _ = io.Copy(upstream, client); upstream.Close() }()
			go func() { _, _ = io.Copy(delayed{client}, upstream); client.Close() }()
		}
	}()
	address.Host = listener.Addr().String()
	return address.String()
}

type delayed struct{ io.Writer }

func (d delayed) Write(part []byte) (int, error) {
	time.Sleep(50 * time.Millisecond) // the latency under test
	return d.Writer.Write(part)
}

// Two processes start with a changed index. The slower one does not drop the index that the other has created and uses.
func TestMigrateKeepsTheIndexOfAFasterProcess(t *testing.T) {
	server := mongoServer(t)
	if server == "" {
		return
	}
	t.Run("fast server", func(t *testing.T) { migrateBesideAFasterProcess(t, server) })
	t.Run("slow server", func(t *testing.T) { migrateBesideAFasterProcess(t, slowly(t, server)) })
}

func migrateBesideAFasterProcess(t *testing.T, server string) {
	c, stored, after := moorings(t, server)
	schema := mooringsBy("place", "id")
	shape, err := shapeOf(schema)
	if err != nil {
		t.Fatal(err)
	}
	c.shape.Indexes = shape.Indexes // this is the slower process
	faster, err := Open(strings.TrimSuffix(server, "/")+"/"+strings.TrimSuffix(stored.Database().Name(), "_moorings"), "moorings", Options{})
	if err != nil {
		t.Fatal(err)
	}
	Declare(faster, schema)
	t.Cleanup(func() {
		if err := faster.Close(); err != nil {
			t.Error(err)
		}
	})
	keys := func() int {
		list, err := stored.Indexes().ListSpecifications(context.Background())
		if err != nil {
			t.Error(err)
		}
		for _, index := range list {
			if index.Name == "place" {
				elements, err := index.KeysDocument.Elements()
				if err != nil {
					t.Error(err)
				}
				return len(elements)
			}
		}
		return 0
	}
	after("listIndexes", func() {
		if err := faster.Migrate(context.Background()); err != nil {
			t.Error(err)
		}
		after("", func() {
			if n := keys(); n != 3 {
				t.Errorf("the new index is gone, or an old one of %d fields", n)
			}
		})
	})
	err = c.db.Migrate(t.Context())
	after("", func() {}) // Close sends endSessions, when the other clients are closed
	if err != nil {
		t.Fatal(err)
	}
	if n := keys(); n != 3 {
		t.Errorf("at the end the index has %d fields", n)
	}
}

// The operator creates the index of the shard key, and a sharded collection needs it.
func TestMigrateKeepsTheIndexOfTheShardKey(t *testing.T) {
	server := mongoServer(t)
	if server == "" {
		return
	}
	c, stored, _ := moorings(t, server)
	c.shape.Shard = plan.Shard{ByField: true, Field: c.shape.Field("id")} // the server of the tests has no hashed indexes
	created, err := stored.Indexes().CreateMany(t.Context(), []mongo.IndexModel{{Keys: mongodb.ShardKey(c.shape)}, {Keys: bson.D{{Key: "b", Value: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	var list []mongo.IndexSpecification
	for range 2 { // the second start is a day later
		if err := c.db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list, err = stored.Indexes().ListSpecifications(t.Context()); err != nil {
			t.Fatal(err)
		}
		former := bson.D{{Key: "$set", Value: bson.D{{Key: "unused.0.since", Value: time.Now().Add(-25 * time.Hour)}}}}
		if _, err := stored.Database().Collection("_declared").UpdateByID(t.Context(), c.shape.Name, former); err != nil {
			t.Fatal(err)
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(list, func(index mongo.IndexSpecification) bool { return index.Name == name })
	}
	if !has(created[0]) || has(created[1]) {
		t.Errorf("of %v there are %v", created, list)
	}
}
