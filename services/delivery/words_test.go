package delivery_test

import (
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// summer is a time with daylight saving time in Berlin.
func summer() time.Time { return time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC) }

// contents returns the decoded subject and body of the mail to each address.
func (o *postOffice) contents(t *testing.T) map[string][2]string {
	t.Helper()
	mails, _, _ := o.got()
	all := make(map[string][2]string)
	for _, m := range mails {
		subject, err := new(mime.WordDecoder).DecodeHeader(m.header.Get("Subject"))
		if err != nil {
			t.Error(err)
		}
		// Both parts are quoted-printable. A soft break may be anywhere.
		body := strings.NewReplacer("=\r\n", "", "=3D", "=", "=20", " ").Replace(m.body)
		all[m.to[0]] = [2]string{subject, body}
	}
	return all
}

// Each recipient of one event gets the words of its own locale, otherwise those of its dashboard, otherwise English, with
// the times of its dashboard's zone and with its own links.
func TestEachRecipientOfAnEventGetsTheWordsOfItsOwnLocale(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{})
	c := w.config()
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	people := w.person(&c, reader("p0"))
	berlin := topic.Dashboard{ID: dashboardID, Name: "Status", URL: "https://status.test/d/main", Timezone: "Europe/Berlin", Locale: "de"}
	istanbul := topic.Dashboard{ID: dashboardID, Name: "Status", URL: "https://status.test/d/main", Timezone: "Europe/Istanbul", Locale: "ja"}
	for _, x := range []struct {
		id, locale string
		dashboard  topic.Dashboard
		subject    string
		has        []string
	}{
		{"austrian", "de-AT", istanbul, "[Status] Wird untersucht: Logins fail", []string{"Beginn: 2. Juli 2026, 01:30 +03", "Abmelden: "}},
		{"visitor", "", berlin, "[Status] Wird untersucht: Logins fail", []string{"Beginn: 2. Juli 2026, 00:30 CEST", "Abonnement verwalten: "}},
		{"british", "en-GB", berlin, "[Status] Investigating: Logins fail", []string{"Start: 2 July 2026, 00:30 CEST", "Unsubscribe: "}},
		{"french", "fr", berlin, "[Status] Wird untersucht: Logins fail", []string{"Beginn: 2. Juli 2026, 00:30 CEST"}},
		{"japanese", "", istanbul, "[Status] Investigating: Logins fail", []string{"Start: 2 July 2026, 01:30 +03"}},
		{"nobody", "", topic.Dashboard{ID: dashboardID, Name: "Status"}, "[Status] Investigating: Logins fail", []string{"Start: 1 July 2026, 22:30 UTC"}},
	} {
		people.add(x.id, "")
		people.set(x.id, func(d *topic.Destination) {
			*d = topic.Destination{
				ID: x.id, Channel: topic.Email, State: topic.RecipientActive, Address: x.id + "@example.com", Locale: x.locale, Dashboard: x.dashboard,
				Components:  []string{componentID},
				Unsubscribe: "https://status.test/public/unsubscribe?token=" + x.id, Manage: "https://status.test/public/manage?token=" + x.id,
			}
		})
		defer func() {
			got := office.contents(t)[x.id+"@example.com"]
			if got[0] != x.subject {
				t.Errorf("%s: the subject is %q", x.id, got[0])
			}
			for _, want := range append(x.has, "unsubscribe?token="+x.id+"\r\n", "manage?token="+x.id+"\r\n", `unsubscribe?token=`+x.id+`"`, `manage?token=`+x.id+`"`) {
				if !strings.Contains(got[1], want) {
					t.Errorf("%s: %q is not in %s", x.id, want, got[1])
				}
			}
			if n := strings.Count(got[1], "token="); n != 4 {
				t.Errorf("%s: the mail has %d links with a token: %s", x.id, n, got[1])
			}
		}()
	}
	w.start(c)
	sent := change(newEvent(), 1)
	sent.Event.StartAt = summer()
	sent.Notify = topic.Notify{topic.Email: {}}
	w.publish(sent, nil)
	w.ended(sent.ID, "p0", "austrian", "visitor", "british", "french", "japanese", "nobody")
}

// Cards have the words of the dashboard's locale and the times of its zone. The body of a webhook does not.
func TestCardsHaveTheWordsOfTheDashboardsLocale(t *testing.T) {
	w := newWorld(t)
	flows, hooks := w.receiver("prod.flows.test", status(http.StatusAccepted)), w.receiver("hooks.test", nil)
	chat := w.receiver("chat.googleapis.com", status(http.StatusOK))
	for id, url := range map[string]string{"t1": "https://prod.flows.test/workflows/1", "h1": "https://hooks.test/1", "g1": "https://chat.googleapis.com/v1/spaces/a/messages?key=k&token=t"} {
		w.peer.add(id, url)
		w.peer.set(id, func(d *topic.Destination) {
			d.Channel = map[string]topic.Channel{"t1": topic.Teams, "h1": topic.Webhook, "g1": topic.GChat}[id]
			d.Dashboard.Timezone, d.Dashboard.Locale = "Europe/Berlin", "de"
		})
	}
	w.start(w.config())
	for _, channel := range []topic.Channel{topic.Teams, topic.GChat, topic.Webhook} {
		sent := change(newEvent(), 1)
		sent.Event.StartAt = summer()
		sent.Notify = topic.Notify{channel: {Details: true}}
		w.publish(sent, nil)
		w.ended(sent.ID, "t1", "h1", "g1")
	}
	card := func(r *receiver, channel string) string {
		for _, arrived := range r.got() {
			if body := string(arrived.body); strings.Contains(body, channel) {
				return body
			}
		}
		t.Errorf("nothing with %s arrived: %+v", channel, r.got())
		return ""
	}
	for _, body := range []string{card(flows, "AdaptiveCard"), card(chat, "cardsV2")} {
		for _, want := range []string{"Wird untersucht", "Betroffen", "Core / API (Ausfall)", "Beginn: 02.07.2026 00:30 CEST", "Meldung öffnen"} {
			if !strings.Contains(body, want) {
				t.Errorf("%q is not in %s", want, body)
			}
		}
	}
	if body := card(hooks, `"version":1`); !strings.Contains(body, `"startAt":"2026-07-01T22:30:00.000Z"`) || !strings.Contains(body, `"dashboard":{"id":"`+dashboardID+`","name":"Status","url":"https://status.test/d/main"}`) {
		t.Errorf("the payload is %s", body)
	}
}

// The mail that asks to confirm has the link, the components, and the time until which the link works. Nothing else has
// the link.
func TestOnlyTheConfirmationMailHasTheLinkThatConfirms(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{})
	c := w.config()
	c.LogLevel, c.ConfirmWithin = "debug", 48*time.Hour
	c.SMTPURL, c.MailFrom = office.url("smtp", ""), "status@bellbuoy.test"
	to := reader("p1")
	to.Locale, to.Unsubscribe, to.Names, to.Code = "de", "", []string{"API", "Web <shop>"}, "123456"
	to.Link, to.Dashboard.Timezone = "https://status.test/public/confirm?token=of-the-subscriber", "Europe/Berlin"
	w.person(&c, to)
	s := w.start(c)
	notice := topic.Notice{
		ID: uuid.Must(uuid.NewV7()).String(), Kind: topic.SubscriberConfirm, Organization: organization, OccurredAt: summer(),
		Channel: topic.Email, Service: topic.Subscribers, Recipient: "p1", Destination: strings.Repeat("0", 64),
	}
	w.publish(notice, nil)
	row := w.ended(notice.ID, "p1")[0]
	if row.Status != deliverylog.StatusDelivered || row.EventKind != topic.SubscriberConfirm {
		t.Errorf("row %+v", row)
	}
	got := office.contents(t)[mailAddress]
	for _, want := range []string{"- API\r\n- Web <shop>\r\n", to.Link + "\r\n", `href="` + to.Link + `"`, "bis zum 4. Juli 2026, 00:30 CEST", "ignorieren Sie diese E-Mail", "Web &lt;shop&gt;"} {
		if !strings.Contains(got[1], want) {
			t.Errorf("%q is not in %s", want, got[1])
		}
	}
	if got[0] != "[Status] Best\u00e4tigen Sie Ihr Abonnement" || strings.Contains(got[1], "123456") {
		t.Errorf("the mail is %q", got)
	}
	if contents := s.logs.String(); strings.Contains(contents, "of-the-subscriber") || strings.Contains(contents, mailAddress) {
		t.Errorf("the log says %s", contents)
	}
}

// templates writes an operator's folder.
func templates(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// An operator's templates and words are those of the mails.
func TestMailsUseTheOperatorsTemplatesAndWords(t *testing.T) {
	w := newWorld(t)
	office := newPostOffice(t, &postOffice{})
	folder := templates(t, map[string]string{
		"mail_subject.txt": `Acme: {{.Title}}`, "mail.txt": `{{t "field.status"}} {{.Status}} {{.Unsubscribe}}`, "locales/en.json": `{"field.status": "Now"}`,
		"README.md": "What is in this folder.",
	})
	s := w.mailing(office.url("smtp", ""), func(c *delivery.Config) { c.Templates.Templates = folder })
	w.mail(s)
	got := office.contents(t)[mailAddress]
	if got[0] != "Acme: Logins fail" || !strings.Contains(got[1], "\r\nNow Investigating "+mailManage+"\r\n") || !strings.Contains(got[1], "<strong>Now:</strong> Investigating") {
		t.Errorf("the mail is %q", got)
	}
}

// A mistake in an operator's folder stops the start with one line that names the setting, the file and its line.
func TestAMistakeInATemplateStopsTheStartWithItsFileAndLine(t *testing.T) {
	for want, folder := range map[string]string{
		"/nowhere":                       "/nowhere",
		"BELLBUOY_TEMPLATES: mail.html:": templates(t, map[string]string{"mail.html": "{{"}),
		"BELLBUOY_TEMPLATES: mail.txt:2:2: executing \"mail.txt\" at <.Titel>: can't evaluate field Titel": templates(t, map[string]string{"mail.txt": "{{.Unsubscribe}}\n{{.Titel}}"}),
		"BELLBUOY_TEMPLATES: locales/de.json:1: the key \"x\" is unknown":                                  templates(t, map[string]string{"locales/de.json": `{"x": "y"}`}),
		"BELLBUOY_TEMPLATES: mail.txt:2: must be UTF-8":                                                    templates(t, map[string]string{"mail.txt": "{{.Unsubscribe}}\n\xe9"}),
		"BELLBUOY_TEMPLATES: mail_subject.txt: the output for incident.created must be one line":           templates(t, map[string]string{"mail_subject.txt": "{{.Status}}\n{{.Title}}"}),
		"BELLBUOY_TEMPLATES: notice.html: the output for endpoint.verify must not be empty":                templates(t, map[string]string{"notice.html": "<p>{{.Link}}</p>"}),
		"BELLBUOY_TEMPLATES: mail.txt: the output for incident.created must contain {{.Unsubscribe}}":      templates(t, map[string]string{"mail.txt": "{{.Title}}"}),
	} {
		if line := refused(t, "BELLBUOY_TEMPLATES="+folder); !strings.Contains(line, want) {
			t.Errorf("got %q, want %q", line, want)
		}
	}
}
