package edition

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// TestAMovedEndChangesTheDaysBetweenTheEnds checks that a moved end changes only the days between the two ends.
func TestAMovedEndChangesTheDaysBetweenTheEnds(t *testing.T) {
	span := func(component string, from, to int) Span {
		return Span{component, at(from, 0), at(to, 0), catalog.MajorOutage}
	}
	former, now := []Span{span("a", 1, 9), span("b", 1, 2)}, []Span{span("a", 1, 4), span("c", 1, 2)}
	if got := missing(former, now); len(got) != 2 || got[0] != span("a", 4, 9) || got[1] != span("b", 1, 2) {
		t.Errorf("the former has %+v", got)
	}
	if got := missing(now, former); len(got) != 1 || got[0] != span("c", 1, 2) {
		t.Errorf("the new has %+v", got)
	}
}
