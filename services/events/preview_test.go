package events_test

import (
	"regexp"
	"strings"
	"testing"
)

// preview returns the page of the dashboard of organization a with values that are not stored.
func (p *platform) preview(body string) (html, policy string) {
	p.t.Helper()
	got := p.must(200, "app admin a", "POST", "/app/dashboards/"+dashA+"/preview", body)
	return got["html"].(string), got["policy"].(string)
}

// shown returns the page that visitors get, and its policy.
func (p *platform) shown() (html, policy string) {
	p.t.Helper()
	got := p.send("public", "GET", "/public/v1/editions/"+p.edition().ID+"/files/", "")
	if got.status != 200 {
		p.t.Fatalf("the page: %d %s", got.status, got.body)
	}
	return string(got.body), got.header.Get("Content-Security-Policy")
}

// rendered matches the time of rendering, which is the last element time of a page.
var rendered = regexp.MustCompile(`(?s)(.*)<time [^>]*>[^<]*</time>`)

// scripted matches what a page has because of its script, with the icon, which the script updates, and the expression that
// allows the script.
var scripted = regexp.MustCompile(`(?s)<link rel="icon" [^>]*>|<p><button id="pause".*?</p>\n|<p id="live".*?</script>\n|script-src '[^']*'; `)

func TestAPreviewIsThePageOfTheStoredValues(t *testing.T) {
	p := start(t, startBroker(t))
	component := p.must(201, "app admin a", "POST", "/app/components", `{"name": "Checkout"}`)["component"].(map[string]any)["id"].(string)
	p.must(201, "app admin a", "POST", "/app/components", `{"name": "Removed"}`)
	p.must(201, "app event a", "POST", "/app/events", `{"type": "incident", "title": "Checkout fails",
		"affectedComponents": [{"componentId": "`+component+`", "impact": "operational"}], "initialTimelineMessage": "We look for the cause."}`)
	const settings = `{"name": "Other", "description": "About us", "timezone": "Asia/Tokyo", "locale": "de", "searchIndexing": false, "customDomains": ["status.acme.example"],
		"branding": {"logoUrl": "https://cdn.acme.example/logo.svg", "primaryColor": "#123456", "theme": "dark"}, "subscriptions": {"sms": true}, "links": {"supportUrl": "mailto:help@acme.example"}}`
	const content = `{"modules": {"announcement": true, "overallStatus": true, "activeIncidents": true, "activeMaintenance": true, "components": true, "uptimeHistory": true,
		"upcomingMaintenance": true, "eventHistory": false, "subscribe": true, "about": true}, "order": ["about", "overallStatus", "announcement", "activeIncidents", "activeMaintenance",
		"components", "uptimeHistory", "upcomingMaintenance", "eventHistory", "subscribe"], "uptime": {"windowDays": 30, "showPercentage": false, "precision": 0,
		"partialOutageWeight": 1, "historyDays": 7}, "announcement": "<p>We move in May.</p>"}`
	components := `[{"componentId": "` + component + `", "groupName": "Shop"}]`
	before, was := p.edition(), p.send("app admin a", "GET", "/app/dashboards", "")
	html, policy := p.preview(`{"dashboard": ` + settings + `, "content": ` + content + `, "components": ` + components + `}`)
	for _, part := range []string{"Other", "About us", `lang="de"`, "We move in May.", "Shop", "Checkout fails", "https://cdn.acme.example/logo.svg"} {
		if !strings.Contains(html, part) {
			t.Errorf("the preview lacks %s", part)
		}
	}
	if strings.Contains(html, "Removed") || !strings.Contains(policy, "img-src data: https://cdn.acme.example;") {
		t.Errorf("the preview shows a component that is not placed, or its policy is wrong: %s", policy)
	}
	if now := p.edition(); now.ID != before.ID || now.Number != before.Number {
		t.Errorf("the edition was %+v and is %+v", before, now)
	}
	if now := p.send("app admin a", "GET", "/app/dashboards", ""); string(now.body) != string(was.body) {
		t.Errorf("the dashboard was %s and is %s", was.body, now.body)
	}
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, settings)
	p.must(200, "app admin a", "PUT", "/app/dashboards/"+dashA+"/content", content)
	p.must(200, "app admin a", "PUT", "/app/dashboards/"+dashA+"/components", `{"components": `+components+`}`)
	page, pagePolicy := p.shown()
	html = scripted.ReplaceAllString(html, "")
	page, pagePolicy = scripted.ReplaceAllString(page, ""), scripted.ReplaceAllString(pagePolicy, "")
	if a, b := rendered.ReplaceAllString(html, "$1"), rendered.ReplaceAllString(page, "$1"); a != b || policy != pagePolicy {
		t.Errorf("the preview is\n%s\n%s\nand the page is\n%s\n%s", policy, a, pagePolicy, b)
	}
}

func TestAPreviewOfAPrivatePageHasNoKeyOfItsFeeds(t *testing.T) {
	p := start(t, startBroker(t))
	p.must(200, "app admin a", "PATCH", "/app/dashboards/"+dashA, `{"access": {"mode": "password", "password": "correct horse battery"}}`)
	if page, _ := p.shown(); !strings.Contains(page, "feed.rss?key=") {
		t.Fatalf("the page has no key: %s", page)
	}
	if html, _ := p.preview(`{"dashboard": {"name": "Other"}}`); strings.Contains(html, "?key=") || !strings.Contains(html, "feed.rss") {
		t.Errorf("the preview is %s", html)
	}
}
