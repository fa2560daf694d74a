package dashboards

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// In a cluster, all keys of a script are in one slot: that of their hash tag.
func TestTheKeysOfAScriptAreInOneSlot(t *testing.T) {
	cluster := boot.Redis{RedisURL: "redis://a:6379?addr=b:6379"}.Tag(peer.GatewayTag)
	single := boot.Redis{RedisURL: "redis://a:6379/0"}.Tag(peer.GatewayTag)
	for range 100 {
		id := uuid.NewString()
		hashes := []string{filesKey(id), othersKey(id), addressKey("https://" + id + ".example.com/{a}"), aliasesKey(id)}
		for i, key := range scriptKeys(cluster, hashes) {
			if !strings.HasPrefix(key, "{"+peer.GatewayTag+"}") {
				t.Errorf("%q is in another slot", key)
			}
			if without := scriptKeys(single, hashes)[i]; "{"+peer.GatewayTag+"}"+without != key {
				t.Errorf("on a single server, %q has another name than before: %q", key, without)
			}
		}
	}
}
