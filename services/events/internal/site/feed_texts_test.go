package site

import (
	"strconv"
	"sync"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func TestTextsAreKeptByTheirFormat(t *testing.T) {
	store := newTexts()
	text := catalog.Rich{Text: "**a** <b>", Format: "markdown"}
	for range 2 {
		if got := store.html.of(text); got != text.HTML() {
			t.Errorf("HTML %q, want %q", got, text.HTML())
		}
		if got := store.plain.of(text); got != text.Plain() {
			t.Errorf("plain %q, want %q", got, text.Plain())
		}
	}
	if same := (catalog.Rich{Text: text.Text, Format: "plain"}); store.html.of(same) != same.HTML() {
		t.Errorf("the format is not part of the key: %q", store.html.of(same))
	}
}

// A text in use is rendered once. The store stays small, and drops the texts that are not used.
func TestATextInUseIsRenderedOnce(t *testing.T) {
	renders := map[string]int{}
	store := newRendered(func(text catalog.Rich) string {
		renders[text.Text]++
		return text.Text
	}, 10*entrySize)
	store.of(unmarked("unused"))
	for n := range 1000 {
		store.of(unmarked("used"))
		store.of(unmarked(strconv.Itoa(n)))
		if size := store.results.Size(); size > 10*entrySize {
			t.Fatalf("the texts have %d bytes", size)
		}
	}
	store.of(unmarked("unused"))
	if renders["used"] != 1 || renders["unused"] != 2 {
		t.Errorf("rendered %d and %d times, want 1 and 2", renders["used"], renders["unused"])
	}
}

func TestManyGoroutinesMayRenderTexts(t *testing.T) {
	store := newRendered(catalog.Rich.HTML, 10*entrySize)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := range 200 {
				if text := unmarked(strconv.Itoa(n % 20)); store.of(text) != text.HTML() {
					t.Errorf("%s: %s", text.Text, store.of(text))
				}
			}
		})
	}
	group.Wait()
}
