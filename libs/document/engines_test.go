package document_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
)

// testedEngine is an engine under test. address returns the address of an empty database. A second open of the address
// stands for a second process.
type testedEngine struct {
	name    string
	address func(t *testing.T) string
}

var databases atomic.Int64

// engines returns SQLite, and MongoDB if BELLBUOY_TEST_MONGODB is the address of a server.
func engines(t testing.TB) []testedEngine {
	list := []testedEngine{{"sqlite", func(t *testing.T) string { return "sqlite:" + t.TempDir() }}}
	server := os.Getenv("BELLBUOY_TEST_MONGODB")
	if server == "" {
		t.Log("engines under test: SQLite (BELLBUOY_TEST_MONGODB names no MongoDB server)")
		return list
	}
	t.Log("engines under test: SQLite, MongoDB")
	return append(list, testedEngine{"mongodb", func(*testing.T) string {
		prefix := fmt.Sprintf("test%d_%d_%d", os.Getpid(), time.Now().UnixNano(), databases.Add(1))
		return strings.TrimSuffix(server, "/") + "/" + prefix
	}})
}

// onEach runs a test on every engine with an empty database.
func onEach(t *testing.T, test func(t *testing.T, address string)) {
	for _, e := range engines(t) {
		t.Run(e.name, func(t *testing.T) { test(t, e.address(t)) })
	}
}

// onShared runs a test on the engines that several processes can share.
func onShared(t *testing.T, test func(t *testing.T, address string)) {
	onEach(t, func(t *testing.T, address string) {
		if shared(address) {
			test(t, address)
		}
	})
}

func shared(address string) bool { return !strings.HasPrefix(address, "sqlite:") }

func open(t testing.TB, address string) *document.Database {
	t.Helper()
	db, err := document.Open(address, "conformance", document.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func migrate(t testing.TB, db *document.Database) {
	t.Helper()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// boat is the record of the tests.
type boat struct {
	ID       string     `json:"id"`
	Owner    string     `json:"owner"`
	Number   int64      `json:"number,omitempty"`
	Name     string     `json:"name"`
	Length   float64    `json:"length"`
	Afloat   bool       `json:"afloat"`
	Built    time.Time  `json:"built"`
	Sunk     *time.Time `json:"sunk,omitempty"`
	Harbours []string   `json:"harbours"`
	Log      []logLine  `json:"log,omitempty"`
}

type logLine struct {
	At   time.Time         `json:"at"`
	Tags map[string]string `json:"tags,omitempty"`
}

func boats() document.Schema[boat] {
	return document.Schema[boat]{
		Shard: document.Whole("a test"),
		Name:  "boats",
		Key:   func(b *boat) string { return b.ID },
		Fields: []document.Field[boat]{
			{Name: "owner", Value: func(b *boat) any { return b.Owner }},
			{Name: "number", Value: func(b *boat) any {
				if b.Number == 0 {
					return nil
				}
				return b.Number
			}},
			{Name: "name", Value: func(b *boat) any { return b.Name }},
			{Name: "length", Value: func(b *boat) any { return b.Length }},
			{Name: "afloat", Value: func(b *boat) any { return b.Afloat }},
			{Name: "built", Value: func(b *boat) any { return b.Built }},
			{Name: "sunk", Value: func(b *boat) any { return b.Sunk }},
			{Name: "harbours", Value: func(b *boat) any { return b.Harbours }},
		},
		Indexes: []document.Index{
			{Name: "owner_number", Fields: []string{"owner", "number"}, Unique: true, Counted: true},
			{Name: "owner_built", Fields: []string{"owner", "built"}},
			{Name: "owner_sunk", Fields: []string{"owner", "sunk", "length"}, Counted: true},
			{Name: "owner_afloat_built", Fields: []string{"owner", "afloat", "built"}, Counted: true},
			{Name: "owner_name", Fields: []string{"owner", "name"}},
			{Name: "owner_harbours_built", Fields: []string{"owner", "harbours", "built"}},
			{Name: "length", Fields: []string{"length"}},
		},
	}
}

// sailed is a message of the tests.
type sailed struct {
	Boat string `json:"boat"`
	Trip int    `json:"trip"`
}

func (sailed) Topic() string { return "sailings" }
func (s sailed) Key() string { return s.Boat }

func fleet(t testing.TB, address string) (*document.Database, *document.Collection[boat]) {
	t.Helper()
	db := open(t, address)
	c := document.Declare(db, boats())
	migrate(t, db)
	return db, c
}

var launch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func vessel(owner string, n int) boat {
	return boat{ID: fmt.Sprintf("%s/%04d", owner, n), Owner: owner, Number: int64(n), Name: fmt.Sprintf("Boat %d", n),
		Length: float64(n % 7), Afloat: n%2 == 0, Built: launch.Add(time.Duration(n) * time.Minute), Harbours: []string{}}
}

// eventually waits until condition returns true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	patience := time.After(60 * time.Second)
	for !condition() {
		select {
		case <-ticker.C:
		case <-patience:
			t.Fatalf("%s: not after a minute", what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func seed(t testing.TB, c *document.Collection[boat], items ...boat) {
	t.Helper()
	must(t, c.UpsertMany(context.Background(), items))
}
