package integrations_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// listen consumes topics of the service.
func (p *platform) listen(topics ...string) *apitest.Heard {
	p.t.Helper()
	return apitest.Listen(p.t, p.bus, topics...)
}

// visitors are the visitors of an organization's first dashboard, who read the mail that they get.
type visitors struct {
	*platform
	organization
	heard *apitest.Heard
	ip    string
	base  string // URL below which the forms are
}

// offer publishes the organization's dashboard with the channels of endpoints.
func (p *platform) offer(o organization, h *apitest.Heard) *visitors {
	p.t.Helper()
	dashboard := topic.DashboardRecord{
		ID: o.dashboard, Name: "Main", Slug: o.dashboard, URL: "http://d.test/d/" + o.dashboard,
		Components: []topic.ComponentRecord{{ID: o.one, Name: "API"}, {ID: o.two, Name: "Website"}, {ID: o.hidden, Name: "Secret", Hidden: true}},
	}
	p.upstream.put(o.id, -1, dashboard)
	p.upstream.publish(topic.PublicAddress{Slug: o.dashboard}, o.id, dashboard, topic.Email, topic.Webhook, topic.Teams)
	p.upstream.publish(topic.PublicAddress{Host: o.host()}, o.id, dashboard, topic.Webhook, topic.Teams)
	number := p.ips.Add(1)
	return &visitors{p, o, h, fmt.Sprintf("198.18.%d.%d", number/250, number%250), "/d/" + o.dashboard + "/subscribe"}
}

func (o organization) host() string { return o.dashboard + ".example" }

// page is a response to a visitor.
type page struct {
	status int
	header http.Header
	text   string
}

func (v *visitors) passport() string {
	return v.signer.Sign(passport.Passport{Audience: "integrations", Surface: passport.Public, IP: v.ip})
}

// send sends a visitor's request. A form is sent as a browser does it.
func (v *visitors) send(method, path string, form url.Values, header http.Header) page {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "text/html,*/*")
	request.Header.Set(passport.Header, v.passport())
	for name := range header {
		request.Header.Set(name, header.Get(name))
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{response.StatusCode, response.Header, string(content)}
}

func (v *visitors) must(status int, method, path string, form url.Values) page {
	v.t.Helper()
	got := v.send(method, path, form, nil)
	if got.status != status {
		v.t.Fatalf("%s %s returned %d %s, want %d", method, path, got.status, got.text, status)
	}
	return got
}

// subscribe asks for a webhook by the form.
func (v *visitors) subscribe(to, mail string, components ...string) page {
	v.t.Helper()
	return v.must(http.StatusSeeOther, http.MethodPost, v.base+"/webhook", url.Values{"url": {to}, "managementEmail": {mail}, "componentIds": components})
}

// notices returns the mails of a kind about endpoints on a host that the service has asked delivery to send.
func (v *visitors) notices(kind topic.Kind, host string) []topic.Notice {
	v.t.Helper()
	var out []topic.Notice
	for _, notice := range apitest.Messages[topic.Notice](v.t, v.heard, topic.Notices) {
		if notice.Kind == kind && notice.Organization == v.id && strings.HasPrefix(notice.Endpoint.URLDisplay, host) {
			out = append(out, notice)
		}
	}
	return out
}

// mail waits for the nth mail of a kind about an endpoint on a host, and resolves it as delivery does.
func (v *visitors) mail(kind topic.Kind, host string, n int) topic.Destination {
	v.t.Helper()
	var notice topic.Notice
	apitest.Eventually(v.t, fmt.Sprintf("mail %d %s about %s", n, kind, host), func() bool {
		found := v.notices(kind, host)
		if len(found) >= n {
			notice = found[n-1]
		}
		return len(found) >= n
	})
	if notice.Channel != topic.Email || notice.Service != topic.Integrations {
		v.t.Errorf("the notice is %+v", notice)
	}
	found, err := v.recipients().Resolve(v.t.Context(), v.id, topic.ResolveQuery{Kind: kind, Channel: topic.Email, IDs: []string{notice.Recipient}})
	if err != nil {
		v.t.Fatal(err)
	}
	return found[0]
}

// follow returns the path and query of a link in a mail.
func (v *visitors) follow(link, purpose string) string {
	v.t.Helper()
	path, is := strings.CutPrefix(link, "https://status.example.com")
	if !is || !strings.HasPrefix(path, "/public/endpoints/"+purpose+"?token=") {
		v.t.Fatalf("the link is %q", link)
	}
	return path
}

// request subscribes a URL and returns the path of the link that verifies it.
func (v *visitors) request(host string) string {
	v.t.Helper()
	v.subscribe("https://"+host+"/hook", id()+"@example.com", v.one)
	return v.follow(v.mail(topic.EndpointVerify, host, 1).Link, "verify")
}

// verified subscribes and verifies a URL. It returns the link that verified it, and the link that manages it.
func (v *visitors) verified(host string) (used, manage string) {
	v.t.Helper()
	used = v.request(host)
	shown := v.must(http.StatusOK, http.MethodPost, used, nil).text
	return used, managePath(v.t, shown)
}

// managePath returns the path of the page that manages the endpoint, to which a page leads.
func managePath(t testing.TB, page string) string {
	t.Helper()
	return "/public/endpoints/manage" + apitest.Between(t, page, `href="manage`, `"`)
}

// listed returns the endpoint on a host as the App interface shows it.
func (v *visitors) listed(host string) *record {
	v.t.Helper()
	list := v.call(v.organization, http.StatusOK, http.MethodGet, path+"?limit=100", nil)
	for _, e := range list.Endpoints {
		if strings.HasPrefix(e.URLDisplay, host+"/") {
			return &e
		}
	}
	return nil
}

// visitorsOf returns the variables of a script about visitors: tokens of links in each state.
func (p *platform) visitorsOf(script string, o organization, h *apitest.Heard) map[string]string {
	p.t.Helper()
	if !strings.Contains(script, "visitor_") {
		return nil
	}
	v, full := p.offer(o, h), p.offer(p.organization(0), h)
	token := func(link string) string { return apitest.Between(p.t, link+"\n", "token=", "\n") }
	lock := func(host string) {
		p.call(o, http.StatusOK, http.MethodPatch, path, map[string]any{"dashboardId": o.dashboard, "urlHash": v.listed(host).URLHash, "locked": true})
	}
	vars := map[string]string{"visitor": v.passport(), "slug": o.dashboard, "host": o.host(), "hidden": o.hidden}
	vars["fresh"] = token(v.request("fresh.example"))
	vars["full"] = token(full.request("full.example"))
	vars["refused"] = token(v.request("refused.example"))
	lock("refused.example")
	for _, host := range []string{"known.example", "locked.example", "ended.example"} {
		used, manage := v.verified(host)
		v.subscribe("https://"+host+"/hook", v.listed(host).ManagementEmail)
		name, _, _ := strings.Cut(host, ".")
		vars[name+"Verify"], vars[name+"Manage"] = token(used), token(manage)
		vars[name+"Unsubscribe"] = token(v.mail(topic.EndpointManage, host, 1).Unsubscribe)
	}
	lock("locked.example")
	v.must(http.StatusOK, http.MethodPost, "/public/endpoints/unsubscribe?token="+vars["endedUnsubscribe"], nil)

	busy := p.offer(o, h)
	counter, err := quota.New(boot.Redis{RedisURL: apitest.Patient(p.redis.URL())}, slog.New(slog.DiscardHandler), p.now)
	if err != nil {
		p.t.Fatal(err)
	}
	defer counter.Close()
	for counter.MailFrom(p.t.Context(), busy.ip) == 0 {
	}
	vars["busy"] = busy.passport()
	return vars
}

// endpoints is the events service's end of the calls to the service.
func (p *platform) endpoints() peer.Endpoints { return peer.Endpoints{Client: p.recipients().Client} }
