package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestATextIsPreviewedAsDashboardsShowIt(t *testing.T) {
	b := open(t, "Ada")
	form := url.Values{"message": {"**We** look.\n\n- <b>one</b>\n"}, "title": {"x"}, "notify": {"email", "sms"}}
	b.expect(b.send(post, "/console/parts/text?name=message", form), http.StatusOK, "<strong>We</strong> look.", "&lt;b&gt;one&lt;/b&gt;", "data-text-shown")
	b.expect(b.send(post, "/console/parts/text?name=nothing", form), http.StatusOK, "data-text-shown></div>")
	b.expect(b.send(post, "/console/parts/text?name=message", url.Values{"message": {strings.Repeat("x", 1<<20)}}), http.StatusRequestEntityTooLarge)
	for _, path := range []string{"/console/templates/new", "/console/events/new"} {
		b.expect(b.get(path), http.StatusOK, `formaction="/console/parts/text?name=message" formtarget="_blank"`)
	}
}
