package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// invites makes the dashboard offer every kind of endpoints to visitors.
func (a actor) invites() {
	a.t.Helper()
	send(a.t, http.MethodPatch, a.BaseURL+"/app/dashboards/"+a.DashboardID, a.app(),
		map[string]any{"subscriptions": map[string]any{"webhook": true, "teams": true, "gchat": true}}).expect(a.t, http.StatusOK)
}

// asks asks for an endpoint as a visitor of the dashboard. The link goes to <name>@example.com.
func (a actor) asks(kind outbound, name string) {
	a.t.Helper()
	send(a.t, http.MethodPost, a.DashboardURL+"/subscribe/"+kind.kind, "", map[string]any{
		"url": fmt.Sprintf(kind.url, name), "managementEmail": name + "@example.com",
	}).expect(a.t, http.StatusAccepted)
}

// linkTo waits for a mail to the address with a link to the page of an endpoint, and returns its path and query.
func linkTo(t testing.TB, data, address, page string) (link string) {
	t.Helper()
	pattern := regexp.MustCompile(`https?://[^/\s]+(/public/endpoints/` + page + `\?token=[^\s"<>]+)`)
	eventually(t, 30*time.Second, "the link to "+page+" for "+address, func() error {
		for _, letter := range letters(t, data) {
			if found := pattern.FindStringSubmatch(letter.text); letter.to == address && found != nil {
				link = found[1]
				return nil
			}
		}
		return fmt.Errorf("no such mail")
	})
	return link
}

// post sends a form to the page behind a link, as a browser does.
func post(t testing.TB, page string, form url.Values) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "text/html")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return readAnswer(t, response)
}
