package subscribers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// visit sends the request of a person with a link, with the gateway's passport.
func (p *platform) visit(method, link, form string) (int, string, http.Header) {
	p.t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+u.RequestURI(), strings.NewReader(form))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set(passport.Header, p.signer.Sign(passport.Passport{Audience: "subscribers", Surface: passport.Public}))
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var text strings.Builder
	if err := response.Write(&text); err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, text.String(), response.Header
}

func TestUnsubscribe_200_400_404(t *testing.T) {
	p := start(t)
	ours, others := p.organization(), p.organization()
	p.subscribe(ours, "ann@example.com", 0, 1)
	p.subscribe(ours, "bob@example.com", 0)
	p.subscribe(others, "ann@example.com", 0)
	ann := p.concerned(ours, 10, ours.services[1].ID)[0]
	link := p.resolve(ours, ann)[0].Manage
	if !strings.HasPrefix(link, "https://status.example.com/public/unsubscribe?token=") {
		t.Fatalf("the link is %q", link)
	}

	status, page, header := p.visit(http.MethodGet, link, "")
	if status != http.StatusOK || !strings.Contains(page, `<form method="post">`) || strings.Contains(page, "<script") ||
		header.Get("Cache-Control") != "no-store" || header.Get("Referrer-Policy") != "no-referrer" ||
		header.Get("X-Robots-Tag") != "noindex" || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page: %s", page)
	}
	for _, form := range []string{"", "List-Unsubscribe=No", "List-Unsubscribe=One-Click&x=" + strings.Repeat("x", 8<<10)} {
		if status, page, _ := p.visit(http.MethodPost, link, form); status != http.StatusBadRequest {
			t.Errorf("another form answers %s", page)
		}
	}
	damaged := []byte(link)
	damaged[len(damaged)-20] ^= 1
	for _, wrong := range []string{string(damaged), link + "A", link[:len(link)-1], "/public/unsubscribe", "/public/unsubscribe?token=", "/public/unsubscribe?token=!"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, page, _ := p.visit(method, wrong, "List-Unsubscribe=One-Click"); status != http.StatusNotFound {
				t.Errorf("%s with a wrong token: %s", method, page)
			}
		}
	}
	if got := p.total(ours, "/api/v1/subscribers/email/"); got != 3 {
		t.Fatalf("%d subscriptions are left of 3 before anybody unsubscribed", got)
	}
	for range 2 {
		if status, page, _ := p.visit(http.MethodPost, link, "List-Unsubscribe=One-Click"); status != http.StatusOK {
			t.Fatalf("unsubscribing answers %s", page)
		}
	}
	if got := p.total(ours, "/api/v1/subscribers/email/"); got != 1 {
		t.Errorf("%d subscriptions are left, want Bob's one", got)
	}
	if ours, theirs := p.total(ours, "/api/v1/email/"), p.total(others, "/api/v1/subscribers/email/"); ours != 2 || theirs != 1 {
		t.Errorf("%d addresses and %d of another organization's subscriptions are left", ours, theirs)
	}
	_, token, _ := strings.Cut(link, "token=")
	if strings.Contains(p.logs.String(), token) {
		t.Error("the token is in the log")
	}
}

// After the record gets another address, links to the former address change nothing.
func TestUnsubscribeOfAnAddressThatIsAnothersNow_200(t *testing.T) {
	p := start(t)
	o := p.organization()
	p.subscribe(o, "ann@example.com", 0, 1)
	ann := p.concerned(o, 10, o.services[0].ID)[0]
	email := "/api/v1/email/" + p.legacyID(o, "ann@example.com") + "/"
	first := p.resolve(o, ann)[0].Manage
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "Ann@example.com"})
	if link := p.resolve(o, ann)[0].Manage; link != first {
		t.Error("the same address has another link in other letters")
	}
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "bob@example.com"})
	p.ahead.Add(int64(time.Second))
	second := p.resolve(o, ann)[0].Manage
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "carl@example.com"})
	for _, former := range []string{first, second} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, page, _ := p.visit(method, former, "List-Unsubscribe=One-Click"); status != http.StatusOK {
				t.Errorf("%s of a former address: %s", method, page)
			}
		}
	}
	if n := p.total(o, subscriptions); n != 2 {
		t.Errorf("%d of Carl's 2 subscriptions are left", n)
	}
	if status, page, _ := p.visit(http.MethodPost, p.resolve(o, ann)[0].Manage, "List-Unsubscribe=One-Click"); status != http.StatusOK {
		t.Errorf("his own link: %s", page)
	}
	if n := p.total(o, subscriptions); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}
