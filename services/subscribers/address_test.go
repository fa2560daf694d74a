package subscribers_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"
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
