package site

import (
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

func TestDatesFollowTheLanguageAndTheZone(t *testing.T) {
	at := time.Date(2026, 7, 1, 22, 5, 0, 0, time.UTC)
	for _, one := range []struct{ lang, zone, time, day, month string }{
		{"en", "Europe/Berlin", "Jul 2, 2026, 00:05 CEST", "July 2, 2026", "July 2026"},
		{"de", "Europe/Berlin", "2. Juli 2026, 00:05 CEST", "2. Juli 2026", "Juli 2026"},
		{"pl", "America/Sao_Paulo", "1 lip 2026, 19:05 UTC\u22123", "1 lipca 2026", "Lipiec 2026"},
		{"pt", "Asia/Kathmandu", "2 de jul. de 2026, 03:50 UTC+5:45", "2 de julho de 2026", "Julho de 2026"},
		{"ja", "Asia/Tokyo", "2026年7月2日 07:05 JST", "2026年7月2日", "2026年7月"},
		{"fr", "no/where", "1 juil. 2026, 22:05 UTC", "1 juillet 2026", "Juillet 2026"},
	} {
		d := newDates(t, one.lang, one.zone)
		if got := d.moment(at).Text; got != one.time {
			t.Errorf("%s: the time is %q, want %q", one.lang, got, one.time)
		}
		if got := d.title(d.dayOf(at)).Text; got != one.day {
			t.Errorf("%s: the day is %q, want %q", one.lang, got, one.day)
		}
		if got := d.monthTitle("2026-07"); got != one.month {
			t.Errorf("%s: the month is %q, want %q", one.lang, got, one.month)
		}
	}
}

func TestNumbersFollowTheLocale(t *testing.T) {
	s := newSite(t)
	for _, one := range []struct {
		lang     string
		value    float64
		decimals int
		want     string
	}{
		{"en", 100, 2, "100.00%"}, {"en", 99.999999, 3, "99.999%"}, {"en", 99.98, 2, "99.98%"}, {"en", 99.996, 2, "99.99%"}, {"en", 99.9, 0, "99%"},
		{"de", 99.5, 1, "99,5\u00a0%"}, {"fr", 99.5, 1, "99,5\u202f%"}, {"pl", 0, 0, "0%"},
	} {
		if got := s.words[one.lang].percent(one.value, one.decimals); got != one.want {
			t.Errorf("%s: %v with %d decimals is %q, want %q", one.lang, one.value, one.decimals, got, one.want)
		}
	}
	for _, one := range []struct {
		lang string
		of   time.Duration
		want string
	}{
		{"en", 30 * time.Second, "less than a minute"},
		{"en", time.Minute, "1\u00a0min"},
		{"en", 95 * time.Minute, "1\u00a0h 35\u00a0min"},
		{"en", 2 * time.Hour, "2\u00a0h"},
		{"en", 49*time.Hour + 5*time.Minute, "2\u00a0days 1\u00a0h"},
		{"de", 24*time.Hour + 5*time.Minute, "1\u00a0Tag 5\u00a0Min."},
		{"pl", 5 * 24 * time.Hour, "5\u00a0dni"},
	} {
		if got := s.words[one.lang].duration(one.of); got != one.want {
			t.Errorf("%s: %v is %q, want %q", one.lang, one.of, got, one.want)
		}
	}
}

func newDates(t *testing.T, lang, zone string) dates {
	t.Helper()
	dashboard := catalog.Dashboard{Timezone: zone}
	return dates{newSite(t).words[lang], dashboard.Zone()}
}
