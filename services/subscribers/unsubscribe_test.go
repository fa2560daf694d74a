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

// After the record gets another address, links to the former address change nothing.
func TestALinkOfAnAddressThatIsAnothersNowIsGone(t *testing.T) {
	p := start(t)
	o := p.organization()
	p.subscribe(o, "ann@example.com", 0, 1)
	ann := p.concerned(o, 10, o.services[0].ID)[0]
	email := "/api/v1/email/" + p.legacyID(o, "ann@example.com") + "/"
	first := p.resolve(o, ann)[0].Unsubscribe
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "Ann@example.com"})
	if link := p.resolve(o, ann)[0].Unsubscribe; link != first {
		t.Error("the same address has another link in other letters")
	}
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "bob@example.com"})
	p.ahead.Add(int64(time.Second))
	second := p.resolve(o, ann)[0].Unsubscribe
	p.call(o, http.StatusOK, http.MethodPut, email, object{"email": "carl@example.com"})
	for _, former := range []string{first, second} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if status, page, _ := p.visit(method, former, "List-Unsubscribe=One-Click"); status != http.StatusGone {
				t.Errorf("%s of a former address: %s", method, page)
			}
		}
	}
	if n := p.total(o, subscriptions); n != 2 {
		t.Errorf("%d of Carl's 2 subscriptions are left", n)
	}
	if status, page, _ := p.visit(http.MethodPost, p.resolve(o, ann)[0].Unsubscribe, "List-Unsubscribe=One-Click"); status != http.StatusOK {
		t.Errorf("his own link: %s", page)
	}
	if n := p.total(o, subscriptions); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}
