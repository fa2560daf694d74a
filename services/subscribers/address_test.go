package subscribers_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
)

// The App and the legacy interface find an address in each of its forms, although it is shown as it was given.
func TestAnAddressIsFoundInEachOfItsForms(t *testing.T) {
	p := start(t)
	o := p.organization()
	created := p.app(o, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": o.dashboard, "email": "J\u00f6rg@B\u00fccher.de", "componentIds": []string{o.services[0].ID}})
	for _, form := range []string{"J\u00f6rg@B\u00fccher.de", "j\u00d6RG@xn--bcher-kva.de", "jo\u0308rg@bu\u0308cher.de"} {
		query := url.QueryEscape(form)
		if found := p.app(o, http.StatusOK, http.MethodGet, "email?q="+query, nil).Subscribers; len(found) != 1 {
			t.Errorf("q=%s finds %v", form, found)
		}
		for _, list := range []string{"/api/v1/email/?email=", "/api/v1/email/?email__in=a@example.com,", "/api/v1/subscribers/email/?email__email=", "/api/v1/subscribers/email/?email__email__in="} {
			if n := p.total(o, list+query); n != 1 {
				t.Errorf("%s%s finds %d", list, form, n)
			}
		}
	}
	for _, part := range []string{"BU\u0308CH", "rg@b\u00fc", "xn--bcher-kva.de"} {
		if found := p.app(o, http.StatusOK, http.MethodGet, "email?q="+url.QueryEscape(part), nil).Subscribers; len(found) != 1 {
			t.Errorf("q=%s finds %v", part, found)
		}
	}
	if id := uuid.MustParse(created.Subscriber.ID); id.Version() != 7 {
		t.Errorf("the id %s has version %d", id, id.Version())
	}
}

// found returns the addresses that a search for text finds.
func (p *platform) found(o organization, path, text string) (addresses []string) {
	p.t.Helper()
	for _, s := range p.app(o, http.StatusOK, http.MethodGet, path+"q="+url.QueryEscape(text), nil).Subscribers {
		addresses = append(addresses, s.Email+s.Phone)
	}
	return addresses
}

func TestASearchFindsAnAddressByEachOfItsParts(t *testing.T) {
	p := start(t)
	o, others := p.organization(), p.organization()
	const address, number = "Zoë.O'Brien+7@Mail.Bücher.Example", "+4930901820"
	for _, in := range []organization{o, others} {
		p.app(in, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": in.dashboard, "email": address, "confirmed": true})
		p.app(in, http.StatusCreated, http.MethodPost, "email", object{"dashboardId": in.dashboard, "email": "someone@else.example", "confirmed": true})
		p.app(in, http.StatusCreated, http.MethodPost, "sms", object{"dashboardId": in.dashboard, "phone": number, "confirmed": true})
	}
	characters := []rune(address)
	for from := range characters {
		for _, to := range []int{from + 1, from + 2, from + 3, from + 4, from + 9, len(characters)} {
			part := string(characters[from:min(to, len(characters))])
			for _, text := range []string{part, strings.ToUpper(part), strings.ToLower(part)} {
				if found := p.found(o, "email?state=confirmed&", text); !slices.Contains(found, address) || len(found) > 2 {
					t.Errorf("%q finds %v", text, found)
				}
			}
		}
	}
	for _, text := range []string{"zoë.o'brien+7@mail.bücher.examples", "Zoe", "ëoz", "xq", "q", "+7@mail.bücher.example.", "zoë..o'brien"} {
		if found := p.found(o, "email?", text); len(found) > 0 {
			t.Errorf("%q finds %v", text, found)
		}
	}
	for from := range number {
		if found := p.found(o, "sms?", number[from:]); !slices.Equal(found, []string{number}) {
			t.Errorf("%q finds %v", number[from:], found)
		}
	}

	// The other organization changes and deletes its subscribers.
	p.call(others, http.StatusOK, http.MethodPut, "/api/v1/email/"+p.legacyID(others, url.QueryEscape(address))+"/", object{"email": "new@name.example"})
	apitest.Eventually(t, "the new address is found", func() bool { return len(p.found(others, "email?", "new@name")) == 1 })
	if old := p.found(others, "email?", "o'brien"); len(old) > 0 {
		t.Errorf("the former address finds %v", old)
	}
	changed := p.app(others, http.StatusOK, http.MethodGet, "email?q=name.example", nil).Subscribers
	p.app(others, http.StatusNoContent, http.MethodDelete, "email/"+changed[0].ID, nil)
	if left := p.found(others, "email?", "new@name"); len(left) > 0 {
		t.Errorf("a deleted subscriber is found: %v", left)
	}
	if found := p.found(o, "email?", "O'BRIEN"); !slices.Equal(found, []string{address}) {
		t.Errorf("the subscriber of the first organization: %v", found)
	}
}

// A number is found in the forms in which people write numbers. A text that is in numbers is not taken for another form.
func TestASearchFindsANumberAsPeopleWriteIt(t *testing.T) {
	p := start(t)
	o := p.organization()
	const german, american, french = "+4915112345678", "+12004915550", "+33149110012"
	for _, number := range []string{german, american, french} {
		p.app(o, http.StatusCreated, http.MethodPost, "sms", object{"dashboardId": o.dashboard, "phone": number, "confirmed": true})
	}
	for text, want := range map[string][]string{
		"+49 151 12345678": {german}, "+49 (0)151 123-456 78": {german}, "+49 (0151) 12345678": {german}, "0049 151 12345678": {german}, " 0049 (0)151/12345678 ": {german}, "0151 1234 5678": {german},
		"0049 151": {german}, "+49 (0)151 12": {german}, "(0151) 12": {german}, "0151": {german}, "151-123": {german}, "0033 1 49 11": {french},
		"0049": {american}, "0012": {french}, "00 49 15": {american}, "15112345678": {german}, "+49": {german}, "9": {american, french, german},
		"0049 152": nil, "+49 (0)152 12345678": nil, "0 30": nil, "()": {american, french, german}, "00": {american, french},
	} {
		if found := p.found(o, "sms?", text); !slices.Equal(found, want) {
			t.Errorf("%q finds %v, want %v", text, found, want)
		}
	}
	if found := p.found(o, "sms?limit=1&", "0151 12"); !slices.Equal(found, []string{german}) {
		t.Errorf("a page of one finds %v", found)
	}
}

// The pages of a search by number are in one form of the number, although a number that comes later has the text in another form.
func TestASearchKeepsTheFormOfItsFirstPage(t *testing.T) {
	p := start(t)
	o := p.organization()
	add := func(number string) {
		p.app(o, http.StatusCreated, http.MethodPost, "sms", object{"dashboardId": o.dashboard, "phone": number, "confirmed": true})
	}
	for _, number := range []string{"+4915111000001", "+4915111000002", "+4915111000003"} {
		add(number)
	}
	var seen []string
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		page := p.app(o, http.StatusOK, http.MethodGet, "sms?limit=1&q="+url.QueryEscape("0151 11")+next, nil)
		for _, s := range page.Subscribers {
			seen = append(seen, s.Phone)
		}
		if pages == 0 {
			add("+61401511123")
		}
		if next = ""; page.NextToken != nil {
			next = "&nextToken=" + url.QueryEscape(*page.NextToken)
		}
	}
	p.equal("the pages", seen, []string{"+4915111000001", "+4915111000002", "+4915111000003", "+61401511123"})
}
