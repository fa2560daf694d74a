package locale

import (
	"bytes"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// opened returns the locales with an operator's files.
func opened(t *testing.T, own fstest.MapFS) *Locales {
	t.Helper()
	locales, err := open(own, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return locales
}

func TestAMessageHasTheFirstLocaleThatExists(t *testing.T) {
	locales := opened(t, fstest.MapFS{
		"locales/de-AT.json": {Data: []byte(`{"month.1": "Jänner"}`)},
		"locales/fr.json":    {Data: []byte(`{"field.status": "État"}`)},
	})
	for _, c := range []struct{ subscriber, dashboard, want string }{
		{"", "", "en"}, {"de", "", "de"}, {"de", "en", "de"}, {"", "de", "de"}, {"en-US", "de", "en"}, {"de-CH", "en", "de"}, {"de-AT", "en", "de-AT"},
		{"DE", "", "de"}, {"de_AT", "", "de-AT"}, {"ja", "de", "de"}, {"ja", "zh", "en"}, {"not a tag", "de", "de"}, {"fr-CA", "de", "fr"}, {"und", "de", "de"},
		{"zh-Hant-TW", "", "en"}, {strings.Repeat("x", 1000), "de", "de"},
	} {
		if got := locales.For(c.subscriber, c.dashboard).Tag; got != c.want {
			t.Errorf("%q, %q: %s, want %s", c.subscriber, c.dashboard, got, c.want)
		}
	}
	austria := locales.For("de-AT")
	for key, want := range map[string]string{"month.1": "Jänner", "month.2": "Februar"} {
		if got := austria.Word(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if got := locales.For("fr").Word("field.status") + locales.For("fr").Word("field.end"); got != "ÉtatEnd" {
		t.Errorf("a word that fr lacks: %q", got)
	}
}

// Times have the words of the locale, and the short name of the zone at that time.
func TestTimesHaveTheWordsOfTheLocaleAndTheNameOfTheZone(t *testing.T) {
	locales := opened(t, nil)
	for _, c := range []struct{ tag, zone, at, want, short string }{
		{"en", "", "2026-03-04T05:06:00Z", "4 March 2026, 05:06 UTC", "2026-03-04 05:06 UTC"},
		{"en", "Europe/Berlin", "2026-03-29T00:59:00Z", "29 March 2026, 01:59 CET", "2026-03-29 01:59 CET"},
		{"en", "Europe/Berlin", "2026-03-29T01:00:00Z", "29 March 2026, 03:00 CEST", "2026-03-29 03:00 CEST"},
		{"de", "Europe/Berlin", "2026-03-29T01:00:00Z", "29. März 2026, 03:00 CEST", "29.03.2026 03:00 CEST"},
		{"de", "Europe/Berlin", "2026-10-25T00:30:00Z", "25. Oktober 2026, 02:30 CEST", "25.10.2026 02:30 CEST"},
		{"de", "Europe/Berlin", "2026-10-25T01:30:00Z", "25. Oktober 2026, 02:30 CET", "25.10.2026 02:30 CET"},
		{"de", "Europe/Berlin", "2025-12-31T23:30:00Z", "1. Januar 2026, 00:30 CET", "01.01.2026 00:30 CET"},
		{"en", "America/New_York", "2026-07-01T12:00:00Z", "1 July 2026, 08:00 EDT", "2026-07-01 08:00 EDT"},
		{"en", "Europe/Istanbul", "2026-07-01T12:00:00Z", "1 July 2026, 15:00 +03", "2026-07-01 15:00 +03"},
		{"en", "Asia/Kathmandu", "2026-07-01T12:00:00Z", "1 July 2026, 17:45 +0545", "2026-07-01 17:45 +0545"},
		{"en", "Nowhere/At_All", "2026-05-01T12:00:00Z", "1 May 2026, 12:00 UTC", "2026-05-01 12:00 UTC"},
		{"en", "Local", "2026-05-01T12:00:00Z", "1 May 2026, 12:00 UTC", "2026-05-01 12:00 UTC"},
		{"en", "../../etc/passwd", "2026-05-01T12:00:00Z", "1 May 2026, 12:00 UTC", "2026-05-01 12:00 UTC"},
		{"de", "", "2026-05-01T12:00:00Z", "1. Mai 2026, 12:00 UTC", "01.05.2026 12:00 UTC"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		l := locales.For(c.tag)
		if got, short := l.Time(&at, c.zone), l.ShortTime(&at, c.zone); got != c.want || short != c.short {
			t.Errorf("%+v: %q and %q", c, got, short)
		}
	}
	if l := locales.For("en"); l.Time(nil, "") != "" || l.Time(&time.Time{}, "") != "" {
		t.Error("no time has words")
	}
}

// A value cannot add a placeholder. An unknown name stays readable.
func TestAValueCannotAddAPlaceholder(t *testing.T) {
	l := opened(t, nil).For("en")
	if got := l.Word("event.headline", "status", "{title}", "title", "{status} {x}"); got != "{title}: {status} {x}" {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]string{"inprogress": "In progress", "some_new-status": "Some new status", "": "", "a\r\nb": "A b"} {
		if got := l.Name("status", name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// All files of an operator take effect: a template for every locale, one for a single locale, and words.
func TestAllFilesOfAnOperatorTakeEffect(t *testing.T) {
	locales := opened(t, fstest.MapFS{
		"mail_subject.txt":       {Data: []byte(`{{t "field.status"}} {{locale}} {{.Title}}`)},
		"de/mail_subject.txt":    {Data: []byte(`Deutsch {{.Title}} {{t "field.end"}}`)},
		"sms.txt":                {Data: []byte("{{.Title}}\n")},
		"locales/de.json":        {Data: []byte(`{"field.end": "Schluss"}`)},
		"locales/fr.json":        {Data: []byte(`{"field.status": "État"}`)},
		"fr/notice_subject.txt":  {Data: []byte(`{{.Title}}!`)},
		".hidden/mail.html":      {Data: []byte(`{{`)},
		".DS_Store":              {Data: []byte(`x`)},
		"locales/.fr.json.swp":   {Data: []byte(`x`)},
		"de/..data/anything.txt": {Data: []byte(`x`)},
		"README.md":              {Data: []byte(`x`)},
		"de/Notes.MD":            {Data: []byte("\xff")},
	})
	for _, c := range []struct {
		tag  string
		name Template
		page any
		want string
	}{
		{"en", MailSubject, Event{Title: "A"}, "Status en A"},
		{"fr", MailSubject, Event{Title: "A"}, "État fr A"},
		{"de", MailSubject, Event{Title: "A"}, "Deutsch A Schluss"},
		{"de-AT", MailSubject, Event{Title: "A"}, "Deutsch A Schluss"},
		{"fr", NoticeSubject, Notice{Title: "A"}, "A!"},
		{"de", NoticeSubject, Notice{Title: "A"}, "A"},
		{"de", SMS, Text{Title: "A"}, "A\n"},
		{"de", WhatsApp, Text{Title: "A", Status: "B"}, "B: A"},
	} {
		if got, err := locales.For(c.tag).Execute(t.Context(), c.name, c.page); err != nil || got != c.want {
			t.Errorf("%s %s: %q (%v), want %q", c.tag, c.name, got, err, c.want)
		}
	}
}

// Each mistake of an operator is an error of one line that names the file, and its line if there is one.
func TestAMistakeOfAnOperatorIsAnErrorOfOneLine(t *testing.T) {
	mail := func(text string) string { return text + "{{.Unsubscribe}}" }
	for want, file := range map[string][2]string{
		`mail.htm: no template has this name; the templates are mail_subject.txt, mail.txt, `: {"mail.htm", "x"},
		`de/letter.txt: no template has this name`:                                            {"de/letter.txt", "x"},
		`fr/mail.txt: there is no locale "fr"; add its words as locales/fr.json`:              {"fr/mail.txt", mail("x")},
		`de/more: must be a file`:                                                             {"de/more/mail.txt", "x"},
		`mail.txt:3: unexpected "{" in operand`:                                               {"mail.txt", mail("a\n{{.Title\n")},
		`mail.txt:3: unexpected EOF`:                                                          {"mail.txt", "a\n{{if .Title}}{{.Unsubscribe}}\n"},
		`mail.txt:1: function "upper" not defined`:                                            {"mail.txt", mail("{{upper .Title}}")},
		`mail.html:2:2: executing "mail.html" at <.Titel>: can't evaluate field Titel`:        {"mail.html", mail("\n{{.Titel}}")},
		`de/mail.html:1:2: executing "de/mail.html" at <.Titel>: can't evaluate field Titel`:  {"de/mail.html", mail("{{.Titel}}")},
		`mail.txt:1:44: executing "mail.txt" at <.Titel>`:                                     {"mail.txt", mail(`{{if eq .Kind "maintenance.reminder"}}    {{.Titel}}{{end}}`)},
		`mail.txt:1:23: executing "mail.txt" at <.Titel>`:                                     {"mail.txt", mail(`{{range .Components}}{{.Titel}}{{end}}`)},
		`mail.txt:2:2: the key "mail.foot" is unknown`:                                        {"mail.txt", mail("\n{{t \"mail.foot\"}}")},
		`mail.txt:1:23: the key "mail.foot" is unknown`:                                       {"mail.txt", mail(`{{define "x"}}{{if or (t "mail.foot") false}}{{end}}{{end}}`)},
		`mail.txt:1:2: the key "of.dashboard" needs a value for {dashboard}`:                  {"mail.txt", mail(`{{t "of.dashboard"}}`)},
		`mail.txt:1:2: the key of t must be in quotes`:                                        {"mail.txt", mail(`{{t .Title}}`)},
		`mail.txt:1:2: t needs a key`:                                                         {"mail.txt", mail(`{{t "of.dashboard" "dashboard"}}`)},
		`mail.txt:1:2: the name of a placeholder must be in quotes`:                           {"mail.txt", mail(`{{t "of.dashboard" .Title "x"}}`)},
		`mail.txt:1:10: executing "mail.txt" at <index .Components 0>: error calling index`:   {"mail.txt", mail(`{{printf (index .Components 0).Name}}`)},
		`mail.txt: the output for incident.created must contain {{.Unsubscribe}}`:             {"mail.txt", "{{.Title}}"},
		`mail.html: the output for maintenance.reminder must contain {{.Unsubscribe}}`:        {"mail.html", `x{{if ne .Kind "maintenance.reminder"}}{{.Unsubscribe}}{{end}}`},
		`mail.html: the output for incident.created must contain {{.Unsubscribe}} `:           {"mail.html", `<a href="https://x.test/?to={{.Unsubscribe}}">x</a>`},
		`mail_subject.txt: the output for incident.created must not be empty`:                 {"mail_subject.txt", "\n"},
		`mail_subject.txt: the output for maintenance.scheduled must not be empty`:            {"mail_subject.txt", "{{if eq .Kind `maintenance.scheduled`}}\u200b\x01{{else}}x{{end}}"},
		`mail_subject.txt: the output for incident.created must be one line`:                  {"mail_subject.txt", "{{.Status}}\n{{.Title}}\n"},
		`notice_subject.txt: the output for endpoint.verify must be one line`:                 {"notice_subject.txt", "{{.Title}}\r\n.\n"},
		`mail.html: the output for incident.created must not be empty`:                        {"mail.html", `<p title="x"><!-- a > b -->&nbsp;<a href="{{.Unsubscribe}}"></a></p>`},
		`sms.txt:2: must be UTF-8`:                                                            {"sms.txt", "{{.Title}}\n\xe9\n"},
		`locales/de.json:1: must be UTF-8`:                                                    {"locales/de.json", "{\"field.end\": \"\xff\"}"},
		`notice.html: the output for endpoint.verify must contain {{.Link}}`:                  {"notice.html", "x"},
		`confirm.txt: the output for subscriber.confirm must contain {{.Link}}`:               {"confirm.txt", "x"},
		`sms_confirm.txt: the output for subscriber.confirm must contain {{.Link}}`:           {"sms_confirm.txt", "{{.Code}}."},
		`sms_manage.txt: the output for subscriber.manage must contain {{.Link}}`:             {"sms_manage.txt", "{{.Of}}."},
		`mail.html: ends in a non-text context`:                                               {"mail.html", `{{.Unsubscribe}}<a href='{{if .URL}}"{{end}}>`},
		`sms.txt:1:2: executing "sms.txt" at <.Unsubscribe>`:                                  {"sms.txt", "{{.Unsubscribe}}"},
		`mail.txt: must have at most 262144 bytes`:                                            {"mail.txt", strings.Repeat("x", maxFile+1)},
		`locales/french.txt: the name must be a BCP 47 tag and .json`:                         {"locales/french.txt", "{}"},
		`locales/x_y_z.json: the name must be a BCP 47 tag`:                                   {"locales/x_y_z.json", "{}"},
		`locales/DE.json: the name must be a BCP 47 tag`:                                      {"locales/DE.json", "{}"},
		`locales/de.json:3: the key "field.stauts" is unknown`:                                {"locales/de.json", "{\n\"field.end\": \"x\",\n\"field.stauts\": \"x\"}"},
		`locales/de.json:2: the text of "field.end" must not be empty`:                        {"locales/de.json", "{\n\"field.end\": \" \"}"},
		`locales/de.json:1: the text of "field.end" must be one line`:                         {"locales/de.json", `{"field.end": "a\nb"}`},
		`locales/de.json:1: the text of "event.headline" has the unknown placeholder {titel}`: {"locales/de.json", `{"event.headline": "{titel}"}`},
		`locales/de.json:2: the key "field.end" is there twice`:                               {"locales/de.json", "{\"field.end\": \"x\",\n\"field.end\": \"x\"}"},
		`locales/de.json:2: must be one JSON object with texts, without 3`:                    {"locales/de.json", "{\n\"field.end\": 3}"},
		`locales/de.json:1: must be one JSON object with texts, without {`:                    {"locales/de.json", `{"field": {"end": "x"}}`},
		`locales/de.json:1: must be a JSON object`:                                            {"locales/de.json", `[]`},
		`locales/de.json:2: the JSON object has no end`:                                       {"locales/de.json", "{\"field.end\":\n"},
		`locales/de.json:1: the JSON object has no end`:                                       {"locales/de.json", `{"field.end": "x"`},
		`locales/de.json:1: must end after the JSON object`:                                   {"locales/de.json", "{} {}"},
		`locales/de.json:2: invalid character '}'`:                                            {"locales/de.json", "{\"field.end\": \"x\",\n}"},
	} {
		_, err := open(fstest.MapFS{file[0]: {Data: []byte(file[1])}}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), strings.TrimSpace(want)) || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%s:\n got %v\nwant %s", file[0], err, want)
		}
	}
}

// The shipped templates pass the checks of an operator's.
func TestTheShippedTemplatesPassTheChecksOfAnOperators(t *testing.T) {
	shipped, err := readShipped()
	if err != nil {
		t.Fatal(err)
	}
	own := fstest.MapFS{}
	for file, text := range shipped.templates {
		own[file] = &fstest.MapFile{Data: []byte(text)}
	}
	opened(t, own)
}

// A folder that cannot be read stops the start.
func TestAFolderThatCannotBeReadIsAnError(t *testing.T) {
	if _, err := Open("/nowhere", slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), "/nowhere: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// A template that fails only with the data of a message is logged, and the shipped one is used.
func TestTheShippedTemplateIsUsedIfAnOperatorsFails(t *testing.T) {
	var logged bytes.Buffer
	locales, err := open(fstest.MapFS{"sms.txt": {Data: []byte(`{{if eq .Title "bad"}}{{index .Title 99}}{{end}}own {{.Title}}`)}}, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l := locales.For("en")
	for title, want := range map[string]string{"good": "own good", "bad": "Resolved: bad"} {
		if got, err := l.Execute(t.Context(), SMS, Text{Status: "Resolved", Title: title}); err != nil || got != want {
			t.Errorf("%s: %q (%v)", title, got, err)
		}
	}
	if !strings.Contains(logged.String(), "sms.txt:1:") {
		t.Errorf("the log is %s", &logged)
	}
}

// The start logs that an operator's locale lacks words.
func TestAnOperatorsLocaleThatLacksWordsIsLogged(t *testing.T) {
	var logged bytes.Buffer
	if _, err := open(fstest.MapFS{"locales/fr.json": {Data: []byte(`{"field.status": "État"}`)}}, slog.New(slog.NewTextHandler(&logged, nil))); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(logged.String(), "locale=fr") || strings.Count(logged.String(), "\n") != 1 {
		t.Errorf("the log is %s", &logged)
	}
}

// The samples have every field of their page, so that a template which uses one is executed with a value. They also lack
// every field that a message may lack.
func TestTheSamplesHaveEveryFieldAndLackEveryOptionalOne(t *testing.T) {
	always := map[string][]string{
		"Event": {"Kind", "Type", "Title", "Headline", "Status", "Unsubscribe"}, "Notice": {"Kind", "Title", "Lead", "Footer"},
		"Member": {"Kind", "Organization", "Title", "Lead", "Next"}, "Confirmation": {"Of", "Link", "Until"}, "Text": {"Kind", "Status", "Title"},
	}
	for _, name := range Templates() {
		given, lacking := make(map[string]bool), make(map[string]bool)
		all := samples(name)
		page := reflect.TypeOf(all[0].page)
		for _, s := range all {
			for i := range page.NumField() {
				if reflect.ValueOf(s.page).Field(i).IsZero() {
					lacking[page.Field(i).Name] = true
				} else {
					given[page.Field(i).Name] = true
				}
			}
		}
		for i := range page.NumField() {
			field := page.Field(i).Name
			unused := field == "Code" && !strings.Contains(string(name), "_confirm") || field == "Until" && strings.Contains(string(name), "manage")
			if given[field] == unused || lacking[field] == (slices.Contains(always[page.Name()], field) && !unused) {
				t.Errorf("%s: %s is given %t and lacking %t", name, field, given[field], lacking[field])
			}
		}
	}
}
