package site

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
)

// Many compressions at the same time share a few encoders, and nothing of one file is in the next one.
func TestEncodersAreReused(t *testing.T) {
	c := newCompressor()
	var group sync.WaitGroup
	for n := range 40 {
		group.Go(func() {
			words := rand.New(rand.NewPCG(1, uint64(n)))
			var text strings.Builder
			for range 100 * (n%7 + 1) {
				fmt.Fprintf(&text, "<p>word %d</p>\n", words.IntN(100))
			}
			all, err := c.codings([]byte(text.String()))
			if err != nil || len(all) != 3 {
				t.Errorf("%d codings, %v", len(all), err)
				return
			}
			zip, err := gzip.NewReader(bytes.NewReader(all[1].Body))
			if err != nil {
				t.Error(err)
				return
			}
			for _, reader := range []io.Reader{zip, brotli.NewReader(bytes.NewReader(all[2].Body))} {
				if got, err := io.ReadAll(reader); err != nil || string(got) != text.String() {
					t.Errorf("file %d: %v, %d of %d bytes", n, err, len(got), text.Len())
				}
			}
		})
	}
	group.Wait()
	used := map[*encoder]bool{}
	for range cap(c) {
		if e := <-c; e != nil {
			used[e] = true
		}
	}
	if len(used) == 0 || len(used) > maxEncoders {
		t.Errorf("%d encoders were made", len(used))
	}
}
