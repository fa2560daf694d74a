package audience

import (
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/phone"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestAddressesAreComparedInOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"Ann@Example.COM":           "ann@example.com",
		"ann@BÜCHER.example":        "ann@xn--bcher-kva.example",
		"ann@xn--bcher-kva.example": "ann@xn--bcher-kva.example",
		"ann@XN--BCHER-KVA.example": "ann@xn--bcher-kva.example",
		"E\u0301@example.com":       "é@example.com",
		"ann@xn--zzzzzzzz.example":  "",
		"ann@a\u200db.example":      "",
	} {
		if got, ok := normalEmail(text); got != want || ok != (want != "") {
			t.Errorf("%q is compared as %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"+49 151 1234-5678":                       "+4915112345678",
		"+49 (0151) 12345678":                     "+4915112345678",
		"+1 (415) 555-2671":                       "+14155552671",
		"+4915112345678":                          "+4915112345678",
		"+12345678":                               "", // a local number without its area
		"+999123456789":                           "", // no country
		"+4912":                                   "",
		"004915112345678":                         "",
		"015112345678":                            "",
		"+1 800 FLOWERS":                          "",
		"+49151\u200b12345678":                    "",
		"+49 151 12345678 ext 9":                  "",
		"+٤٩١٥١١٢٣٤٥٦٧٨":                          "",
		"+49151123456789012345678901234567890123": "",
	} {
		if got, ok := phone.Possible(text); got != want || ok != (want != "") {
			t.Errorf("%q is stored as %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"+49015112345678": "+4915112345678", "+12345678": "+12345678", "+123456789012345": "+123456789012345", "+49 15112345678": "",
	} {
		if got, ok := normalNumber(text); got != want || ok != (want != "") {
			t.Errorf("%q of the legacy interface is compared as %q", text, got)
		}
	}
}

func TestLocalesAreBCP47(t *testing.T) {
	for text, want := range map[string]string{"": "", "de": "de", "DE-at": "de-AT", "zh-hant-tw": "zh-Hant-TW", "pt_BR": "pt-BR"} {
		if got, err := canonicalLocale(text); got != want || err != nil {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"?", "not a language", "qq-", "de-" + "aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeeeeeee"} {
		if got, err := canonicalLocale(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// A confirmation adds what it is about; the old ones go on.
func TestAConfirmationIsAboutItsRequest(t *testing.T) {
	now := time.Now()
	subscriber := func(components ...string) Subscriber {
		s := Subscriber{Channel: topic.Email, Entries: newEntries(components, 1, true, now)}
		s.Request = &Request{Nonce: "n"}
		return s
	}
	one := subscriber("a", "b")
	one.Entries[1].confirm(false, now)
	if one.fulfil(now); !one.Confirmed() || one.Request != nil || one.ConfirmedAt() == nil {
		t.Errorf("%+v", one)
	}
	more := subscriber("a", "b")
	more.Request.Entries = newEntries([]string{"b", "c"}, 3, false, now)
	if more.fulfil(now); len(more.Entries) != 3 || !more.Confirmed() || more.Entries[2].LegacyID != 4 {
		t.Errorf("%+v", more)
	}
	all := subscriber("a", "b")
	all.Request.Entries = newEntries(nil, 0, false, now)
	if all.fulfil(now); !all.All() || !all.Confirmed() {
		t.Errorf("%+v", all)
	}
	fewer := subscriber()
	fewer.Entries = newEntries(nil, 0, true, now)
	fewer.Request.Entries = newEntries([]string{"a"}, 1, false, now)
	if fewer.fulfil(now); !fewer.All() {
		t.Errorf("%+v", fewer)
	}
}

// A record without the time of its confirmation can be read, and a panic on one record does not end the process.
func TestARecordWithoutATimeOfConfirmationCanBeRead(t *testing.T) {
	s := Subscriber{Channel: topic.Email, Entries: []Entry{{Confirmed: true}}}
	if s.ConfirmedAt() != nil {
		t.Errorf("confirmed at %v", s.ConfirmedAt())
	}
	at := time.Now()
	if s.Entries = append(s.Entries, Entry{ComponentID: "a", Confirmed: true, ConfirmedAt: &at}); s.ConfirmedAt() == nil || !s.ConfirmedAt().Equal(at) {
		t.Errorf("confirmed at %v, not %v", s.ConfirmedAt(), at)
	}
	if err := together([]int{1, 2}, func(int) error { panic("broken record") }); err == nil {
		t.Error("a panic is no error")
	}
}
