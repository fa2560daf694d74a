package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// The services behind the gateway, by the name that passports are issued to.
const (
	identity     = "identity"
	events       = "events"
	subscribers  = "subscribers"
	integrations = "integrations"
)

// Auth is how a route's callers prove who they are.
type Auth string

const (
	AuthNone     Auth = "none"
	AuthAPIKey        = Auth(peer.APIKey) // ApiKey <username>:<key>
	AuthBearer        = Auth(peer.Bearer) // Bearer <keyId>:<secret>
	AuthOperator Auth = "operator"        // Operator <token>
)

// Rate is what a route's calls are counted against.
type Rate string

const (
	RateNone         Rate = "none"
	RateUser         Rate = "user"         // LegacyPerHour of the user, in any 3600 s
	RateOrganization Rate = "organization" // AppPerMinute of the organization, in any 60 s
)

// Route is a row of the route table.
type Route struct {
	// Methods in the order of the Allow header. HEAD comes with GET on the legacy and
	// the public surface, OPTIONS on the legacy one. Empty: the service decides.
	Methods []string
	// Path holds {name} for one segment and ends in {rest...} for any number of them.
	// Legacy paths end in a slash and are served without it too.
	Path string
	// Service is who answers; empty: the gateway itself.
	Service string
	Surface passport.Surface
	Auth    Auth
	Rate    Rate
}

// Routes is THE route table: what is not in it does not exist outside.
func Routes() []Route {
	table := legacyRoutes()
	for _, row := range []struct {
		methods, path, service string
	}{
		{"GET", "/app/users", identity},
		{"GET", "/app/profile", identity},
		{"GET", "/app/api-keys", identity},
		{"DELETE", "/app/api-keys/{keyId}", identity},
		{"GET", "/app/dashboards", events},
		{"GET", "/app/components", events},
		{"GET", "/app/reports/uptime", events},
		{"GET POST PATCH DELETE", "/app/integrations/webhooks/outbound/endpoints", integrations},
		{"GET POST PATCH DELETE", "/app/integrations/teams/endpoints", integrations},
	} {
		table = append(table, Route{strings.Fields(row.methods), row.path, row.service, passport.App, AuthBearer, RateOrganization})
	}
	for _, path := range []string{legacyDocument, appDocument, publicDocument, docsPath} {
		table = append(table, Route{[]string{http.MethodGet}, path, "", passport.Public, AuthNone, RateNone})
	}
	return append(table,
		Route{[]string{http.MethodGet}, dashboardPath, events, passport.Public, AuthNone, RateNone},
		Route{[]string{http.MethodGet}, ownHostPath, events, passport.Public, AuthNone, RateNone},
		Route{[]string{http.MethodGet, http.MethodPost}, "/public/unsubscribe", subscribers, passport.Public, AuthNone, RateNone},
		Route{nil, "/operator/v1/{rest...}", identity, passport.Operator, AuthOperator, RateNone},
	)
}

const (
	// dashboardPath is where a dashboard's list is on the platform's own host;
	// ownHostPath where it is on a host of the dashboard's.
	dashboardPath = "/d/{slug}/api/v1/dashboard/"
	ownHostPath   = legacy.Base + "dashboard/"
)

// legacyRoutes are the discovery document and four paths for each resource of the
// legacy interface's own table.
func legacyRoutes() []Route {
	get := []string{http.MethodGet}
	rows := []Route{{get, legacy.Base, "", passport.Legacy, AuthNone, RateNone}}
	for _, resource := range legacy.Resources() {
		base, service := legacy.ListURI(resource.Name), legacyService(resource.Name)
		row := func(methods []string, path string) Route {
			return Route{methods, path, service, passport.Legacy, AuthAPIKey, RateUser}
		}
		rows = append(rows, row(resource.List, base), row(get, base+"schema/"), row(get, base+"set/{ids}/"), row(resource.Detail, base+"{id}/"))
	}
	return rows
}

func legacyService(resource string) string {
	switch resource {
	case "user":
		return identity
	case "email", "number", "subscribers/email", "subscribers/sms":
		return subscribers
	default:
		return events
	}
}

// router finds the row of a request.
type router struct {
	root      segment
	legacy    map[legacyPlace]*Route
	discovery *Route
	ownHost   *Route
	isBase    func(host string) bool
}

type legacyPlace struct {
	resource string
	place    legacy.Place
}

// segment is a node of the tree of paths.
type segment struct {
	literal map[string]*segment
	param   *segment
	rest    bool // takes all that follows
	routes  []*Route
}

// newRouter indexes the table. isBase tells the platform's own hosts from those of
// dashboards.
func newRouter(table []Route, isBase func(host string) bool) *router {
	r := &router{legacy: map[legacyPlace]*Route{}, isBase: isBase}
	for i := range table {
		row := &table[i]
		switch {
		case row.Path == legacy.Base:
			r.discovery = row
		case row.Path == ownHostPath:
			r.ownHost = row
		case row.Surface == passport.Legacy:
			path, _ := legacy.ParsePath(strings.NewReplacer("{id}", "1", "{ids}", "1").Replace(row.Path))
			r.legacy[legacyPlace{path.Resource, path.Place}] = row
		default:
			r.root.add(strings.Split(strings.Trim(row.Path, "/"), "/"), row)
		}
	}
	return r
}

func (s *segment) add(path []string, row *Route) {
	if len(path) == 0 {
		s.routes = append(s.routes, row)
		return
	}
	next := &segment{}
	switch name := path[0]; {
	case name == "{rest...}":
		s.rest, s.routes = true, append(s.routes, row)
		return
	case strings.HasPrefix(name, "{"):
		if s.param == nil {
			s.param = next
		}
		next = s.param
	default:
		if s.literal == nil {
			s.literal = map[string]*segment{}
		}
		if s.literal[name] == nil {
			s.literal[name] = next
		}
		next = s.literal[name]
	}
	next.add(path[1:], row)
}

// find walks down the tree. A literal segment wins over a parameter.
func (s *segment) find(path string) []*Route {
	for {
		if s.rest {
			return s.routes
		}
		name, tail, more := strings.Cut(path, "/")
		next := s.literal[name]
		if next == nil && isValue(name) {
			next = s.param
		}
		if next == nil {
			return nil
		}
		if !more {
			return next.routes
		}
		s, path = next, tail
	}
}

// isValue reports whether a segment can stand for a parameter: any text but none at
// all and the two that name places.
func isValue(segment string) bool {
	text, err := url.PathUnescape(segment)
	return err == nil && text != "" && text != "." && text != ".."
}

// found is what the table says of a request.
type found struct {
	// Surface is known even when the path is not: it decides the order of the checks
	// and the form of the errors.
	surface passport.Surface
	// route is the row; nil when the path is unknown or has not this method.
	route *Route
	// pattern is the path's template; empty when the path is unknown.
	pattern string
	// allow are the methods of a known path.
	allow []string
	// legacy is set for paths of a legacy resource.
	legacy legacy.Path
}

// find looks the request up. Legacy paths are compared decoded, as their services do
// (set/1%3B3/), others segment by segment as sent.
func (t *router) find(r *http.Request) found {
	path := r.URL.Path
	switch {
	case path == ownHostPath || path+"/" == ownHostPath:
		if t.isBase(r.Host) {
			return found{surface: passport.Legacy}
		}
		return pick(passport.Public, r.Method, []*Route{t.ownHost})
	case path == legacy.Base || path+"/" == legacy.Base:
		return found{surface: passport.Legacy, route: t.discovery, pattern: legacy.Base,
			legacy: legacy.Path{Methods: t.discovery.Methods}}
	case strings.HasPrefix(path, legacy.Base):
		parsed, known := legacy.ParsePath(path)
		row := t.legacy[legacyPlace{parsed.Resource, parsed.Place}]
		if !known || row == nil {
			return found{surface: passport.Legacy}
		}
		return found{surface: passport.Legacy, route: row, pattern: row.Path, legacy: parsed}
	}
	surface := surfaceOf(path)
	raw := strings.TrimPrefix(escapedPath(r.URL), "/")
	if surface == passport.Public {
		raw = strings.TrimSuffix(raw, "/")
	}
	return pick(surface, r.Method, t.root.find(raw))
}

// pick chooses among the rows of a path by the method.
func pick(surface passport.Surface, method string, rows []*Route) found {
	out := found{surface: surface}
	for _, row := range rows {
		out.pattern = row.Path
		out.allow = append(out.allow, row.Methods...)
		if len(row.Methods) == 0 || slices.Contains(row.Methods, method) ||
			surface == passport.Public && method == http.MethodHead && slices.Contains(row.Methods, http.MethodGet) {
			out.route = row
		}
	}
	return out
}

func surfaceOf(path string) passport.Surface {
	for _, under := range []struct {
		base    string
		surface passport.Surface
	}{{"/app", passport.App}, {"/operator", passport.Operator}} {
		if rest, ok := strings.CutPrefix(path, under.base); ok && (rest == "" || rest[0] == '/') {
			return under.surface
		}
	}
	return passport.Public
}

// escapedPath is u.EscapedPath without its cost for the usual path, in which nothing
// is escaped.
func escapedPath(u *url.URL) string {
	if u.RawPath == "" {
		return u.Path
	}
	return u.EscapedPath()
}
