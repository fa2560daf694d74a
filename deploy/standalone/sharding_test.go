package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const shardFunction = `function shard(name, key) {
  const [database, collection] = ("bellbuoy_" + name).split(".")
  db.getSiblingDB(database)[collection].createIndex(key)
  sh.shardCollection(database + "." + collection, key)
}
`

// The document lists the shard key of each collection, the queries that ask every shard, and the commands that shard. The
// tests of the stores compare the golden files with the declarations.
func TestTheDocumentListsEachShardKey(t *testing.T) {
	var table strings.Builder
	var keys []string
	sharded := make(map[string][]string) // names of collections, by shard key
	table.WriteString("| Collection | Shard key | Queries that ask every shard |\n| --- | --- | --- |\n")
	for _, service := range []string{"identity", "events", "subscribers", "integrations", "delivery"} {
		golden, err := os.ReadFile(filepath.Join("../..", "services", service, "internal/store/testdata/shards.golden"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(golden)) {
			parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(parts) != 3 {
				t.Fatalf("%s: %q must have three parts", service, line)
			}
			collection, index, text := service+"."+parts[0], parts[1], parts[2]
			key, later := strings.CutSuffix(text, " later")
			_, whole := strings.CutPrefix(text, "whole: ")
			switch {
			case index != "-":
				fmt.Fprintf(&table, "| | | `%s`: %s |\n", index, text)
			case whole:
				fmt.Fprintf(&table, "| `%s` | %s | |\n", collection, text)
			case later:
				fmt.Fprintf(&table, "| `%s` | `%s`, later | |\n", collection, key)
			default:
				fmt.Fprintf(&table, "| `%s` | `%s` | |\n", collection, key)
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
				sharded[key] = append(sharded[key], collection)
			}
		}
	}
	var commands strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&commands, "for (const name of \"%s\".split(\" \")) shard(name, %s)\n", strings.Join(sharded[key], " "), key)
	}
	path := filepath.Join("../..", "deploy/sharding.md")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after := between(t, string(before), "commands", "```js\n"+shardFunction+commands.String()+"```\n")
	after = between(t, after, "collections", table.String())
	switch {
	case after == string(before):
	case os.Getenv("APITEST_UPDATE") == "1":
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not list the declared shard keys; run this test with APITEST_UPDATE=1, which writes it", path)
	}
}

// between replaces the text between a mark and the next end mark of a document.
func between(t *testing.T, document, mark, text string) string {
	t.Helper()
	begin, rest, found := strings.Cut(document, "<!-- "+mark+" -->\n")
	_, end, ended := strings.Cut(rest, "<!-- end -->\n")
	if !found || !ended {
		t.Fatalf("the document has no mark %q", mark)
	}
	return begin + "<!-- " + mark + " -->\n" + text + "<!-- end -->\n" + end
}
