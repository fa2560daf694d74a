package topic_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// keys are the declared keys of the topics. Messages of a key are in one partition, so consumers get them in order.
// deploy/sharding.md lists them with the order that each topic needs.
var keys = []struct {
	topic, key string
	message    topic.Message // its key is "k" or 7, and no other member of it is
}{
	{topic.EventChanges, "event", topic.EventChange{Organization: "o", Event: topic.Event{ID: "k"}}},
	{topic.ComponentChanges, "component", topic.ComponentDeleted{Organization: "o", ComponentID: "k"}},
	{topic.DashboardChanges, "dashboard", topic.DashboardDeleted{Organization: "o", DashboardID: "k"}},
	{topic.Notices, "recipient", topic.Notice{ID: "n", Organization: "o", Recipient: "k"}},
	{topic.Deliveries, "bucket", topic.Shard{ID: "s", Bucket: 7}},
	{topic.DeliveryOutcomes, "bucket", topic.Outcome{Bucket: 7}},
	{topic.Audit, "record", topic.AuditEntry{ID: "e", Organization: "o", EntityID: "k"}},
}

func TestEachTopicHasItsKey(t *testing.T) {
	document, err := os.ReadFile("../../deploy/sharding.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range keys {
		if c.message.Topic() != c.topic || c.message.Key() != "k" && c.message.Key() != "7" {
			t.Errorf("%T: topic %q and key %q, want %s and the %s", c.message, c.message.Topic(), c.message.Key(), c.topic, c.key)
		}
		if placed, is := c.message.(topic.Placed); is && placed.Partition() != 7 {
			t.Errorf("%T: partition %d instead of that of its key", c.message, placed.Partition())
		}
		if row := "| `" + c.topic + "` | " + c.key + " |"; !strings.Contains(string(document), row) {
			t.Errorf("deploy/sharding.md has no row %q", row)
		}
	}
}

// Every message of the code is one of the above, so no topic gets a message with another key.
func TestEveryMessageHasADeclaredKey(t *testing.T) {
	method := regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)\) Topic\(\) string`)
	known := make(map[string]bool)
	for _, c := range keys {
		known[reflect.TypeOf(c.message).Name()] = true
	}
	found := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "node_modules", "data", "bin"}, entry.Name()) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range method.FindAllSubmatch(text, -1) {
			if found++; !known[string(match[1])] || filepath.Base(filepath.Dir(path)) != "topic" {
				t.Errorf("%s: the message %s has no declared key", path, match[1])
			}
		}
		return nil
	})
	if err != nil || found != len(keys) {
		t.Errorf("%d messages of %d, %v", found, len(keys), err)
	}
}
