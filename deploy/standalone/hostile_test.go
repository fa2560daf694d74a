package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHostileTextsAreSanitised posts hostile HTML through the App interface as description, impact analysis and
// timeline messages. The App interface returns it unchanged. Mails, cards and the public list contain no part of it
// that a program would execute.
func TestHostileTextsAreSanitised(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	servers, env := startTeams(t, teamsHost1)
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	service, component := a.service("Checkout")
	room := a.room(servers, teamsHost1, "room", component)
	var address struct {
		URI string `json:"resource_uri"`
	}
	send(t, http.MethodPost, base+"/api/v1/email/", a.legacy(), map[string]any{"email": "ann@example.com"}).expect(t, http.StatusCreated).into(t, &address)
	send(t, http.MethodPost, base+"/api/v1/subscribers/email/", a.legacy(),
		map[string]any{"email": address.URI, "service": service, "confirmed": true}).expect(t, http.StatusCreated)

	vectors := hostileTexts(t)
	type event struct {
		Event struct{ ID, Description, ImpactAnalysis string }
	}
	var made, read event
	send(t, http.MethodPost, base+"/app/events", a.app(), map[string]any{
		"type": "incident", "title": "<script>alert(1)</script>", "description": vectors[0], "impactAnalysis": vectors[1],
		"affectedComponents": []any{map[string]any{"componentId": component}}, "notify": map[string]any{"email": true, "teams": true},
	}).expect(t, http.StatusCreated).into(t, &made)
	for i, vector := range vectors[2:] {
		send(t, http.MethodPost, base+"/app/events/"+made.Event.ID+"/timeline", a.app(), map[string]any{
			"message": fmt.Sprintf("<p>message %d</p>", i) + vector, "notify": map[string]any{"email": true, "teams": true},
		}).expect(t, http.StatusCreated)
	}
	send(t, http.MethodGet, base+"/app/events/"+made.Event.ID, a.app(), nil).expect(t, http.StatusOK).into(t, &read)
	if read.Event.Description != vectors[0] || read.Event.ImpactAnalysis != vectors[1] {
		t.Errorf("the App returns %+v", read.Event)
	}

	total := len(vectors) - 1
	for _, card := range room.cards(total) {
		for _, text := range gather(card.Attachments[0].Content.Body) {
			if link := regexp.MustCompile(`(?i)\]\((?:\s|%20)*(?:javascript|data|vbscript)`).FindString(text); link != "" {
				t.Errorf("a card has the link %s: %s", link, text)
			}
		}
	}
	var mails []letter
	eventually(t, 30*time.Second, "mails", func() error {
		if mails = letters(t, data); len(mails) < total {
			return fmt.Errorf("%d of %d are there", len(mails), total)
		}
		return nil
	})
	for _, mail := range mails {
		checkTags(t, mail.html)
	}
	list := send(t, http.MethodGet, base+"/d/"+a.DashboardSlug+"/api/v1/dashboard/", "", nil).expect(t, http.StatusOK)
	if strings.Contains(string(list.body), "alert") {
		t.Errorf("the public list is %s", list.body)
	}
}

// hostileTexts returns some of the texts with which the renderer of event texts is tested.
func hostileTexts(t *testing.T) (some []string) {
	t.Helper()
	lines, err := os.ReadFile("../../libs/richtext/testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(lines), "\n") {
		if i%9 == 0 && strings.HasPrefix(line, "<") && !strings.Contains(line, "plaintext") {
			some = append(some, line)
		}
	}
	return some
}

// checkTags fails the test if HTML contains an element that executes or loads something, an event handler, or a link to
// a script.
func checkTags(t *testing.T, markup string) {
	t.Helper()
	bad := regexp.MustCompile(`(?i)\son[a-z]+\s*=|javascript:|vbscript:|data:|expression\(`)
	forbidden := []string{"script", "img", "image", "svg", "math", "iframe", "object", "embed", "applet", "form", "input", "button", "video", "audio", "base", "link", "template", "details", "marquee"}
	for _, tag := range regexp.MustCompile(`<([A-Za-z][A-Za-z0-9]*)[^>]*>`).FindAllStringSubmatch(markup, -1) {
		if bad.MatchString(tag[0]) || slices.Contains(forbidden, strings.ToLower(tag[1])) {
			t.Errorf("a mail has %s", tag[0])
		}
	}
}
