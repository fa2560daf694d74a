package deliverylog

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// The block of format 1 was stored once. A change of the packing must not write it anew, because users have such blocks.
func TestAStoredBlockOfEachFormatStaysReadable(t *testing.T) {
	var block Block
	var want []Delivery
	for name, into := range map[string]any{"block_1.json": &block, "block_1_rows.json": &want} {
		text, err := os.ReadFile("testdata/" + name)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := block.Select(Filter{}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the block has (%v)\n%+v, want\n%+v", err, got, want)
	}
}
