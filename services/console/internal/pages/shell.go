package pages

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/assets"
)

//go:embed templates/*.html
var templateFiles embed.FS

type templates struct{ *template.Template }

// parts are the files and the templates, which all pages share.
type parts struct {
	files     *assets.Files
	templates templates
}

// readParts compresses the files and parses the templates once for the process, because the tests start many consoles.
var readParts = sync.OnceValues(func() (parts, error) {
	files, err := assets.New()
	if err != nil {
		return parts{}, err
	}
	parsed, err := parseTemplates(files)
	return parts{files, parsed}, err
})

// parseTemplates parses all templates.
func parseTemplates(files *assets.Files) (templates, error) {
	icons := files.Address("icons.svg")
	// Class and name are constants in templates and in Go code, never texts of members, so the HTML is safe.
	use := func(class, name string) template.HTML {
		return template.HTML(`<svg class="` + class + `" aria-hidden="true"><use href="` + icons + `#` + name + `"/></svg>`)
	}
	parsed, err := template.New("").Funcs(template.FuncMap{
		"icon":  func(name string) template.HTML { return use("g", name) },
		"tint":  func(name, class string) template.HTML { return use("g "+class, name) },
		"state": func(class string) template.HTML { return use("i "+class, "i-"+class) },
		// The sign of a state has an id. A page that shows the sign thousands of times refers to this id, so that the page is
		// smaller.
		"sign": func(class string) template.HTML {
			return template.HTML(`<svg class="i ` + class + `" aria-hidden="true"><g id="sign-` + class + `"><use href="` + icons + `#i-` + class + `"/></g></svg>`)
		},
		"asset": files.Address,
		"role":  roleLabel,
		"face":  initials,
		"plus":  func(a, b int) int { return a + b }, "amount": func(n int) string { return amount(n, false) }, "counted": counted, "are": are,
		"word": word, "statusIcon": statusIcon, "stateOf": stateOf, "severity": severityLabel, "rich": richHTML, "plain": richtext.Text, "inNotation": inNotation, "classOf": classOf, "kindOfMessage": kindOfMessage, "deliveryStatus": deliveryStatus, "reasonOf": reasonOf, "startHint": startHint, "afterWait": afterWait,
	}).ParseFS(templateFiles, "templates/*.html")
	return templates{parsed}, err
}

// page is the data of a template.
type page struct {
	Title     string
	Member    *app.Profile // nil on pages without the frame
	Groups    []navGroup
	Tabs      []navItem
	Report    bool // the member may report incidents
	Notice    *notice
	Kept      bool // the script may restore the values that were typed
	Script    bool // the page needs the script of passkeys
	Order     bool // the page needs the script of order and preview
	Import    bool // the page needs the script of the import of subscribers
	Move      bool // the page needs the script of the import of a status page
	RequestID string
	Data      any

	zone *time.Location
	now  time.Time
}

// navGroup is a part of the navigation. The first group has no heading.
type navGroup struct {
	Heading string
	Items   []navItem
}

// navItem is a link of the navigation.
type navItem struct {
	Path, Label, Icon string
	Current           bool
	State             string // CSS class of the state of a dashboard; empty: the item has an icon
	StateText         string
	role              string
	tab               bool   // the narrow frame shows the link at the bottom
	alone             bool   // pages below Path do not belong to the link
	key               string // the shortcut is g and this letter; empty: there is none
	words             string // other words by which the search finds the page
	without           bool   // the plan does not include the page
	under             string // pages below this path belong to the link; empty: pages below Path
}

// navigation returns the links to the pages that the member may open, and the links that the narrow frame shows at the
// bottom. The link to which the path at belongs is Current.
func (v *visit) navigation(at string) (groups []navGroup, tabs []navItem) {
	for _, group := range []navGroup{
		{"", []navItem{
			{Path: "/", Label: "Overview", Icon: "home", tab: true, alone: true, key: "h", words: "home start checklist"},
			{Path: eventsPath, Label: "Events", Icon: "pulse", role: passport.RoleEvent, tab: true, key: "e", words: "incidents outages history"},
			{Path: templatesPath, Label: "Templates", Icon: "copy", role: passport.RoleEvent, key: "t", words: "prepared texts"},
			{Path: componentsPath, Label: "Components", Icon: "target", role: passport.RoleEvent + "|" + passport.RoleSubscriber, key: "c", words: "services parts groups"},
			{Path: subscribersAt(app.Email), Label: "Subscribers", Icon: "bell", role: passport.RoleSubscriber, under: subscribersPath + "/", key: "u", words: "mail sms whatsapp addresses recipients"},
			{Path: integrationsAt(app.Webhook), Label: "Integrations", Icon: "plug", role: passport.RoleSubscriber, under: integrationsPath + "/", without: !v.caller.Features.Integrations, key: "i", words: "webhooks endpoints teams google chat"},
			{Path: deliveriesAt("email"), Label: "Deliveries", Icon: "message", role: passport.RoleSubscriber, under: deliveriesPath + "/", key: "d", words: "messages log failed attempts replay"},
		}},
		{"Dashboards", v.dashboardItems()},
		{"Organization", []navItem{
			{Path: reportPath, Label: "Uptime report", Icon: "chart", role: passport.RoleAdmin, without: !v.caller.Features.UptimeReports, key: "r", words: "availability sla month year csv print"},
			{Path: v.inboundViews("")[0].Path, Label: "Inbound webhook", Icon: "inbox", role: passport.RoleAdmin, under: inboundPath, key: "n", words: "monitoring tools alerts keys arrivals"},
			{Path: movePath, Label: "Import", Icon: "down", role: passport.RoleAdmin, words: "move statuspage cachet uptime kuma cstate upptime openstatus gatus history"},
			{Path: "/users", Label: "Members", Icon: "people", role: passport.RoleAdmin, key: "m", words: "users people roles colleagues"},
			{Path: "/organization", Label: "Organization", Icon: "building", role: passport.RoleAdmin, key: "o", words: "name plan limits"},
			{Path: "/sign-on", Label: "Single sign-on", Icon: "door", role: passport.RoleAdmin, words: "sso openid provider"},
			{Path: setupPath, Label: "Setup", Icon: "tool", role: passport.RoleAdmin, key: "y", words: "channels test mail proxies versions backup kafka redis smtp"},
			{Path: "/audit", Label: "Audit log", Icon: "list", role: passport.RoleAdmin, key: "a", words: "history changes who"},
		}},
		{"Your account", []navItem{
			{Path: "/profile", Label: "Profile", Icon: "person", alone: true, key: "p", words: "name time zone theme dark density shortcuts preferences"},
			{Path: "/profile/security", Label: "Security", Icon: "shield", tab: !v.caller.Has(passport.RoleEvent), key: "s", words: "password passkeys second factor two 2fa sessions"},
			{Path: "/profile/keys", Label: "Keys", Icon: "key", key: "k", words: "api token legacy curl"},
		}},
	} {
		shown := navGroup{Heading: group.Heading}
		for _, item := range group.Items {
			if !v.mayOpen(item) {
				continue
			}
			item.Current = item.Path == at || !item.alone && strings.HasPrefix(at, cmp.Or(item.under, item.Path+"/")) && !strings.HasPrefix(at, newEventPath)
			shown.Items = append(shown.Items, item)
			if item.tab {
				tabs = append(tabs, item)
			}
		}
		if len(shown.Items) > 0 {
			groups = append(groups, shown)
		}
	}
	if v.caller.Has(passport.RoleEvent) {
		tabs = append(tabs, navItem{Path: newEventPath, Label: "Report", Icon: "plus", Current: at == newEventPath})
	}
	return groups, tabs
}

// Shortcuts returns the links that have a shortcut.
func (p *page) Shortcuts() (items []navItem) {
	for _, group := range p.Groups {
		for _, item := range group.Items {
			if item.key != "" {
				items = append(items, item)
			}
		}
	}
	return items
}

// Key returns the letter of the shortcut.
func (i navItem) Key() string { return i.key }

// shownDashboards is the maximum number of dashboards in the navigation. The list of dashboards has all of them.
const shownDashboards = 20

// dashboardItems returns the links to at most shownDashboards dashboards with their states, to the list if there are more, and
// to the page that adds a dashboard. If the dashboards cannot be read, it returns only the last link. It returns nil unless
// readNavigation was called.
func (v *visit) dashboardItems() (items []navItem) {
	if v.dashboards == nil {
		return nil
	}
	listed := v.dashboards()
	for _, d := range listed.Dashboards {
		items = append(items, navItem{Path: dashboardsPath + "/" + d.ID, Label: d.Name, State: dashboardClass(d), StateText: dashboardText(d)})
	}
	if listed.NextToken != nil {
		items = append(items, navItem{Path: dashboardsPath, Label: "All dashboards", Icon: "list", alone: true})
	}
	return append(items, navItem{Path: dashboardsPath + "/new", Label: "New dashboard", Icon: "plus", role: passport.RoleAdmin})
}

// show responds with the template. A signed-in member gets the page in the frame, which has the navigation.
func (v *visit) show(status int, name, title string, data any) error {
	return v.showPage(status, name, &page{Title: title, Data: data})
}

// showSecret is show for a page with a secret.
func (v *visit) showSecret(name, title string, data any) error {
	v.secret = true
	return v.show(http.StatusOK, name, title, data)
}

// showGate is show for a page without the frame, such as the sign-in.
func (v *visit) showGate(status int, name, title string, data any) error {
	return v.render(status, name, &page{Title: title, Data: data, Script: name == "sign_in.html"})
}

func (v *visit) showPage(status int, name string, shown *page) error {
	if v.signedIn() {
		profile, err := v.profile()
		if err != nil && name != "error.html" {
			return err
		}
		if err == nil {
			// A member who must set up a second factor gets only the pages of security, the page to sign in again, and pages with
			// a status other than 200.
			if profile.SecondFactorRequired && status == http.StatusOK && v.route.path != "/sign-in/again" && !strings.HasPrefix(v.route.path, "/profile/security") {
				return v.redirect("/profile/security")
			}
			shown.Member = &profile
			shown.Report = v.caller.Has(passport.RoleEvent)
			shown.Groups, shown.Tabs = v.navigation(strings.TrimPrefix(v.Request.URL.Path, root))
		}
	}
	return v.render(status, name, shown)
}

func (v *visit) render(status int, name string, shown *page) error {
	shown.RequestID, shown.now, shown.zone = v.GetHeader("X-Request-Id"), v.pages.Process.Now(), time.UTC
	if shown.Member != nil {
		if zone, err := time.LoadLocation(shown.Member.Preferences.TimeZone); err == nil {
			shown.zone = zone
		}
	}
	shown.Notice = v.takeNotice()
	if shown.Notice == nil && shown.Member != nil && status == http.StatusOK {
		switch {
		case v.kept != nil:
			shown.Notice = &notice{Text: notices("filled")}
		case v.Query("kept") != "":
			shown.Notice = &notice{Text: notices("unsent"), key: "unsent"}
		}
	}
	shown.Kept = shown.Notice != nil && (shown.Notice.key == "kept" || shown.Notice.key == "unsent")
	return v.execute(status, name, shown)
}

// renderPart responds with a part of a page, which the script reads and inserts.
func (v *visit) renderPart(name string, data any) error {
	return v.execute(http.StatusOK, name, &page{Data: data, now: v.pages.Process.Now(), zone: v.zone()})
}

func (v *visit) execute(status int, name string, shown *page) error {
	var out bytes.Buffer
	if err := v.pages.templates.ExecuteTemplate(&out, name, shown); err != nil {
		return err
	}
	v.write(status, bytes.Map(richtext.AllowedInHTML, out.Bytes()))
	return nil
}

// notice is the status line, a text at the top of a page about the last action.
type notice struct {
	Text string
	Undo string // path of a form that reverses the change; empty: there is none
	key  string
}

// Refused reports whether the status line is about an action that was not done.
func (n *notice) Refused() bool { return n.key == "not-tested" }

// notices returns the text of the status line with the key, or an empty text for an unknown key. takeNotice replaces %s with a
// name.
func notices(key string) string {
	return map[string]string{
		"saved": "Saved.", "signed-out": "You are signed out.", "kept": "You are signed in again. Check what you typed, and send it again.", "unsent": "Check the form, and send it again.",
		"confirmed": "Thank you. Nothing is changed yet.", "filled": "Thank you. Check what you typed, and send it again.",
		"password": "Your password is changed. Your other sessions have ended.", "app-removed": "The authenticator app is removed.",
		"passkey-added": "The passkey %s is added.", "passkey-renamed": "The passkey is renamed.", "passkey-removed": "The passkey is removed.",
		"session-ended": "The session has ended.", "sessions-ended": "All other sessions have ended.",
		"key-revoked": "The key is revoked.", "key-was-revoked": "%s was revoked before.", "no-legacy-key": "You have no legacy key any more.", "disabled": "%s can no longer sign in.", "enabled": "%s can sign in again.",
		"factors": "The second factors of %s are removed.", "deleted": "%s is deleted.", "mailed": "%s gets a mail with a link.",
		"published": "The event is published.", "draft": "The draft is saved. Visitors do not see it.", "updated": "The update is published.", "draft-updated": "The update is added to the draft. Visitors do not see it.", "replayed": "The message is sent again.", "withdrawn": "The event is a draft now.",
		"corrected": "The update is corrected. Nobody was notified.", "entry-deleted": "The update is deleted.", "note-deleted": "The note is deleted.", "report-deleted": "The post-mortem is deleted.",
		"sign-on-deleted": "Single sign-on is removed.", "component-added": "%s is added.", "dashboard-added": "%s is added. Choose its components.",
		"added": "%s is added.", "subscriber-asked": "%s is added. The owner is asked for a confirmation.", "subscriber-confirmed": "%s is confirmed.", "resent": "A new confirmation is on its way. Former links no longer work.",
		"pause": "%s gets no messages until you resume.", "resume": "%s gets messages again.", "lock": "%s is locked.", "unlock": "%s is unlocked.", "cleared": "The suppression of %s has ended.", "not-tested": "No test message was sent, because a URL gets at most 10 in an hour, and an organization sends at most 60. %s", "not-suppressed": "%s is not suppressed any more.", "sent": "If there is a member with this name, a mail is on its way.",
	}[key]
}

var undoForm = regexp.MustCompile(`^(/users/[0-9a-f-]{36}/(enable|disable)|/events/[0-9a-f-]{36}/(publish|withdraw)\?version=[0-9]{1,18}|/(subscribers/[a-z]+|integrations/[a-z]+/[0-9a-f]{64})/[0-9a-f-]{36}/(pause|resume|lock|unlock))$`)

// notify sets the status line of the next page.
func (v *visit) notify(key, name, undo string) {
	v.setCookie(noticeCookie, key+"."+base64.RawURLEncoding.EncodeToString([]byte(name))+"."+base64.RawURLEncoding.EncodeToString([]byte(undo)), time.Minute)
}

// done sets the status line of the next page and redirects to target.
func (v *visit) done(target, key string) error {
	v.notify(key, "", "")
	return v.redirect(target)
}

// takeNotice returns the status line that an earlier request set, and removes its cookie. It returns nil if there is none, or
// if the cookie is not valid.
func (v *visit) takeNotice() *notice {
	value := v.cookie(noticeCookie)
	if value == "" {
		return nil
	}
	v.setCookie(noticeCookie, "", ended)
	key, rest, _ := strings.Cut(value, ".")
	name64, undo64, _ := strings.Cut(rest, ".")
	name, err := base64.RawURLEncoding.DecodeString(name64)
	undo, failed := base64.RawURLEncoding.DecodeString(undo64)
	text := notices(key)
	if err != nil || failed != nil || text == "" || !utf8.Valid(name) {
		return nil
	}
	shown := &notice{Text: strings.ReplaceAll(text, "%s", isolate(string(name))), key: key}
	if undoForm.Match(undo) {
		shown.Undo = string(undo)
	}
	return shown
}

// isolate returns a name for use within a text. A name with letters that are written from right to left gets isolate
// characters around it, so that the words around the name keep their order.
func isolate(name string) string {
	for _, r := range name {
		if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) {
			return "\u2068" + name + "\u2069"
		}
	}
	return name
}

// richHTML returns a rich text as the HTML that dashboards show.
func richHTML(text string) template.HTML {
	return template.HTML(richtext.HTML(richtext.Rich, text)) // richtext.HTML returns HTML that is safe to embed
}

// initials returns the first letter or digit of each name in upper case, at most two. Pages show them beside a member.
func initials(names ...string) string {
	var letters []rune
	for _, name := range names {
		for _, r := range name {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				letters = append(letters, unicode.ToUpper(r))
				break
			}
		}
	}
	return string(letters[:min(2, len(letters))])
}

// roleLabel returns the name of a role for members.
func roleLabel(role string) string {
	switch role {
	case passport.RoleAdmin:
		return "Administrator"
	case passport.RoleEvent:
		return "Events"
	case passport.RoleSubscriber:
		return "Subscribers"
	case passport.RoleAPI:
		return "Legacy API"
	}
	return role
}

// roleLabels returns the names of roles for members, separated by " or ". In the parameter, "|" separates the roles.
func roleLabels(roles string) string {
	var labels []string
	for role := range strings.SplitSeq(roles, "|") {
		labels = append(labels, roleLabel(role))
	}
	return strings.Join(labels, " or ")
}

// Device returns the names of the browser and of the system that a User-Agent contains. For an unknown browser, it returns
// "A program" instead of the name.
func (p *page) Device(userAgent string) string {
	browser, system := "A program", ""
	for _, known := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}} {
		if strings.Contains(userAgent, known[0]) {
			browser = known[1]
			break
		}
	}
	for _, known := range [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}} {
		if strings.Contains(userAgent, known[0]) {
			system = " on " + known[1]
			break
		}
	}
	return browser + system
}

// Method returns in words how a session began.
func (p *page) Method(method string) string {
	switch method {
	case "passkey":
		return "with a passkey"
	case "signOn":
		return "with single sign-on"
	case "link":
		return "with a link"
	}
	return "with a password"
}
