package edition

import (
	"slices"
	"testing"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// TestKeptRows checks that a page loads only components that were written or have no row.
func TestKeptRows(t *testing.T) {
	page := PublishedPage{Rows: []ListedComponent{{ComponentID: "a"}, {ComponentID: "b"}, {ComponentID: "c"}}}
	rows, stale := page.kept([]string{"a", "b", "d"}, []catalog.Written{{Component: "b"}, {Component: "x"}})
	if !slices.Equal(rows, []ListedComponent{{ComponentID: "a"}}) || !slices.Equal(stale, []string{"b", "d"}) {
		t.Errorf("kept %v, stale %v", rows, stale)
	}
}
