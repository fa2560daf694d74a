package deliverylog

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"
)

// The block of each format was stored once. A change of the packing must not write it anew, because users have such blocks.
// A new format needs the two files of one of its blocks.
func TestAStoredBlockOfEachFormatStaysReadable(t *testing.T) {
	for format := byte(1); format <= memberFormat; format++ {
		var block Block
		var want []Delivery
		for name, into := range map[string]any{"block_%d.json": &block, "block_%d_rows.json": &want} {
			text, err := os.ReadFile(fmt.Sprintf("testdata/"+name, format))
			if err == nil {
				err = json.Unmarshal(text, into)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := block.Select(Filter{}); err != nil || block.Members[0] != format || !reflect.DeepEqual(got, want) {
			t.Errorf("the block has (%v)\n%+v, want\n%+v", err, got, want)
		}
	}
}
