package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

const (
	findPath    = "/find"
	findMax     = 200 // longest text to search, in characters
	findHits    = 5   // how many results of a kind are shown
	findLimit   = "6"
	findAddress = 254 // longest address of a subscriber, in bytes
)

// findPage is the data of find.html, and of the part for the palette.
type findPage struct {
	Query   string
	Problem string
	Groups  []findGroup
	Missing []string // kinds that cannot be read
}

// Count returns the number of results.
func (d findPage) Count() (n int) {
	for _, g := range d.Groups {
		n += len(g.Hits)
	}
	return n
}

// findGroup is the results of a kind.
type findGroup struct {
	Name  string
	Hits  []findHit
	All   string // path of the list with the same search; empty: all results are shown
	Maybe bool   // the list may have more results on its next pages
}

// findHit is a result. It has an icon or the CSS class of a state.
type findHit struct{ Path, Title, Text, Icon, State string }

// finder finds the records of a kind.
type finder struct {
	name string
	role string // the member needs one of these roles, which "|" separates; empty: none
	find func(v *visit, text string) (findGroup, error)
}

func finders() []finder {
	either := passport.RoleEvent + "|" + passport.RoleSubscriber
	all := []finder{
		{"Events", passport.RoleEvent, findEvents},
		{"Components", either, findComponents},
		{"Dashboards", either, findDashboards},
	}
	for _, channel := range app.AddressChannels() {
		all = append(all, finder{"Subscribers " + wordsOf(channel).By, passport.RoleSubscriber, findSubscribers(channel)})
	}
	return append(all, finder{"Members", passport.RoleAdmin, findMembers})
}

// find shows the results for the text in the address.
func (p *pages) find(v *visit) error {
	data := v.found()
	status := http.StatusOK
	if data.Problem != "" {
		status = http.StatusUnprocessableEntity
	}
	return v.show(status, "find.html", "Find", data)
}

// findPart responds with the results for the palette.
func (p *pages) findPart(v *visit) error { return v.renderPart("part-find", v.found()) }

// found searches all kinds at the same time. If a kind cannot be read, found adds the kind's name to Missing and returns the
// other results. Without a text, it returns the pages and the newest events.
func (v *visit) found() findPage {
	data := findPage{Query: strings.TrimSpace(v.Query("q"))}
	if utf8.RuneCountInString(data.Query) > findMax || !utf8.ValidString(data.Query) {
		data.Problem = "Search for at most 200 characters."
		return data
	}
	kinds := slices.DeleteFunc(finders(), func(f finder) bool { return f.role != "" && !v.caller.Has(strings.Split(f.role, "|")...) })
	if data.Query == "" {
		kinds = slices.DeleteFunc(kinds, func(f finder) bool { return f.name != "Events" })
	}
	groups, missing := make([]findGroup, len(kinds)), make([]bool, len(kinds))
	exact := make([]*findHit, len(kinds))
	var work sync.WaitGroup
	for i, kind := range kinds {
		work.Go(func() {
			err := fault.Recovered(func() (err error) {
				groups[i], err = kind.find(v, data.Query)
				return err
			})
			groups[i].Name = kind.name
			missing[i] = unreadable(err)
		})
		work.Go(func() {
			_ = fault.Recovered(func() error { exact[i] = v.exactly(kind.name, data.Query); return nil }) // after a panic, there is no exact result
		})
	}
	work.Wait()
	own := findGroup{Name: "Pages", Hits: v.findPages(data.Query)}
	direct := findGroup{Name: "Exactly this"}
	for _, hit := range exact {
		if hit != nil {
			direct.Hits = append(direct.Hits, *hit)
		}
	}
	for _, g := range slices.Concat([]findGroup{direct, own}, groups) {
		if len(g.Hits) > 0 || g.Maybe {
			data.Groups = append(data.Groups, g)
		}
	}
	for i, gone := range missing {
		if gone {
			data.Missing = append(data.Missing, kinds[i].name)
		}
	}
	return data
}

// unreadable reports whether a search failed. A refused search has not failed, because it finds nothing, unless there were
// too many requests.
func unreadable(err error) bool {
	failed := app.As(err)
	return err != nil && (failed == nil || failed.Status >= http.StatusInternalServerError || failed.Status == http.StatusTooManyRequests)
}

// exactly returns the record of a kind whose id is the text, or whose id of the legacy interface is the text. It returns nil
// if there is none, or if the record cannot be read.
func (v *visit) exactly(kind, text string) *findHit {
	ctx := v.Request.Context()
	if id, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 52); err == nil && id > 0 {
		return v.byLegacyID(kind, url.Values{"limit": {"1"}, "legacyId": {strconv.FormatInt(id, 10)}})
	}
	if uuid.Validate(text) != nil {
		return nil
	}
	switch kind {
	case "Events":
		if found, err := v.app.Event(ctx, text); err == nil {
			return new(hitOfEvent(found.Event.Event))
		}
	case "Components":
		if found, err := v.app.Component(ctx, text); err == nil {
			return new(hitOfComponent(found.Component))
		}
	case "Dashboards":
		if found, err := v.app.Dashboard(ctx, text); err == nil {
			return new(hitOfDashboard(found.Dashboard))
		}
	case "Members":
		if found, err := v.app.User(ctx, text); err == nil {
			return new(hitOfMember(found.User))
		}
	}
	for _, channel := range app.AddressChannels() {
		if kind == "Subscribers "+wordsOf(channel).By {
			if found, err := v.app.Subscriber(ctx, channel, text); err == nil {
				return new(hitOfSubscriber(channel, found.Subscriber))
			}
		}
	}
	return nil
}

// byLegacyID returns the record of a kind that the query finds by its id of the legacy interface, or nil. Only events,
// components and dashboards have such an id.
func (v *visit) byLegacyID(kind string, query url.Values) *findHit {
	ctx := v.Request.Context()
	switch kind {
	case "Events":
		if found, err := v.app.Events(ctx, query); err == nil && len(found.Events) > 0 {
			return new(hitOfEvent(found.Events[0]))
		}
	case "Components":
		if found, err := v.app.Components(ctx, query); err == nil && len(found.Components) > 0 {
			return new(hitOfComponent(found.Components[0]))
		}
	case "Dashboards":
		if found, err := v.app.Dashboards(ctx, query); err == nil && len(found.Dashboards) > 0 {
			return new(hitOfDashboard(found.Dashboards[0]))
		}
	}
	return nil
}

// groupOf returns a group with at most findHits results. If there may be more, it sets All to all, the path of the list that
// has all results. next is the token of the list's next page.
func groupOf[T any](items []T, hit func(T) findHit, all string, next *string) findGroup {
	g := findGroup{Maybe: next != nil && len(items) <= findHits}
	if len(items) > findHits || next != nil {
		g.All = all
	}
	for _, item := range items[:min(findHits, len(items))] {
		g.Hits = append(g.Hits, hit(item))
	}
	return g
}

func findQuery(text string) url.Values {
	return filled(map[string]string{"limit": findLimit, "q": text})
}

func findEvents(v *visit, text string) (findGroup, error) {
	found, err := v.app.Events(v.Request.Context(), findQuery(text))
	return groupOf(found.Events, hitOfEvent, eventsPath+"?view=all&"+url.Values{"q": {text}}.Encode(), found.NextToken), err
}

func hitOfEvent(e app.Event) findHit {
	text := word(e.Status)
	if !e.Publish {
		text = "Draft"
	}
	return findHit{Path: eventAt(e.ID), Title: e.Title, Text: text, State: stateOf(e)}
}

func findComponents(v *visit, text string) (findGroup, error) {
	found, err := v.app.Components(v.Request.Context(), findQuery(text))
	return groupOf(found.Components, hitOfComponent, componentsPath+"?"+url.Values{"q": {text}}.Encode(), found.NextToken), err
}

func hitOfComponent(c app.Component) findHit {
	return findHit{Path: componentsPath + "/" + c.ID, Title: c.Name, Text: word(c.Status), State: classOf(c.Status)}
}

func findDashboards(v *visit, text string) (findGroup, error) {
	found, err := v.app.Dashboards(v.Request.Context(), findQuery(text))
	return groupOf(found.Dashboards, hitOfDashboard, dashboardsPath+"?"+url.Values{"q": {text}}.Encode(), found.NextToken), err
}

func hitOfDashboard(d app.Dashboard) findHit {
	hit := findHit{Path: dashboardsPath + "/" + d.ID, Title: d.Name, Text: dashboardsPage{}.Text(d), State: dashboardClass(d)}
	if hit.State == "" {
		hit.Icon = "screen"
	}
	return hit
}

func findSubscribers(channel app.Channel) func(*visit, string) (findGroup, error) {
	return func(v *visit, text string) (findGroup, error) {
		if len(text) > findAddress {
			return findGroup{}, nil
		}
		found, err := v.app.Subscribers(v.Request.Context(), channel, findQuery(text))
		hit := func(s app.Subscriber) findHit { return hitOfSubscriber(channel, s) }
		return groupOf(found.Subscribers, hit, subscribersAt(channel)+"?"+url.Values{"q": {text}}.Encode(), found.NextToken), err
	}
}

func hitOfSubscriber(channel app.Channel, s app.Subscriber) findHit {
	text := "Gets messages"
	switch {
	case s.Suppressed:
		text = "Suppressed"
	case !s.Confirmed:
		text = "Not confirmed"
	case s.Paused:
		text = "Paused"
	}
	return findHit{Path: subscribersAt(channel) + "/" + s.ID, Title: s.Address(), Text: text, Icon: wordsOf(channel).Icon}
}

func findMembers(v *visit, text string) (findGroup, error) {
	found, err := v.app.Users(v.Request.Context())
	matching := slices.DeleteFunc(found.Users, func(u app.User) bool { return !isMember(u, text) })
	g := groupOf(matching, hitOfMember, usersPath+"?"+url.Values{"q": {text}}.Encode(), nil)
	return g, err
}

func hitOfMember(u app.User) findHit {
	text := u.Email
	if u.Disabled {
		text = "Disabled"
	}
	return findHit{Path: usersPath + "/" + u.UserID, Title: nameOf(u), Text: text, Icon: "person"}
}

// findPages returns the pages for which each word of the text begins a word of their title or of their other words. Without a
// text, it returns all. It leaves out single dashboards.
func (v *visit) findPages(text string) (hits []findHit) {
	groups, _ := v.navigation("")
	items := v.actions()
	for _, group := range groups {
		items = append(items, group.Items...)
	}
	for _, item := range items {
		words := plain(" " + item.Label + " " + item.words)
		if item.State == "" && item.Path != "" && !slices.ContainsFunc(strings.Fields(plain(text)), func(word string) bool { return !strings.Contains(words, " "+word) }) {
			hits = append(hits, findHit{Path: item.Path, Title: item.Label, Icon: cmp.Or(item.Icon, "next")})
		}
	}
	return hits
}

// plain returns a text in lower case, in which the parts of a word such as two-factor are words.
func plain(text string) string { return strings.ReplaceAll(strings.ToLower(text), "-", " ") }

// actions returns the pages that are not in the navigation and that the member may open.
func (v *visit) actions() []navItem {
	either := passport.RoleEvent + "|" + passport.RoleSubscriber
	items := []navItem{
		{Path: newEventPath, Label: "Report an incident", Icon: "plus", role: passport.RoleEvent, words: "new event outage"},
		{Path: newEventPath + "/maintenance", Label: "Plan maintenance", Icon: "calendar", role: passport.RoleEvent, words: "new event schedule"},
		{Path: eventsPath + "?view=drafts", Label: "Drafts", Icon: "edit", role: passport.RoleEvent, words: "events unpublished"},
		{Path: newTemplatePath, Label: "New template", Icon: "plus", role: passport.RoleEvent},
		{Path: componentsPath + "/new", Label: "Add a component", Icon: "plus", role: passport.RoleAdmin, words: "new"},
		{Path: dashboardsPath, Label: "Dashboards", Icon: "screen", role: either, words: "public pages status"},
		{Path: integrationsAt(app.Webhook) + "/new", Label: "Add a webhook", Icon: "plus", role: passport.RoleSubscriber, without: !v.caller.Features.Integrations, words: "new endpoint integration outbound"},
		{Path: integrationsAt(app.Webhook) + "/suppression", Label: "Suppressed URLs", Icon: "lock", role: passport.RoleSubscriber, words: "suppressions endpoints integrations failed"},
		{Path: whyPath, Label: "Why did somebody get nothing?", Icon: "message", role: passport.RoleSubscriber, words: "deliveries messages missing not received lost rule"},
		{Path: usersPath + "/new", Label: "Invite a member", Icon: "plus", role: passport.RoleAdmin, words: "new user colleague"},
		{Path: "/profile/security/password", Label: "Change the password", Icon: "lock", words: "new security account"},
		{Path: "/profile/security/app", Label: "Authenticator app", Icon: "phone", words: "second factor totp two 2fa"},
		{Path: shortcutsPath, Label: "Keyboard shortcuts", Icon: "key", words: "keys help"},
		{Path: "/sign-out", Label: "Sign out", Icon: "out", words: "leave log out end session"},
	}
	for _, channel := range app.AddressChannels() {
		at, of := subscribersAt(channel), wordsOf(channel)
		items = append(items, navItem{Path: at + "/new", Label: "Add a subscriber " + of.By, Icon: "plus", role: passport.RoleSubscriber, words: "new " + of.Address},
			navItem{Path: at + "/import", Label: "Import subscribers " + of.By, Icon: "plus", role: passport.RoleSubscriber, words: "csv file rows " + of.Address})
	}
	return slices.DeleteFunc(items, func(item navItem) bool { return !v.mayOpen(item) })
}

// mayOpen reports whether the plan and the member's roles allow the page.
func (v *visit) mayOpen(item navItem) bool {
	return !item.without && (item.role == "" || v.caller.Has(strings.Split(item.role, "|")...))
}
