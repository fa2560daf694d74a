package main_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/deploy/standalone/internal/receiver"
)

// visitor uses the forms of a dashboard and the pages behind links as a browser does, but does not follow redirects.
type visitor struct {
	t      testing.TB
	base   string
	header http.Header
}

func (v visitor) do(method, path string, form url.Values) answer {
	v.t.Helper()
	address := path
	if !strings.HasPrefix(address, "http") {
		address = v.base + path
	}
	request, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name := range v.header {
		request.Header.Set(name, v.header.Get(name))
	}
	request.Host = v.header.Get("Host")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, content}
}

var linkPattern = regexp.MustCompile(`https?://\S+/public/endpoints/\w+\?token=[\w-]+`)

// linkTo waits for the nth mail to an address and returns the link in this mail.
func linkTo(t testing.TB, data, address string, n int) string {
	t.Helper()
	link := ""
	eventually(t, 30*time.Second, fmt.Sprintf("mail %d to %s", n, address), func() error {
		var found []letter
		for _, l := range letters(t, data) {
			if l.to == address {
				found = append(found, l)
			}
		}
		if len(found) < n {
			return fmt.Errorf("%d are there", len(found))
		}
		slices.SortFunc(found, func(a, b letter) int { return strings.Compare(a.file, b.file) })
		link = linkPattern.FindString(found[n-1].text)
		if link == "" || !strings.Contains(html.UnescapeString(found[n-1].html), link) {
			t.Fatalf("the mail has no link: %+v", found[n-1])
		}
		return nil
	})
	return link
}

// received waits until the receiver has got a message with the text at the path.
func received(t testing.TB, r *receiver.Receiver, path, text string) (found receiver.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := r.Wait(ctx, func(all []receiver.Request) bool {
		at := slices.IndexFunc(all, func(r receiver.Request) bool { return r.Path == path && strings.Contains(string(r.Body), `"`+text+`"`) })
		if at >= 0 {
			found = all[at]
		}
		return at >= 0
	})
	if err != nil {
		t.Fatalf("%s did not receive %q: %v", path, text, err)
	}
	return found
}

func codeIn(t testing.TB, page answer) string {
	t.Helper()
	match := regexp.MustCompile(`<code>(whsec_[^<]+)</code>`).FindSubmatch(page.body)
	if match == nil {
		t.Fatalf("the page shows no secret: %s", page.body)
	}
	return html.UnescapeString(string(match[1]))
}

// A visitor requests an endpoint by the form on the dashboard, receives a signed incident, and deletes the endpoint.
// The test uses only what the visitor sees.
func TestVisitorsEndpointReceivesIncidents(t *testing.T) {
	t.Parallel()
	r, env := startReceiver(t)
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, append(env, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data)...)
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	checkout, checkoutID := a.service("Checkout")
	refunds, refundsID := a.service("Refunds")
	hidden, hiddenID := a.service("Backoffice")
	send(t, http.MethodPut, base+hidden, a.legacy(), map[string]any{"hidden": true}).expect(t, http.StatusOK)
	dashboard := func(body any) {
		t.Helper()
		send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), body).expect(t, http.StatusOK)
	}
	v := visitor{t: t, base: base}
	subscribe := strings.TrimPrefix(a.DashboardURL, base) + "/subscribe"
	const mail, hook = "vera@example.com", "https://" + receiverHost + "/hooks/visitor"
	wish := url.Values{"url": {hook}, "managementEmail": {mail}, "componentIds": {checkoutID}}

	// The dashboard must allow the channel.
	v.do(http.MethodPost, subscribe+"/webhook", wish).expect(t, http.StatusNotFound)
	dashboard(map[string]any{"subscriptions": map[string]any{"webhook": true}, "customDomains": []string{"status.acme.example"}})
	v.do(http.MethodPost, subscribe+"/teams", wish).expect(t, http.StatusNotFound)
	v.do(http.MethodGet, "/subscribe", nil).expect(t, http.StatusNotFound)
	form := v.do(http.MethodGet, subscribe, nil).expect(t, http.StatusOK)
	if text := string(form.body); !strings.Contains(text, `action="subscribe/webhook"`) || strings.Contains(text, "teams") || !strings.Contains(text, checkoutID) ||
		!strings.Contains(text, refundsID) || strings.Contains(text, hiddenID) || form.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the form: %v %s", form.header, text)
	}
	v.do(http.MethodPost, subscribe+"/webhook", url.Values{"url": {hook}, "managementEmail": {mail}, "componentIds": {hiddenID}}).expect(t, http.StatusUnprocessableEntity)

	sent := v.do(http.MethodPost, subscribe+"/webhook", wish).expect(t, http.StatusSeeOther)
	next, err := url.Parse(base + subscribe + "/webhook")
	if err != nil {
		t.Fatal(err)
	}
	if next, err = next.Parse(sent.header.Get("Location")); err != nil || next.Path != subscribe+"/sent" {
		t.Fatalf("the form leads to %v, %v", next, err)
	}
	v.do(http.MethodGet, next.String(), nil).expect(t, http.StatusOK)

	// post posts an incident and waits until the admin's endpoint has received it. By then, the other recipients are
	// also known.
	a.endpoint("https://"+receiverHost+"/hooks/admin", checkoutID, refundsID)
	post := func(service, text string) {
		t.Helper()
		send(t, http.MethodPost, base+"/api/v1/event/list/", a.legacy(), incident(service, text)).expect(t, http.StatusCreated)
		received(t, r, "/hooks/admin", text)
	}

	// A GET of the link, for example by a mail scanner, changes nothing.
	verify := linkTo(t, data, mail, 1)
	for range 2 {
		v.do(http.MethodGet, verify, nil).expect(t, http.StatusOK)
	}
	post(checkout, "before the verification")
	done := v.do(http.MethodPost, verify, nil).expect(t, http.StatusOK)
	secret := codeIn(t, done)
	v.do(http.MethodPost, verify, nil).expect(t, http.StatusGone)
	v.do(http.MethodGet, verify, nil).expect(t, http.StatusGone)
	v.do(http.MethodPost, verify+"x", nil).expect(t, http.StatusNotFound)

	post(checkout, "first")
	if got := received(t, r, "/hooks/visitor", "first"); got.Verify(secret) != nil {
		t.Errorf("the secret does not verify %s", got.Body)
	}

	manage := base + "/public/endpoints/" + html.UnescapeString(regexp.MustCompile(`href="(manage\?token=[^"]+)"`).FindStringSubmatch(string(done.body))[1])
	v.do(http.MethodPost, manage, url.Values{"componentIds": {refundsID}, "paused": {"on"}}).expect(t, http.StatusOK)
	post(refunds, "while it is paused")
	v.do(http.MethodPost, manage, url.Values{"componentIds": {refundsID}}).expect(t, http.StatusOK)
	post(checkout, "of the former component")
	rotated := codeIn(t, v.do(http.MethodPost, manage, url.Values{"action": {"rotate"}}).expect(t, http.StatusOK))
	post(refunds, "second")
	if got := received(t, r, "/hooks/visitor", "second"); got.Verify(rotated) != nil || got.Verify(secret) != nil {
		t.Errorf("after the rotation both secrets must verify %s", got.Body)
	}

	// A visitor who requests the same endpoint with the same address gets the link again. After the dashboard is
	// locked, the links are no longer valid.
	v.do(http.MethodPost, subscribe+"/webhook", wish).expect(t, http.StatusSeeOther)
	if again := linkTo(t, data, mail, 2); again != manage {
		t.Errorf("the link comes again as %s, not %s", again, manage)
	}
	const path = "/app/integrations/webhooks/outbound/endpoints"
	var list struct{ Endpoints []struct{ URLHash string } }
	send(t, http.MethodGet, base+path, a.app(), nil).expect(t, http.StatusOK).into(t, &list)
	lock := func(locked bool) {
		t.Helper()
		send(t, http.MethodPatch, base+path, a.app(), map[string]any{"dashboardId": a.DashboardID, "urlHash": list.Endpoints[0].URLHash, "locked": locked}).expect(t, http.StatusOK)
	}
	lock(true)
	v.do(http.MethodGet, manage, nil).expect(t, http.StatusForbidden)
	v.do(http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusForbidden)
	lock(false)
	v.do(http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusOK)
	v.do(http.MethodPost, manage, url.Values{"action": {"unsubscribe"}}).expect(t, http.StatusGone)
	post(refunds, "after the end")

	// The dashboard's own host has the same form.
	own := visitor{t: t, base: base, header: http.Header{"Host": {"status.acme.example"}}}
	own.do(http.MethodGet, "/subscribe", nil).expect(t, http.StatusOK)
	wish.Set("managementEmail", "olga@example.com")
	if sent := own.do(http.MethodPost, "/subscribe/webhook", wish).expect(t, http.StatusSeeOther); sent.header.Get("Location") != "sent" {
		t.Errorf("on its own host the form leads to %q", sent.header.Get("Location"))
	}
	again := v.do(http.MethodPost, linkTo(t, data, "olga@example.com", 1), nil).expect(t, http.StatusOK)
	post(checkout, "third")
	if got := received(t, r, "/hooks/visitor", "third"); got.Verify(codeIn(t, again)) != nil {
		t.Errorf("the secret does not verify %s", got.Body)
	}
	if all := slices.DeleteFunc(r.Requests(), func(r receiver.Request) bool { return r.Path != "/hooks/visitor" }); len(all) != 3 {
		t.Errorf("the visitor's receiver got %d messages, want 3", len(all))
	}

	want := []string{"subscribe", "verify", "manage", "manage", "manage", "unsubscribe", "subscribe", "verify"}
	eventually(t, 30*time.Second, "the audit entries", func() error {
		entries, err := auditLog(base, a.app(), "")
		if err != nil {
			return err
		}
		var actions []string
		for _, entry := range slices.Backward(entries) {
			if entry.Surface != "public" {
				continue
			}
			if actions = append(actions, strings.TrimPrefix(entry.Action, "endpoint.")); entry.Actor.Type != "visitor" || entry.IP != "127.0.0.1" || strings.Contains(entry.text, "token") {
				t.Errorf("the entry %s", entry.text)
			}
		}
		if !slices.Equal(actions, want) {
			return fmt.Errorf("they are %v", actions)
		}
		return nil
	})
}

// A request that nobody confirms in time is deleted. Behind a trusted proxy, each visitor has a separate limit.
func TestVisitorsRequestsAreBounded(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, base := started(t, "BELLBUOY_SEED=", "BELLBUOY_OPERATOR_TOKEN="+operatorToken, "BELLBUOY_DATA="+data,
		"CONFIRM_WITHIN=20s", "BELLBUOY_TRUSTED_PROXIES=127.0.0.0/8")
	a := actor{t, provision(t, base, "Acme", "acme-admin", "admin", "api")}
	a.service("Checkout")
	send(t, http.MethodPatch, base+"/app/dashboards/"+a.DashboardID, a.app(), map[string]any{"subscriptions": map[string]any{"webhook": true}}).expect(t, http.StatusOK)
	path := strings.TrimPrefix(a.DashboardURL, base) + "/subscribe/webhook"
	from := func(address string) visitor {
		return visitor{t: t, base: base, header: http.Header{"X-Forwarded-For": {"203.0.113.7, " + address}}} // the client may have invented the first address
	}
	wish := func(mail string) url.Values {
		return url.Values{"url": {"https://hooks.example.com/" + mail}, "managementEmail": {mail}}
	}
	from("198.51.100.1").do(http.MethodPost, path, wish("late@example.com")).expect(t, http.StatusSeeOther)
	link := linkTo(t, data, "late@example.com", 1)
	eventually(t, time.Minute, "the request vanishes", func() error {
		var list struct{ Endpoints []any }
		send(t, http.MethodGet, base+"/app/integrations/webhooks/outbound/endpoints", a.app(), nil).expect(t, http.StatusOK).into(t, &list)
		if len(list.Endpoints) > 0 {
			return fmt.Errorf("%v is listed", list.Endpoints)
		}
		return nil
	})
	from("198.51.100.1").do(http.MethodPost, link, nil).expect(t, http.StatusGone)

	for i := range 30 {
		from("198.51.100.2").do(http.MethodPost, path, wish(fmt.Sprintf("visitor%d@example.com", i))).expect(t, http.StatusSeeOther)
	}
	refused := from("198.51.100.2").do(http.MethodPost, path, wish("last@example.com")).expect(t, http.StatusTooManyRequests)
	if refused.header.Get("Retry-After") == "" {
		t.Error("the refusal has no Retry-After")
	}
	from("198.51.100.3").do(http.MethodPost, path, wish("last@example.com")).expect(t, http.StatusSeeOther)
	eventually(t, 30*time.Second, "the audit entry", func() error {
		entries, err := auditLog(base, a.app(), "action=endpoint.subscribe")
		if err == nil && (len(entries) != 32 || entries[0].IP != "198.51.100.3") {
			err = fmt.Errorf("%d entries, the last from %s", len(entries), entries[0].IP)
		}
		return err
	})
}
