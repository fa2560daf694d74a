package legacy_test

import (
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
)

func TestFormatTimeIsUTCWithAFractionOnlyWhenThereIsOne(t *testing.T) {
	east := time.FixedZone("east", 2*3600)
	for want, in := range map[string]time.Time{
		"2026-01-02T03:04:05":        time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		"2026-01-02T01:04:05":        time.Date(2026, 1, 2, 3, 4, 5, 999, east),
		"2026-01-02T03:04:05.000001": time.Date(2026, 1, 2, 3, 4, 5, 1999, time.UTC),
		"2026-01-02T03:04:05.678000": time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
	} {
		if got := legacy.FormatTime(in); got != want {
			t.Errorf("%v: %s, not %s", in, got, want)
		}
	}
	if legacy.TimeOf(nil) != nil {
		t.Error("no time is not shown as null")
	}
}

func FuzzTime(f *testing.F) {
	for _, seed := range []string{
		"2026-01-02T03:04:05", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.123456789123", "0000-01-01T00:00:00",
		"2024-02-29T23:59:59.999999", "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05,5", "2026-02-30T03:04:05", "", "Z", ".", "now",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, ok := legacy.ParseTime(text)
		if !ok {
			return
		}
		if parsed.Location() != time.UTC || !parsed.Equal(parsed.Truncate(time.Millisecond)) {
			t.Fatalf("%q: %v is not UTC in milliseconds", text, parsed)
		}
		again, ok := legacy.ParseTime(legacy.FormatTime(parsed))
		if !ok || !again.Equal(parsed) {
			t.Fatalf("%q: %v comes back as %v", text, parsed, again)
		}
	})
}
