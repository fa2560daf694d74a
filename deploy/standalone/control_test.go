package main_test

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Texts of the legacy interface may contain control characters, but names may not. The interface returns them unchanged, escaped in JSON.
// Pages, feeds, the calendar, mails and text messages omit them.
func TestControlCharactersOfLegacyTextsReachNoReader(t *testing.T) {
	t.Parallel()
	const bad = "a\x00b\x07c\x1bd\x7fe\u0085f\u009bg"
	p, base := started(t)
	c := seeded(t, p)
	post := func(path string, body map[string]any) string {
		t.Helper()
		var made struct {
			URI string `json:"resource_uri"`
		}
		send(t, http.MethodPost, base+"/api/v1/"+path, c.legacy(), body).expect(t, http.StatusCreated).into(t, &made)
		return made.URI
	}
	for _, field := range []string{"service_name", "group"} {
		body := map[string]any{"service_name": "Sa", field: "S" + bad}
		if got := send(t, http.MethodPost, base+"/api/v1/service/", c.legacy(), body).expect(t, http.StatusBadRequest); !strings.Contains(string(got.body), field+": must be one line") {
			t.Errorf("a %s with control characters: %s", field, got.body)
		}
	}
	service := post("service/", map[string]any{"service_name": "Sa", "description": "D" + bad, "group": "G"})
	address, number := post("email/", map[string]any{"email": "ann@example.com"}), post("number/", map[string]any{"number": "+4915112345678"})
	post("subscribers/email/", map[string]any{"email": address, "service": service, "confirmed": true})
	post("subscribers/sms/", map[string]any{"number": number, "service": service, "confirmed": true})
	event := post("event/list/", map[string]any{
		"type": map[string]any{"type": "incident"}, "status": map[string]any{"status": "investigating"}, "start": time.Now().UTC().Format("2006-01-02T15:04:05"),
		"description": "E" + bad, "impact": "I" + bad, "coordinator": "C" + bad, "event_service": []string{service},
		"event_update":  []map[string]any{{"update": "U" + bad}},
		"notifications": map[string]any{"email": map[string]any{"enabled": true, "email_subject": "M" + bad}, "sms": map[string]any{"enabled": true, "sms_text": "T" + bad}},
	})
	var stored struct{ Description string }
	send(t, http.MethodGet, base+event, c.legacy(), nil).expect(t, http.StatusOK).into(t, &stored)
	if stored.Description != "E"+bad {
		t.Errorf("the description is %q", stored.Description)
	}
	clean := func(where, text string) {
		t.Helper()
		if at := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }); at >= 0 {
			t.Errorf("%s has a control character: %.60q", where, text[max(0, at-30):])
		}
	}
	for _, file := range []string{"", "history", "feed.rss", "feed.atom", "maintenance.ics"} {
		got := looker{t: t, base: c.DashboardURL}.visit("GET", "/"+file, nil).expect(t, http.StatusOK)
		clean("/"+file, string(got.body))
		if file == "" && !strings.Contains(string(got.body), "Sa") {
			t.Error("the page does not show the service")
		}
	}
	var mails, texts []string // contents of the files
	eventually(t, 60*time.Second, "a mail and a text", func() (err error) {
		mails, _ = filepath.Glob(filepath.Join(dataFolder(p), "mail", "*.eml")) // the patterns are valid
		texts, _ = filepath.Glob(filepath.Join(dataFolder(p), "sms", "*.json"))
		if len(mails) == 0 || len(texts) == 0 {
			err = fmt.Errorf("%d mails, %d texts", len(mails), len(texts))
		}
		return err
	})
	for _, file := range mails {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		clean(file, string(content))
		for _, text := range mailTexts(t, string(content)) {
			clean(file, text)
		}
	}
	for _, file := range texts {
		var sent map[string]any
		readJSON(t, file, &sent)
		clean(file, fmt.Sprint(sent))
	}
}

// mailTexts returns the subject and the decoded parts of a mail.
func mailTexts(t *testing.T, content string) []string {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{subject}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := parts.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
}
