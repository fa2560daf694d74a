package document_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

func TestOperationsWithoutAnEngine(t *testing.T) {
	ctx := t.Context()
	blocked := t.TempDir() + "/file"
	must(t, os.WriteFile(blocked, nil, 0o600))
	for name, address := range map[string]string{
		"sqlite":  "sqlite:" + blocked + "/below",
		"mongodb": "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200&connectTimeoutMS=100",
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, address) // lazy: no error
			c := document.Declare(db, boats())
			_, find1 := c.Find(ctx, find.Query{})
			_, count := c.Count(ctx, find.Query{})
			_, get := c.Get(ctx, "a")
			for operation, err := range map[string]error{
				"ping": db.Ping(ctx), "find": find1, "count": count, "get": get, "insert": c.Insert(ctx, boat{ID: "a"}),
			} {
				if !fault.Is(err, fault.Unavailable) {
					t.Errorf("%s: %v", operation, err)
				}
				if text := fault.As(err).Message; strings.Contains(text, "127.0.0.1") || strings.Contains(text, blocked) {
					t.Errorf("%s returns %q to the client", operation, text)
				}
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			// Migrate waits for a server, but not for a path.
			if err := db.Migrate(ended); err == nil || fault.Is(err, fault.Unavailable) != (name == "mongodb") {
				t.Errorf("migrate: %v", err)
			}
		})
	}
}

// A query that takes too long is not said to be an outage.
func TestOperationsBeyondTheirTimeLimit(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		_, c := fleet(t, address)
		ctx, cancel := context.WithTimeout(t.Context(), -1)
		defer cancel()
		_, err := c.Find(ctx, find.Query{})
		if got := fault.As(err); got.Kind != fault.Unavailable || got.Message != "The database did not respond in time." {
			t.Errorf("%v: %q", err, got.Message)
		}
	})
}

func TestOpenRefusesWrongAddresses(t *testing.T) {
	for _, address := range []string{"", "sqlite:", "postgres://x", "mongodb://", "mongodb:///x", "mongodb://user:secret@host/a.b", "mongodb://user:secret@host/x?w=%zz"} {
		_, err := document.Open(address, "events", document.Options{})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := document.Open("sqlite:x", "../events", document.Options{}); err == nil {
		t.Error("a database name with a path was accepted")
	}
}
