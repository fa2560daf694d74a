package documenttest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
)

// ShardFile is a file with the shard key of each collection of a store, and with the reasons of the indexes whose queries
// ask every shard. deploy/sharding.md has the same keys and reasons.
const ShardFile = "testdata/shards.golden"

// Shards fails if the declared shard keys or reasons differ from ShardFile, or if the field of a shard key could
// change. With APITEST_UPDATE=1 it writes the file. The declaration itself refuses a unique index that does not begin
// with the shard key, and the database refuses queries that ask every shard without a declared reason.
func Shards(t *testing.T, declare func(*document.Database)) {
	t.Helper()
	db, err := document.Open("sqlite:"+t.TempDir(), "shards", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	declare(db)
	var text strings.Builder
	for _, c := range db.Declarations() {
		text.WriteString(shardLines(c))
		if members := shardMembers(c); len(members) > 1 {
			t.Errorf("the shard key of %s must not change, but its field %s depends on the members %v", c.Name, c.ShardField, members)
		}
	}
	golden, err := os.ReadFile(ShardFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	switch {
	case string(golden) == text.String():
	case os.Getenv("APITEST_UPDATE") == "1":
		if err := os.WriteFile(ShardFile, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the shard keys differ from %s; run this test with APITEST_UPDATE=1, which writes it:\n%s", ShardFile, text.String())
	}
}

// shardLines returns the lines of a collection. The first line is the name of the collection, "-" and the shard key.
// Each other line is the name of the collection, an index and its Scatter. Tabs separate the three.
func shardLines(c document.Declaration) string {
	key := c.Shard
	switch {
	case c.Whole != "":
		key = "whole: " + c.Whole
	case !c.Sharded:
		key += " later"
	}
	lines := []string{fmt.Sprintf("%s\t-\t%s\n", c.Name, key)}
	for _, index := range c.Indexes {
		if index.Scatter != "" {
			lines = append(lines, fmt.Sprintf("%s\t%s\t%s\n", c.Name, index.Name, index.Scatter))
		}
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "")
}

// shardMembers returns the members of a record that change the field of the shard key, and not the key of the record. There
// should be one such member, with the owner of the record. shardMembers returns none for a collection that has no field as
// shard key or cannot be sharded yet.
func shardMembers(c document.Declaration) (members []string) {
	at := slices.IndexFunc(c.Fields, func(f document.DeclaredField) bool { return f.Name == c.ShardField })
	if at < 0 || !c.Sharded {
		return nil
	}
	full := sample{}
	before, key := compute(c, &full)[at], keyOf(c, nil)
	for _, m := range full.members {
		change := changes{m.path: reflect.Zero(m.kind)}
		if compute(c, &sample{changes: change})[at] != before && keyOf(c, change) == key {
			members = append(members, m.path)
		}
	}
	return members
}

func keyOf(c document.Declaration, change changes) string {
	record := reflect.New(c.Record)
	(&sample{changes: change}).fill(record.Elem(), "", 0)
	return c.Key(record.Interface())
}
