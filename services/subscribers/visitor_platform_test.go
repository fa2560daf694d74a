package subscribers_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/stream"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// public is what visitors find at an address.
type public struct {
	organization, dashboard, slug string
	channels                      []topic.Channel
}

// publics adds the operations that the forms of visitors call.
func (e *events) publics(mux *http.ServeMux, signer *passport.Signer) {
	serve := func(pattern string, find func(r *http.Request) (any, bool)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p, err := signer.Verify(r.Header.Get(passport.Header), "events")
			if err != nil || p.Surface != passport.Peer {
				refuse(w, fault.Denied)
				return
			}
			if e.down.Load() {
				refuse(w, fault.Unavailable)
				return
			}
			found, ok := find(r)
			if !ok {
				refuse(w, fault.NotFound)
				return
			}
			json.NewEncoder(w).Encode(found)
		})
	}
	serve("POST "+peer.Prefix+"/public-dashboards/lookup", func(r *http.Request) (any, bool) {
		var at topic.PublicAddress
		if json.NewDecoder(r.Body).Decode(&at) != nil {
			return nil, false
		}
		e.mu.Lock()
		found, exists := e.public[at]
		e.mu.Unlock()
		for _, d := range e.shown(found.organization) {
			if exists && d.ID == found.dashboard {
				d.Slug, d.Channels = found.slug, found.channels
				return topic.PublicDashboard{DashboardRecord: d, Organization: found.organization}, true
			}
		}
		return nil, false
	})
	serve("GET "+peer.Prefix+"/dashboards/{id}/frame", func(r *http.Request) (any, bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, boards := range e.boards {
			for _, d := range boards {
				if d.ID == r.PathValue("id") {
					return peer.Frame{
						Before: "<!DOCTYPE html><title>", Between: " – frame of " + d.ID + "</title>", Policy: "default-src 'none'; style-src 'sha256-frame'", Lang: cmp.Or(d.Locale, "en"),
					}, true
				}
			}
		}
		return nil, false
	})
}

// listen consumes topics of the service.
func (p *platform) listen(topics ...string) *apitest.Heard {
	p.t.Helper()
	return apitest.Listen(p.t, p.bus, topics...)
}

// visitors are the visitors of a dashboard of an organization, who read the messages that they get.
type visitors struct {
	*platform
	organization
	heard     *apitest.Heard
	dashboard string
	ip        string
	base      string            // URL below which the forms are
	ids       map[string]string // ids of subscribers, by address
}

// offer publishes the organization's first dashboard with channels; none: all of people and webhook.
func (p *platform) offer(o organization, h *apitest.Heard, channels ...topic.Channel) *visitors {
	p.t.Helper()
	return p.offerAt(o, h, p.events.shown(o.id)[0].ID, channels...)
}

func (p *platform) offerAt(o organization, h *apitest.Heard, dashboard string, channels ...topic.Channel) *visitors {
	if len(channels) == 0 {
		channels = []topic.Channel{topic.Email, topic.SMS, topic.WhatsApp, topic.Webhook}
	}
	offered := public{organization: o.id, dashboard: dashboard, slug: dashboard, channels: channels}
	p.events.mu.Lock()
	p.events.public[topic.PublicAddress{Slug: offered.slug}] = offered
	p.events.public[topic.PublicAddress{Host: dashboard + ".example"}] = offered
	p.events.mu.Unlock()
	number := p.ips.Add(1)
	return &visitors{p, o, h, dashboard, fmt.Sprintf("198.18.%d.%d", number/250, number%250), "/d/" + dashboard + "/subscribe", map[string]string{}}
}

// page is a response to a visitor.
type page struct {
	status int
	header http.Header
	text   string
}

func (v *visitors) passport() string {
	return v.signer.Sign(passport.Passport{Audience: "subscribers", Surface: passport.Public, IP: v.ip})
}

// send sends a visitor's request. A form is sent as a browser does it.
func (v *visitors) send(method, path, body string, header http.Header) page {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(body))
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
	got := v.send(method, path, form.Encode(), nil)
	if got.status != status {
		v.t.Fatalf("%s %s returned %d %s, want %d", method, path, got.status, got.text, status)
	}
	return got
}

// ask subscribes by the form of a channel.
func (v *visitors) ask(channel topic.Channel, address string, components ...string) page {
	v.t.Helper()
	field := "phone"
	if channel == topic.Email {
		field = "email"
	}
	return v.must(http.StatusSeeOther, http.MethodPost, v.base+"/"+string(channel), url.Values{field: {address}, "componentIds": components})
}

// notices returns the messages of a kind to the subscriber of an address that the service has asked delivery to send. It
// resolves each as delivery does.
func (v *visitors) notices(kind topic.Kind, address string) []topic.Destination {
	v.t.Helper()
	var out []topic.Destination
	for _, notice := range apitest.Messages[topic.Notice](v.t, v.heard, topic.Notices) {
		if notice.Kind != kind || notice.Organization != v.id {
			continue
		}
		if notice.Service != topic.Subscribers || len(notice.Destination) != 64 {
			v.t.Errorf("the notice is %+v", notice)
		}
		found, err := v.recipients().Resolve(v.t.Context(), v.id, topic.ResolveQuery{Kind: kind, Channel: notice.Channel, IDs: []string{notice.Recipient}})
		if err != nil {
			v.t.Fatal(err)
		}
		if found[0].Address == address && found[0].Dashboard.ID == v.dashboard {
			out = append(out, found[0])
		}
	}
	return out
}

// message waits for the nth message of a kind to an address.
func (v *visitors) message(kind topic.Kind, address string, n int) topic.Destination {
	v.t.Helper()
	var found []topic.Destination
	apitest.Eventually(v.t, fmt.Sprintf("message %d %s to %s", n, kind, address), func() bool {
		found = v.notices(kind, address)
		return len(found) >= n
	})
	v.ids[address] = found[n-1].ID
	return found[n-1]
}

// follow returns the path and query of a link in a message.
func (v *visitors) follow(link, purpose string) string {
	v.t.Helper()
	path, is := strings.CutPrefix(link, "https://status.example.com")
	if !is || !strings.HasPrefix(path, "/public/"+purpose+"?token=") {
		v.t.Fatalf("the link is %q", link)
	}
	if len(path) > len("/public/"+purpose+"?token=")+58 {
		v.t.Fatalf("the link is too long for a text: %q", link)
	}
	return path
}

// request subscribes a mail address and returns the path of the link that confirms it.
func (v *visitors) request(address string, components ...string) string {
	v.t.Helper()
	v.ask(topic.Email, address, components...)
	return v.follow(v.message(topic.SubscriberConfirm, address, 1).Link, "confirm")
}

// confirmed subscribes and confirms a mail address. It returns the link that confirmed it, and the link that manages it.
func (v *visitors) confirmed(address string, components ...string) (used, manage string) {
	v.t.Helper()
	used = v.request(address, components...)
	shown := v.must(http.StatusOK, http.MethodPost, used, nil)
	return used, shown.manage(v.t)
}

// state returns what delivery gets for a message about an event to an address that has asked.
func (v *visitors) state(address string) topic.Destination {
	v.t.Helper()
	return v.resolve(v.organization, v.ids[address])[0]
}

// told reports whether a change of the component is sent to an address that has asked.
func (v *visitors) told(channel topic.Channel, address, component string) bool {
	v.t.Helper()
	page, err := v.recipients().Concerned(v.t.Context(), v.id, topic.RecipientQuery{Kind: topic.IncidentCreated, Channel: channel, Components: []string{component}, Limit: 1000})
	if err != nil {
		v.t.Fatal(err)
	}
	return slices.ContainsFunc(page.Recipients, func(r topic.Recipient) bool { return r.ID == v.ids[address] }) &&
		v.state(address).State == topic.RecipientActive
}

var tags = regexp.MustCompile(`<[^>]*>`)

// plain returns the text of a page.
func (p page) plain() string { return html.UnescapeString(tags.ReplaceAllString(p.text, "")) }

// manage returns the path of the page that manages the subscription, to which a page leads.
func (p page) manage(t testing.TB) string {
	t.Helper()
	return "/public/manage" + apitest.Between(t, p.text, `href="manage`, `"`)
}

// exhaust uses up what the visitor may send from the IP address.
func (v *visitors) exhaust() {
	v.t.Helper()
	counter, err := quota.New(boot.Redis{RedisURL: apitest.Patient(v.redis.URL())}, slog.New(slog.DiscardHandler), v.now)
	if err != nil {
		v.t.Fatal(err)
	}
	defer counter.Close()
	for counter.MailFrom(v.t.Context(), v.ip) == 0 {
	}
	for counter.TextFrom(v.t.Context(), v.ip) == 0 {
	}
	for counter.Code(v.t.Context(), v.ip) == 0 {
	}
}

// visitorsOf returns the variables of a script about visitors: tokens of links in each state.
func (p *platform) visitorsOf(script string, o organization, h *apitest.Heard) map[string]string {
	p.t.Helper()
	vars := map[string]string{"visitor": p.signer.Sign(passport.Passport{Audience: "subscribers", Surface: passport.Public})}
	if !strings.Contains(script, "visitor_") {
		return vars
	}
	v := p.offer(o, h)
	token := func(link string) string { return apitest.Between(p.t, link+"\n", "token=", "\n") }
	vars["visitor"], vars["slug"], vars["host"] = v.passport(), v.dashboard, v.dashboard+".example"
	mail := func(name string) string { return name + "." + o.id + "@example.com" } // each may get three an hour
	vars["fresh"] = token(v.request(mail("fresh")))
	for _, name := range []string{"known", "other", "locked", "ended"} {
		used, manage := v.confirmed(mail(name), o.services[0].ID)
		vars[name+"Confirm"], vars[name+"Manage"] = token(used), token(manage)
		vars[name+"Unsubscribe"] = token(v.state(mail(name)).Unsubscribe)
	}
	v.lock(mail("locked"), true)
	v.must(http.StatusOK, http.MethodPost, "/public/unsubscribe?token="+vars["endedUnsubscribe"], url.Values{"List-Unsubscribe": {"One-Click"}})
	number := fmt.Sprintf("+49151%08d", p.ips.Load())
	v.ask(topic.SMS, number)
	vars["phone"], vars["code"] = number, v.message(topic.SubscriberConfirm, number, 1).Code
	vars["wrong"] = "000000"
	if vars["code"] == vars["wrong"] {
		vars["wrong"] = "000001"
	}
	busy := p.offer(o, h)
	busy.exhaust()
	vars["busy"] = busy.passport()
	return vars
}

// lock locks the subscriber of an address that has asked, or ends that.
func (v *visitors) lock(address string, locked bool) {
	v.t.Helper()
	channel := "sms"
	if strings.Contains(address, "@") {
		channel = "email"
	}
	got := v.platform.send(v.signer.Sign(v.organization.app(passport.RoleAdmin)), http.MethodPatch, "/app/subscribers/"+channel+"/"+v.ids[address], object{"locked": locked})
	if got.status != http.StatusOK {
		v.t.Fatalf("locking %s returned %d %s", address, got.status, got.text)
	}
}

// publishTo publishes a message of another service.
func (p *platform) publishTo(name string, value any) {
	p.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.bus.Publish(p.t.Context(), stream.Record{Topic: name, Key: "one", Value: text}); err != nil {
		p.t.Fatal(err)
	}
}
