package channel

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

func TestSeptetsAreCountedByTheDefaultAlphabet(t *testing.T) {
	for text, want := range map[string]int{ // -1: not in the alphabet
		"":      0,
		"Hello": 5,
		"@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !": 34 - 1,
		"¡ÄÖÑÜ§¿äöñüà":                        12,
		"^{}\\[~]|€\f":                        20,
		"10 €":                                5,
		"[API] down":                          12,
		strings.Repeat("a", 160):              160,
		strings.Repeat("a", 159) + "€":        161,
		"ç":                                   -1, // only its capital is in the alphabet
		"á":                                   -1,
		"`":                                   -1,
		"\t":                                  -1,
		"\u00a0":                              -1,
		"…":                                   -1,
		"Привет":                              -1,
		"🚨":                                   -1,
	} {
		n, ok := septets(text)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%.40q: %d %v, want %d", text, n, ok, want)
		}
	}
	if n := utf8.RuneCountInString(gsmBasic) + 1; n != 128 { // and the escape
		t.Errorf("the alphabet has %d characters", n)
	}
	if n := utf8.RuneCountInString(gsmExtension); n != 10 {
		t.Errorf("the extension has %d characters", n)
	}
}

func TestSpareIsTheRestOfOneSegment(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("a", 160):      0,
		strings.Repeat("a", 161):      -1,
		strings.Repeat("€", 80):       0,
		strings.Repeat("я", 70):       0,
		strings.Repeat("я", 71):       -1,
		strings.Repeat("🚨", 35):       0,  // two units each
		strings.Repeat("a", 71) + "🚨": -3, // one character makes all of it UCS-2
	} {
		n, single, _ := length(text)
		if got := single - n; got != want {
			t.Errorf("%.20q: %d, want %d", text, got, want)
		}
	}
}

func TestTypographicCharactersAreReplacedInTexts(t *testing.T) {
	for text, want := range map[string]string{
		"“It’s down” – again…":    `"It's down" - again...`,
		"a\u00a0b\tc\r\n d\u2009": "a b c d",
		"«Zürich»\u200b — §5":     `"Zürich" - §5`,
		"🚨 Привет":                "🚨 Привет",
		"a\x00b\x1b \u0085\x7fc":  "ab c",
		"  ":                      "",
		"Gru\u0308\u00dfe":        "Grüße", // decomposed, as from a Mac
		"Büro™ №5 ½ ﬁx":           "BüroTM No5 1/2 fix",
		"שלום\u200f":              "שלום\u200f",
		"a\u202eb\u2067c":         "abc",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// incident returns a message about an incident.
func incident(id, title string, dashboard topic.Dashboard) dispatch.Message {
	change := topic.EventChange{Event: topic.Event{ID: id, Type: "incident", Status: "investigating", Title: title}}
	return dispatch.Message{Change: &dispatch.Snapshot{EventChange: change}, To: &topic.Destination{Dashboard: dashboard}}
}

func TestADefaultTextFitsOneSegment(t *testing.T) {
	const link = "https://status.example.com/events/0190a000-0000-7000-8000-000000000001"
	board := topic.Dashboard{Name: "Acme", URL: "https://status.example.com"}
	for name, c := range map[string]struct {
		title     string
		dashboard topic.Dashboard
		want      string
	}{
		"whole":            {"Logins fail", board, "Acme: incident investigating: Logins fail " + link},
		"typographic":      {"“Logins” fail…", board, `Acme: incident investigating: "Logins" fail... ` + link},
		"no dashboard":     {"Logins fail", topic.Dashboard{}, "incident investigating: Logins fail"},
		"long title":       {strings.Repeat("Logins fail ", 20), board, "Acme: incident investigating: Logins fail Logins fail Logins fail Logins fail Logins f... " + link},
		"long name":        {"Logins fail", topic.Dashboard{Name: strings.Repeat("Acme ", 20), URL: board.URL}, "incident investigating: Logins fail " + link},
		"long link":        {"Logins fail", topic.Dashboard{Name: "Acme", URL: "https://" + strings.Repeat("x", 120)}, "Acme: incident investigating: Logins fail"},
		"UCS-2":            {"Вход не работает", board, "Acme: incident investigating: Вход не работает"},
		"UCS-2, long":      {strings.Repeat("я", 100), board, "Acme: incident investigating: " + strings.Repeat("я", 37) + "..."},
		"marks stay whole": {strings.Repeat("x\u0301", 40), topic.Dashboard{}, "incident investigating: " + strings.Repeat("x\u0301", 21) + "..."},
		"umlauts":          {"Störung der Anmeldung: Größe", board, "Acme: incident investigating: Störung der Anmeldung: Größe " + link},
		"extension":        {"{~} " + strings.Repeat("€", 40), board, "Acme: incident investigating: {~} " + strings.Repeat("€", 24) + "... " + link},
		"right to left":    {strings.Repeat("תקלה ", 20), board, "Acme: incident investigating: " + strings.Repeat("תקלה ", 7) + "תק..."},
		"flags stay whole": {strings.Repeat("🇩🇪", 20), topic.Dashboard{}, "incident investigating: " + strings.Repeat("🇩🇪", 10) + "..."},
		"pairs stay whole": {strings.Repeat("🚨", 40), topic.Dashboard{}, "incident investigating: " + strings.Repeat("🚨", 21) + "..."},
	} {
		got := textTo(t, incident("0190a000-0000-7000-8000-000000000001", c.title, c.dashboard))
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if !fits(got, 1) {
			t.Errorf("%s: %q takes more than a segment", name, got)
		}
	}
}

// The publisher's text is never cut. Its lines stay.
func TestAPublishersTextIsNeverCut(t *testing.T) {
	for text, want := range map[string]struct {
		text     string
		segments int
	}{
		"API is down – sorry":      {"API is down - sorry", 1},
		"API is down.\r\n\n Sorry": {"API is down.\nSorry", 1},
		strings.Repeat("ä", 85):    {strings.Repeat("ä", 85), 1},
		strings.Repeat("€", 85):    {strings.Repeat("€", 85), 2}, // two septets each
		strings.Repeat("я", 70):    {strings.Repeat("я", 70), 1},
		strings.Repeat("я", 71):    {strings.Repeat("я", 71), 2},
		strings.Repeat("я", 85):    {strings.Repeat("я", 85), 2},
		strings.Repeat("🚨", 85):    {strings.Repeat("🚨", 85), 3}, // a surrogate pair each
	} {
		change := topic.EventChange{Kind: topic.IncidentCreated, Notify: topic.Notify{topic.SMS: {Text: text}}}
		got := textTo(t, dispatch.Message{Change: &dispatch.Snapshot{EventChange: change}, To: &topic.Destination{}})
		if got != want.text || !fits(got, want.segments) || want.segments > 1 && fits(got, want.segments-1) {
			t.Errorf("%q became %q, want %q in %d segments", text, got, want.text, want.segments)
		}
	}
}

// A confirmation always has the link and the code, also if it must omit its other words.
func TestAConfirmationTextAlwaysHasTheLinkAndTheCode(t *testing.T) {
	const link = "https://status.example.com/public/confirm?token="
	for name, c := range map[string]struct {
		dashboard, token string
		segments         int
		want             string
	}{
		"whole":      {"Zürich", "abc", 1, "Zürich: Confirm with the code 012345 or " + link + "abc"},
		"nameless":   {"", "abc", 1, "Confirm with the code 012345 or " + link + "abc"},
		"long name":  {strings.Repeat("Acme ", 20), "abc", 1, strings.Repeat("Acme ", 14) + "Ac...: Confirm with the code 012345 or " + link + "abc"},
		"long link":  {"Acme", strings.Repeat("a", 90), 2, "Acme: Confirm with the code 012345 or " + link + strings.Repeat("a", 90)},
		"other name": {"Статус", "abc", 1, "Confirm with the code 012345 or " + link + "abc"},
		"no room":    {"Acme", strings.Repeat("a", 150), 2, "Acme: Confirm with the code 012345 or " + link + strings.Repeat("a", 150)},
		"endless":    {"Acme", strings.Repeat("a", 450), 4, link + strings.Repeat("a", 450) + " 012345"},
	} {
		got := textTo(t, dispatch.Message{
			Change: &dispatch.Snapshot{EventChange: topic.EventChange{Kind: topic.SubscriberConfirm}, Notice: new(topic.Notice)},
			To:     &topic.Destination{Dashboard: topic.Dashboard{Name: c.dashboard}, Link: link + c.token, Code: "012345"},
		})
		if got != c.want || !fits(got, c.segments) || c.segments > 1 && fits(got, c.segments-1) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzDefaultText(f *testing.F) {
	f.Add("Logins fail", "Acme", "https://status.example.com")
	f.Add(strings.Repeat("👩‍👩‍👧", 30), "Zürich", "")
	f.Add(strings.Repeat("€", 90), strings.Repeat("€", 90), "https://x")
	f.Fuzz(func(t *testing.T, title, name, link string) {
		got := textTo(t, incident("1", title, topic.Dashboard{Name: name, URL: link}))
		if !fits(got, 1) || !strings.Contains(got, "incident investigating") {
			t.Errorf("%q", got)
		}
	})
}
