package main_test

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// letter is a mail as a mail program shows it.
type letter struct {
	header           mail.Header
	to, subject      string
	text, html, file string
}

// letters returns the mails that the platform wrote to its data folder, because SMTP_URL is not set.
func letters(t testing.TB, data string) []letter {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(data, "mail", "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]letter, len(names))
	for i, name := range names {
		out[i] = openLetter(t, name)
	}
	return out
}

// openLetter reads a mail with the standard library only, by the rules of RFC 5322 and MIME.
func openLetter(t testing.TB, name string) letter {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	message, err := mail.ReadMessage(file)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out := letter{header: message.Header, file: filepath.Base(name)}
	to, err := message.Header.AddressList("To")
	if err != nil || len(to) != 1 {
		t.Fatalf("%s is to %v: %v", name, to, err)
	}
	out.to = to[0].Address
	if out.subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject")); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s is %q: %v", name, kind, err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch kind := strings.ToLower(part.Header.Get("Content-Type")); kind {
		case "text/plain; charset=utf-8":
			out.text = string(content)
		case "text/html; charset=utf-8":
			out.html = string(content)
		default:
			t.Errorf("%s has a part of %q", name, kind)
		}
	}
}

// unsubscribe sends a request to the link in a mail, as a mail program (POST) or a scanner (GET) does. It sends the
// request to the address of the test's platform.
func unsubscribe(t testing.TB, method, base, link string) answer {
	t.Helper()
	u, err := url.Parse(strings.Trim(link, "<>"))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, base+u.RequestURI(), strings.NewReader("List-Unsubscribe=One-Click"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return exchange(t, request)
}

// A legacy event with notifications.email is sent to the confirmed addresses of its services until their owners
// unsubscribe.
func TestLegacyEventReachesMailboxes(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	checkout, _ := a.service("Checkout")
	var secret struct {
		URI string `json:"resource_uri"`
	}
	send(t, http.MethodPost, base+"/api/v1/service/", a.legacy(), map[string]any{"service_name": "Secret", "hidden_notifications": true}).
		expect(t, http.StatusCreated).into(t, &secret)
	subscribe := func(address, service string, confirmed bool) {
		t.Helper()
		var made struct {
			URI string `json:"resource_uri"`
		}
		send(t, http.MethodPost, base+"/api/v1/email/", a.legacy(), map[string]any{"email": address}).
			expect(t, http.StatusCreated).into(t, &made)
		send(t, http.MethodPost, base+"/api/v1/subscribers/email/", a.legacy(),
			map[string]any{"email": made.URI, "service": service, "confirmed": confirmed}).expect(t, http.StatusCreated)
	}
	const ann, bob, hidden, cem = "ann@example.com", "bob@example.com", "hidden@example.com", "cem@example.com"
	subscribe(ann, checkout, true)
	subscribe(bob, checkout, false)
	subscribe(hidden, secret.URI, true)

	// inbox waits until the address has n mails, and returns all mails in the folder except those about the admin's keys.
	inbox := func(address string, want int) []letter {
		t.Helper()
		var all []letter
		eventually(t, 30*time.Second, "mail to "+address, func() error {
			all = slices.DeleteFunc(letters(t, data), func(l letter) bool { return l.to == "acme-admin@example.com" })
			has := 0
			for _, l := range all {
				if l.to == address {
					has++
				}
			}
			if has < want {
				return fmt.Errorf("%d of %d are there", has, want)
			}
			return nil
		})
		return all
	}
	tell := func(description string, email map[string]any) string {
		t.Helper()
		event := incident(checkout, description)
		event["description_md"] = true
		event["event_service"] = []any{checkout, secret.URI}
		event["notifications"] = map[string]any{"email": email}
		var made struct {
			URI string `json:"resource_uri"`
		}
		send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), event).expect(t, http.StatusCreated).into(t, &made)
		return made.URI
	}

	const subject = "Störung: Checkout – wir sind dran"
	event := tell("**Payments** fail <script>alert(1)</script>", map[string]any{"enabled": true, "email_subject": subject})
	all := inbox(ann, 1)
	if len(all) != 1 {
		t.Fatalf("%d mails for one confirmed address", len(all))
	}
	first := all[0]
	link := first.header.Get("List-Unsubscribe")
	if first.subject != subject || first.header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" || !strings.HasPrefix(link, "<http") ||
		!strings.Contains(link, "/public/unsubscribe?token=") || first.header.Get("From") == "" {
		t.Errorf("subject %q, header %v", first.subject, first.header)
	}
	if id := first.header.Get("Message-ID"); id != "<"+strings.TrimSuffix(first.file, ".eml")+"@localhost>" {
		t.Errorf("%s has the Message-ID %s", first.file, id)
	}
	if date, err := first.header.Date(); err != nil || time.Since(date) > time.Hour {
		t.Errorf("date %v, %v", date, err)
	}
	for form, content := range map[string]string{"text": first.text, "HTML": first.html} {
		for _, want := range []string{"Payments", "fail", "Investigating", "Checkout", strings.Trim(link, "<>")} {
			if !strings.Contains(content, want) {
				t.Errorf("the %s part lacks %q: %s", form, want, content)
			}
		}
		if strings.Contains(content, "Secret") {
			t.Errorf("the %s part names the hidden service: %s", form, content)
		}
	}
	if !strings.Contains(first.html, "<strong>Payments</strong> fail") || strings.Contains(first.html, "<script") {
		t.Errorf("the HTML part is %s", first.html)
	}
	if strings.Contains(first.text, "**") || strings.Contains(first.text, "<strong>") {
		t.Errorf("the text part is %s", first.text)
	}

	send(t, http.MethodPut, base+event, a.legacy(), map[string]any{"status": "/api/v1/status/3/", "notifications": map[string]any{"email": map[string]any{"enabled": true}}}).
		expect(t, http.StatusOK)
	all = inbox(ann, 2)
	if len(all) != 2 || all[0].subject != subject || all[1].subject != subject || all[0].header.Get("Message-ID") == all[1].header.Get("Message-ID") {
		t.Fatalf("%d mails: %+v", len(all), all)
	}

	unsubscribe(t, http.MethodGet, base, link).expect(t, http.StatusOK)
	subscribe(cem, checkout, true)
	tell("Refunds fail", map[string]any{"enabled": true})
	inbox(cem, 1)
	all = inbox(ann, 3)
	if !slices.ContainsFunc(all, func(l letter) bool {
		return l.to == cem && strings.Contains(l.subject, "Refunds fail") && strings.Contains(l.subject, "Investigating")
	}) {
		t.Errorf("a mail without a subject given has %+v", all)
	}

	unsubscribe(t, http.MethodPost, base, link).expect(t, http.StatusOK)
	unsubscribe(t, http.MethodPost, base, link).expect(t, http.StatusGone) // the repeated request changes nothing
	eventually(t, 30*time.Second, "the audit entry", func() error {
		entries, err := auditLog(base, a.app(), "action=subscriber.unsubscribe")
		if err == nil && (len(entries) != 1 || entries[0].Surface != "public" || entries[0].Actor.Type != "visitor" || strings.Contains(entries[0].text, "token")) {
			err = fmt.Errorf("%+v", entries)
		}
		return err
	})
	tell("Invoices fail", map[string]any{"enabled": true})
	received := map[string]int{}
	for _, l := range inbox(cem, 2) {
		received[l.to]++
	}
	if len(received) != 2 || received[ann] != 3 || received[cem] != 2 {
		t.Errorf("mails %v", received)
	}
}
