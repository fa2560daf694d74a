package catalog

import (
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// TestTheStatesByHandThatCountAreBounded sets one more state that counts than a component may have, and one that does not
// count.
func TestTheStatesByHandThatCountAreBounded(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	component := Component{CreatedAt: now}
	set := func(status Impact, counts bool) error {
		former := component.Override
		component.Override = &Override{Status: status, CountInUptime: counts}
		err := component.settleOverride(former, Author{}, now)
		now = now.Add(time.Minute)
		return err
	}
	for i := range maxOverrideSpans {
		if err := set([]Impact{Degraded, MajorOutage}[i%2], true); err != nil {
			t.Fatalf("state %d: %v", i, err)
		}
	}
	if err := set(PartialOutage, true); !fault.Is(err, fault.Conflict) {
		t.Errorf("one more: %v", err)
	}
	if err := set(PartialOutage, false); err != nil {
		t.Errorf("one that does not count: %v", err)
	}
	spans := component.CountedOverrides()
	if len(spans) != maxOverrideSpans {
		t.Fatalf("%d spans", len(spans))
	}
	for i, s := range spans {
		if i > 0 && !s.From.Equal(spans[i-1].To) || !s.From.Before(s.To) {
			t.Errorf("span %d is %v", i, s)
		}
	}
}

// TestAnOverrideThatIsOverCountsUntilItsEnd ends an override after its time, as a late scheduler does.
func TestAnOverrideThatIsOverCountsUntilItsEnd(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	until := now.Add(time.Hour)
	component := Component{Override: &Override{Status: MajorOutage, CountInUptime: true, Until: &until, Since: now}}
	if component.OverrideAt(until.Add(-1)) == nil || component.OverrideAt(until) != nil {
		t.Error("it does not end at its time")
	}
	former := component.Override
	component.Override = &Override{Status: MajorOutage}
	if err := component.settleOverride(former, Author{}, until.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if !component.Override.Since.Equal(until.Add(time.Hour)) || len(component.OverrideSpans) != 1 || !component.OverrideSpans[0].To.Equal(until) {
		t.Errorf("the next one is %+v after %+v", component.Override, component.OverrideSpans)
	}
}
