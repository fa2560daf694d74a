// Package pages renders the pages of the console. The table of routes names each page with the role that it needs. A
// handler reads its form, calls operations of the App interface for the member, and shows a template or redirects.
package pages

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

// root is the path of the console.
const root = "/console"

// Options are the dependencies and settings of the pages.
type Options struct {
	Services map[string]string // base URLs of the services, by name
	Signer   *passport.Signer
	Links    boot.Links
	Process  boot.Process
	Download *http.Client // sends the requests to a product from which a status page is imported
	// SetupPatience replaces setupPatience in tests.
	SetupPatience time.Duration
}

type pages struct {
	Options
	parts
	client  *app.Client
	routes  []route
	reading chan struct{} // has an element while the console reads an import of a status page
}

// access says who may open a page.
type access int

const (
	signedIn access = iota // members with a session
	anyone                 // everybody, signed in or not
)

// route is a page or a form of the console.
type route struct {
	method, path string // the path is below root; ":name" is a parameter
	access       access
	role         string // the member needs one of these roles, which "|" separates; empty: none
	handle       func(*visit) error
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// table returns all routes.
func (p *pages) table() []route {
	admin, event, subscriber := passport.RoleAdmin, passport.RoleEvent, passport.RoleSubscriber
	return slices.Concat(p.importTable(subscriber), p.moveTable(admin), p.subscriberTable(subscriber), p.deliveryTable(subscriber), p.integrationTable(subscriber), p.setupTable(admin), []route{
		{get, "/sign-in", anyone, "", p.signIn},
		{post, "/sign-in", anyone, "", p.signInPassword},
		{get, "/sign-in/code", anyone, "", p.signInCode},
		{post, "/sign-in/code", anyone, "", p.signInCode},
		{post, "/sign-in/passkey/options", anyone, "", p.passkeyChallenge},
		{post, "/sign-in/passkey", anyone, "", p.signInPasskey},
		{get, "/sign-in/sso", anyone, "", p.signInSSO},
		{get, "/sign-in/sso/:name", anyone, "", p.signInSSOStart},
		{get, "/sign-in/sso-callback/:organization", anyone, "", p.signInSSOCallback},
		{get, "/sign-in/again", signedIn, "", p.again},
		{post, "/sign-in/again", signedIn, "", p.again},
		{get, "/sign-out", anyone, "", p.signOut},
		{post, "/sign-out", anyone, "", p.signOut},
		{get, "/welcome", anyone, "", p.welcome},
		{post, "/welcome", anyone, "", p.accept},
		{get, "/forgotten", anyone, "", p.forgotten},
		{post, "/forgotten", anyone, "", p.forgotten},
		{post, "/forgotten/new", anyone, "", p.accept},

		{get, "/", signedIn, "", p.overview},
		{get, "/events", signedIn, event, p.events},
		{get, "/events/new", signedIn, event, p.incidentNew},
		{post, "/events/new", signedIn, event, p.incidentNew},
		{get, "/events/new/maintenance", signedIn, event, p.maintenanceNew},
		{post, "/events/new/maintenance", signedIn, event, p.maintenanceNew},
		{get, "/events/:id", signedIn, event, p.event},
		{get, "/events/:id/timeline", signedIn, event, p.event},
		{post, "/events/:id/timeline", signedIn, event, p.entryAdd},
		{get, "/events/:id/timeline/:entry", signedIn, event, p.entryEdit},
		{post, "/events/:id/timeline/:entry", signedIn, event, p.entryEdit},
		{get, "/events/:id/timeline/:entry/delete", signedIn, event, p.entryDelete},
		{post, "/events/:id/timeline/:entry/delete", signedIn, event, p.entryDelete},
		{get, "/events/:id/edit", signedIn, event, p.eventEdit},
		{post, "/events/:id/edit", signedIn, event, p.eventEdit},
		{post, "/events/:id/publish", signedIn, event, p.eventPublish},
		{get, "/events/:id/withdraw", signedIn, event, p.eventWithdraw},
		{post, "/events/:id/withdraw", signedIn, event, p.eventWithdraw},
		{get, "/events/:id/delete", signedIn, event, p.eventDelete},
		{post, "/events/:id/delete", signedIn, event, p.eventDelete},
		{get, "/events/:id/notes", signedIn, event, p.event},
		{post, "/events/:id/notes", signedIn, event, p.noteAdd},
		{get, "/events/:id/notes/:note", signedIn, event, p.noteEdit},
		{post, "/events/:id/notes/:note", signedIn, event, p.noteEdit},
		{get, "/events/:id/notes/:note/delete", signedIn, event, p.noteDelete},
		{post, "/events/:id/notes/:note/delete", signedIn, event, p.noteDelete},
		{get, "/events/:id/post-mortem", signedIn, event, p.postMortem},
		{post, "/events/:id/post-mortem", signedIn, event, p.postMortem},
		{get, "/events/:id/post-mortem/delete", signedIn, event, p.postMortemDelete},
		{post, "/events/:id/post-mortem/delete", signedIn, event, p.postMortemDelete},
		{get, "/events/:id/failed", signedIn, event, p.eventFailed},
		{post, "/events/:id/failed/:kind/:log", signedIn, event, p.eventReplay},
		{get, "/parts/audience", signedIn, event, p.audiencePart},
		{post, "/parts/text", signedIn, "", p.textPart},
		{get, "/parts/overview", signedIn, "", p.overviewPart},
		{get, "/parts/events/:id/deliveries", signedIn, event, p.eventDeliveries},

		{get, "/templates", signedIn, event, p.templateList},
		{get, "/templates/new", signedIn, event, p.templateIncident},
		{post, "/templates/new", signedIn, event, p.templateIncident},
		{get, "/templates/new/maintenance", signedIn, event, p.templateMaintenance},
		{post, "/templates/new/maintenance", signedIn, event, p.templateMaintenance},
		{get, "/templates/new/update", signedIn, event, p.templateUpdate},
		{post, "/templates/new/update", signedIn, event, p.templateUpdate},
		{get, "/templates/:id", signedIn, event, p.template},
		{post, "/templates/:id", signedIn, event, p.template},
		{get, "/templates/:id/delete", signedIn, event, p.templateDelete},
		{post, "/templates/:id/delete", signedIn, event, p.templateDelete},
		{get, "/components", signedIn, event + "|" + subscriber, p.components},
		{get, "/components/new", signedIn, admin, p.componentNew},
		{post, "/components/new", signedIn, admin, p.componentNew},
		{get, "/components/:id", signedIn, event + "|" + subscriber, p.component},
		{post, "/components/:id", signedIn, admin, p.component},
		{get, "/components/:id/state", signedIn, event + "|" + subscriber, p.component},
		{post, "/components/:id/state", signedIn, admin, p.componentState},
		{get, "/components/:id/delete", signedIn, admin, p.componentDelete},
		{post, "/components/:id/delete", signedIn, admin, p.componentDelete},
		{get, "/dashboards", signedIn, event + "|" + subscriber, p.dashboards},
		{get, "/dashboards/new", signedIn, admin, p.dashboardNew},
		{post, "/dashboards/new", signedIn, admin, p.dashboardNew},
		{get, "/dashboards/:id/delete", signedIn, admin, p.dashboardDelete},
		{post, "/dashboards/:id/delete", signedIn, admin, p.dashboardDelete},
		{get, "/dashboards/:id", signedIn, event + "|" + subscriber, p.dashboardTabOf("")},
		{post, "/dashboards/:id", signedIn, admin, p.dashboardTabOf("")},
		{get, "/dashboards/:id/content", signedIn, event + "|" + subscriber, p.dashboardTabOf("/content")},
		{post, "/dashboards/:id/content", signedIn, admin, p.dashboardTabOf("/content")},
		{get, "/dashboards/:id/components", signedIn, event + "|" + subscriber, p.dashboardTabOf("/components")},
		{post, "/dashboards/:id/components", signedIn, admin, p.dashboardTabOf("/components")},
		{get, "/dashboards/:id/access", signedIn, event + "|" + subscriber, p.dashboardTabOf("/access")},
		{post, "/dashboards/:id/access", signedIn, admin, p.dashboardTabOf("/access")},
		{get, "/dashboards/:id/domains", signedIn, event + "|" + subscriber, p.dashboardTabOf("/domains")},
		{post, "/dashboards/:id/domains", signedIn, admin, p.dashboardTabOf("/domains")},
		{get, "/dashboards/:id/subscriptions", signedIn, event + "|" + subscriber, p.dashboardTabOf("/subscriptions")},
		{post, "/dashboards/:id/subscriptions", signedIn, admin, p.dashboardTabOf("/subscriptions")},
		{get, "/dashboards/:id/preview", signedIn, event + "|" + subscriber, p.dashboardPreview},
		{post, "/dashboards/:id/preview", signedIn, admin, p.dashboardPreview},

		{get, "/profile", signedIn, "", p.profile},
		{post, "/profile", signedIn, "", p.profile},
		{get, "/profile/security", signedIn, "", p.security},
		{get, "/profile/security/password", signedIn, "", p.password},
		{post, "/profile/security/password", signedIn, "", p.password},
		{get, "/profile/security/app", signedIn, "", p.totp},
		{post, "/profile/security/app", signedIn, "", p.totpStart},
		{post, "/profile/security/app/confirm", signedIn, "", p.totpConfirm},
		{get, "/profile/security/app/remove", signedIn, "", p.totpRemove},
		{post, "/profile/security/app/remove", signedIn, "", p.totpRemove},
		{get, "/profile/security/recovery-codes", signedIn, "", p.recoveryCodes},
		{post, "/profile/security/recovery-codes", signedIn, "", p.recoveryCodes},
		{get, "/profile/security/passkeys/new", signedIn, "", p.passkeyNew},
		{post, "/profile/security/passkeys/options", signedIn, "", p.passkeyNewChallenge},
		{post, "/profile/security/passkeys/new", signedIn, "", p.passkeyNew},
		{get, "/profile/security/passkeys/:id", signedIn, "", p.passkey},
		{post, "/profile/security/passkeys/:id", signedIn, "", p.passkey},
		{get, "/profile/security/passkeys/:id/remove", signedIn, "", p.passkeyRemove},
		{post, "/profile/security/passkeys/:id/remove", signedIn, "", p.passkeyRemove},
		{post, "/profile/security/sessions/:id/end", signedIn, "", p.sessionEnd},
		{post, "/profile/security/sessions/end-others", signedIn, "", p.sessionsEnd},
		{get, "/profile/keys", signedIn, "", p.keys},
		{post, "/profile/keys", signedIn, "", p.keyAdd},
		{get, "/profile/keys/:id/revoke", signedIn, "", p.keyRevoke},
		{post, "/profile/keys/:id/revoke", signedIn, "", p.keyRevoke},
		{post, "/profile/legacy-key", signedIn, passport.RoleAPI, p.legacyKeyReplace},
		{get, "/profile/legacy-key/revoke", signedIn, "", p.legacyKeyRevoke},
		{post, "/profile/legacy-key/revoke", signedIn, "", p.legacyKeyRevoke},

		{get, "/find", signedIn, "", p.find},
		{get, "/parts/find", signedIn, "", p.findPart},
		{get, "/profile/shortcuts", signedIn, "", p.shortcuts},
		{get, "/reports/uptime", signedIn, admin, p.uptime},
		{get, "/reports/uptime/csv", signedIn, admin, p.uptimeFile},
		{get, "/users", signedIn, admin, p.users},
		{get, "/users/new", signedIn, admin, p.userNew},
		{post, "/users/new", signedIn, admin, p.userNew},
		{get, "/users/:id", signedIn, admin, p.user},
		{post, "/users/:id", signedIn, admin, p.user},
		{post, "/users/:id/disable", signedIn, admin, p.userDisable},
		{post, "/users/:id/enable", signedIn, admin, p.userDisable},
		{post, "/users/:id/invitation", signedIn, admin, p.userInvite},
		{get, "/users/:id/second-factors", signedIn, admin, p.userFactors},
		{post, "/users/:id/second-factors", signedIn, admin, p.userFactors},
		{get, "/users/:id/delete", signedIn, admin, p.userDelete},
		{post, "/users/:id/delete", signedIn, admin, p.userDelete},
		{get, "/organization", signedIn, admin, p.organization},
		{post, "/organization", signedIn, admin, p.organization},
		{get, "/sign-on", signedIn, admin, p.signOn},
		{post, "/sign-on", signedIn, admin, p.signOn},
		{post, "/sign-on/test", signedIn, admin, p.signOnTest},
		{get, "/sign-on/delete", signedIn, admin, p.signOnDelete},
		{post, "/sign-on/delete", signedIn, admin, p.signOnDelete},
		{get, "/inbound", signedIn, admin, p.inbound},
		{post, "/inbound", signedIn, admin, p.inboundAdd},
		{get, "/inbound/arrivals", signedIn, admin, p.inboundArrivals},
		{get, "/inbound/problems", signedIn, admin, p.inboundProblems},
		{get, "/inbound/:id", signedIn, admin, p.inboundEdit},
		{post, "/inbound/:id", signedIn, admin, p.inboundEdit},
		{get, "/inbound/:id/revoke", signedIn, admin, p.inboundRevoke},
		{post, "/inbound/:id/revoke", signedIn, admin, p.inboundRevoke},
		{get, "/audit", signedIn, admin, p.audit},
	})
}

// subscriberTable returns the routes of the subscribers of each channel.
func (p *pages) subscriberTable(role string) (routes []route) {
	for _, channel := range app.AddressChannels() {
		at := subscribersAt(channel)
		one := at + "/:id"
		routes = append(routes,
			route{get, at, signedIn, role, p.subscribersOf(channel)},
			route{get, at + "/new", signedIn, role, p.subscriberNew(channel)},
			route{post, at + "/new", signedIn, role, p.subscriberNew(channel)},
			route{get, one, signedIn, role, p.subscriber(channel)},
			route{post, one, signedIn, role, p.subscriber(channel)},
			route{get, one + "/confirm", signedIn, role, p.subscriberConfirm(channel)},
			route{post, one + "/confirm", signedIn, role, p.subscriberConfirm(channel)},
			route{get, one + "/clear", signedIn, role, p.subscriberClear(channel)},
			route{post, one + "/clear", signedIn, role, p.subscriberClear(channel)},
			route{get, one + "/delete", signedIn, role, p.subscriberDelete(channel)},
			route{post, one + "/delete", signedIn, role, p.subscriberDelete(channel)})
		for _, what := range []string{"pause", "resume", "lock", "unlock", "resend"} {
			routes = append(routes, route{post, one + "/" + what, signedIn, role, p.subscriberAct(channel)})
		}
	}
	return routes
}

// deliveryTable returns the routes of the deliveries of each kind, and of the page that explains missing messages.
func (p *pages) deliveryTable(role string) (routes []route) {
	routes = append(routes, route{get, whyPath, signedIn, role, p.why}, route{post, whyPath, signedIn, role, p.why})
	for _, kind := range channels() {
		one := deliveriesAt(kind.Value) + "/:log/:at"
		routes = append(routes,
			route{get, deliveriesAt(kind.Value), signedIn, role, p.deliveriesOf(kind)},
			route{get, one, signedIn, role, p.delivery(kind)},
			route{get, one + "/replay", signedIn, role, p.deliveryReplay(kind)},
			route{post, one + "/replay", signedIn, role, p.deliveryReplay(kind)})
	}
	return routes
}

// Mount adds the pages, their files, and the error pages for unknown paths and methods, to the engine. It returns an error if
// the files or the templates cannot be read.
func Mount(engine *gin.Engine, o Options) error {
	p := &pages{Options: o, reading: make(chan struct{}, 1), client: app.New(o.Services, o.Signer, o.Process)}
	var err error
	if p.parts, err = readParts(); err != nil {
		return err
	}
	p.routes = p.table()
	console := engine.Group(root, web.Surface(passport.Console))
	console.Any("/assets/*name", gin.WrapH(p.files))
	console.GET("", func(c *gin.Context) { c.Redirect(http.StatusPermanentRedirect, root+"/") })
	for _, r := range p.routes {
		console.Handle(r.method, r.path, p.serve(r))
		if r.method == get {
			console.HEAD(r.path, p.serve(r))
		}
	}
	engine.NoRoute(p.serve(route{access: anyone, handle: func(*visit) error { return errNotFound }}))
	engine.NoMethod(p.serve(route{access: anyone, handle: func(*visit) error { return errMethod }}))
	return nil
}

// page returns the route of the page at a path, and the parameters of the path. It returns false if no page has the path, for
// example if the path takes only POST requests.
func (p *pages) page(path string) (route, gin.Params, bool) {
	segments := strings.Split(strings.TrimPrefix(path, root), "/")
	for _, r := range p.routes {
		if params, found := r.match(segments); found && r.method == get {
			return r, params, true
		}
	}
	return route{}, nil, false
}

// match returns the parameters of a path, which segments contains, if the route has this path. Otherwise it returns false. In
// the table, a fixed path is earlier than a pattern that also matches it, so that page returns the route of the fixed path.
func (r route) match(segments []string) (gin.Params, bool) {
	var params gin.Params
	own := strings.Split(r.path, "/")
	if len(own) != len(segments) {
		return nil, false
	}
	for i, segment := range own {
		if name, is := strings.CutPrefix(segment, ":"); is {
			params = append(params, gin.Param{Key: name, Value: segments[i]})
		} else if segment != segments[i] {
			return nil, false
		}
	}
	return params, true
}
