package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/gateway/internal/dashboards"
	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// The services behind the gateway, by the names for which passports are issued.
const (
	identity     = "identity"
	events       = "events"
	subscribers  = "subscribers"
	integrations = "integrations"
	delivery     = "delivery"
	console      = "console"
)

// Route is a row of the route table.
type Route struct {
	// Methods are in the order of the Allow header. On the legacy and the public surface, and for the files of the console,
	// GET includes HEAD.
	Methods []string `json:"methods"`
	// Path is a template: {name} stands for one segment. Legacy and public paths are served with and without a slash at
	// the end, but the path of a dashboard's file redirects to one of the two forms.
	Path string `json:"path"`
	// Service is the upstream. An empty Service means the gateway itself.
	Service string `json:"service,omitempty"`
	// Surface is the interface of the route. It decides which key a route with a Service requires.
	Surface passport.Surface `json:"surface"`
	// Idempotent means that the operation accepts an Idempotency-Key.
	Idempotent bool `json:"idempotent,omitempty"`
	// Authorized means that the service, not the gateway, reads the header Authorization. If it is false, the gateway
	// does not forward this header.
	Authorized bool `json:"authorized,omitempty"`
	// MaxBody is the limit of the request body in bytes. 0: message.MaxBody.
	MaxBody int64 `json:"maxBody,omitempty"`
	// Values are the values that the last segment of a public path can have, if this segment is a parameter that lists
	// its values.
	Values []string `json:"values,omitempty"`

	file *dashboards.File // for the paths of dashboards; newRouter sets it
}

// Routes returns the route table. For clients, a path outside the table does not exist.
func Routes() []Route {
	get := []string{http.MethodGet}
	table := append(legacyRoutes(), Route{Methods: []string{http.MethodGet, http.MethodPost}, Path: consolePath, Service: console, Surface: passport.Console})
	for path := range docsFiles() {
		if strings.HasPrefix(path, docsPath+"/") { // the documents do not list the files of the documentation page
			table = append(table, Route{Methods: get, Path: path, Surface: passport.Public})
		}
	}
	return append(table, declaredRoutes()...)
}

// dashboardPath is the prefix of a dashboard's paths on the platform's hosts.
const dashboardPath = "/d/{slug}"

// legacyRoutes returns the route of the discovery document, and the routes of four paths for each resource in the
// legacy interface's table.
func legacyRoutes() []Route {
	get := []string{http.MethodGet}
	rows := []Route{{Methods: get, Path: legacy.Base, Surface: passport.Legacy}}
	for _, resource := range legacy.Resources() {
		row := func(methods []string, place legacy.Place) Route {
			return Route{Methods: methods, Path: legacyPath(resource.Name, place), Service: legacyService(resource.Name), Surface: passport.Legacy}
		}
		rows = append(rows, row(resource.List, legacy.AtList), row(get, legacy.AtSchema), row(get, legacy.AtSet), row(resource.Detail, legacy.AtDetail))
	}
	return rows
}

// legacyPath returns the path template of a resource's list, schema, set or record.
func legacyPath(resource string, place legacy.Place) string {
	switch base := legacy.ListURI(resource); place {
	case legacy.AtSchema:
		return base + "schema/"
	case legacy.AtSet:
		return base + "set/{ids}/"
	case legacy.AtDetail:
		return base + "{id}/"
	default:
		return base
	}
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

// router finds the row of the route table for a request.
type router struct {
	platform       segment // the paths on the platform's hosts
	own            segment // the paths on a dashboard's own host
	byPath         map[string][]*Route
	isPlatformHost func(host string) bool
}

// parameter is the name of a segment's child that stands for any value.
const parameter = "{}"

// segment is a node of the tree of paths.
type segment struct {
	next   map[string]*segment
	routes []*Route // rows whose path ends here
}

// newRouter builds an index of the table. On a dashboard's own host, only the paths below dashboardPath exist, without
// that prefix. If a public route of a service is declared with and without the prefix, the platform's hosts have only the
// path with the prefix. isPlatformHost reports whether a host belongs to the platform and not to a dashboard.
func newRouter(table []Route, isPlatformHost func(host string) bool) *router {
	r := &router{
		platform: segment{next: map[string]*segment{}}, own: segment{next: map[string]*segment{}},
		byPath: map[string][]*Route{}, isPlatformHost: isPlatformHost,
	}
	below := map[string]bool{}
	for i := range table {
		row := &table[i]
		path, isBelow := strings.CutPrefix(row.Path, dashboardPath)
		if !isBelow || row.Surface != passport.Public {
			continue
		}
		below[path] = true
		row.file = dashboards.NewForm()
		if row.Service == events {
			row.file = dashboards.NewFile(path)
		}
		own := *row
		own.Path = path
		r.own.add(&own)
	}
	for i := range table {
		if row := &table[i]; row.Surface != passport.Public || row.Service == "" || !below[row.Path] {
			r.byPath[row.Path] = append(r.byPath[row.Path], row)
			r.platform.add(row)
		}
	}
	return r
}

// add adds the row at its path. If the last segment lists its values, add adds one segment for each value.
func (s *segment) add(row *Route) {
	names := strings.Split(strings.Trim(row.Path, "/"), "/")
	last := len(names) - 1
	for _, name := range names[:last] {
		s = s.child(name)
	}
	ends := row.Values
	if len(ends) == 0 {
		ends = names[last:]
	}
	for _, name := range ends {
		end := s.child(name)
		end.routes = append(end.routes, row)
	}
}

// child returns the child of s with the name. It creates the child if there is none.
func (s *segment) child(name string) *segment {
	if strings.HasPrefix(name, "{") {
		name = parameter
	}
	if s.next[name] == nil {
		s.next[name] = &segment{next: map[string]*segment{}}
	}
	return s.next[name]
}

// find returns the rows of a path. A literal segment has priority over a parameter if the rest of the path exists below it.
func (s *segment) find(path string) []*Route {
	name, rest, more := strings.Cut(path, "/")
	for _, child := range [...]string{name, parameter} {
		next := s.next[child]
		if next == nil || child == parameter && !isValue(name) {
			continue
		}
		routes := next.routes
		if more {
			routes = next.find(rest)
		}
		if len(routes) > 0 {
			return routes
		}
	}
	return nil
}

// isValue reports whether a segment can be the value of a parameter: any text except "", "." and "..".
func isValue(segment string) bool {
	text, err := url.PathUnescape(segment)
	return err == nil && text != "" && text != "." && text != ".."
}

// found is the result of looking up a request in the route table.
type found struct {
	// surface is also set for an unknown path, because it decides the order of the checks and the form of errors.
	surface passport.Surface
	// route is nil if the path is unknown or does not have the method. For a legacy path, find does not check the method.
	route *Route
	// rows are all rows of the path. They are empty if the path is unknown.
	rows []*Route
	// legacy is set for the paths of a legacy resource.
	legacy legacy.Path
	// ownHost is set if the host belongs to a dashboard.
	ownHost bool
}

// pattern returns the template of the path, or an empty string if the path is unknown.
func (f found) pattern() string {
	if len(f.rows) == 0 {
		return ""
	}
	return f.rows[0].Path
}

// allow returns the value of the Allow header of a known path.
func (f found) allow() string {
	var methods []string
	for _, row := range f.rows {
		methods = append(methods, row.Methods...)
	}
	return strings.Join(methods, ", ")
}

// find looks up the request. It compares legacy paths after decoding, as the services do (set/1%3B3/). It compares
// other paths segment by segment, as they were sent.
func (t *router) find(r *http.Request) found {
	path := r.URL.Path
	raw := strings.TrimPrefix(message.EscapedPath(r.URL), "/")
	if !t.isPlatformHost(r.Host) {
		if raw != "/" { // "//" is not the address of the page
			raw = strings.TrimSuffix(raw, "/")
		}
		out := pick(passport.Public, r.Method, t.own.find(raw))
		out.ownHost = true
		return out
	}
	if strings.TrimSuffix(path, "/") == strings.TrimSuffix(legacy.Base, "/") {
		rows := t.byPath[legacy.Base]
		return found{surface: passport.Legacy, route: rows[0], rows: rows, legacy: legacy.Path{Methods: rows[0].Methods}}
	}
	if strings.HasPrefix(path, legacy.Base) {
		parsed, known := legacy.ParsePath(path)
		if !known {
			return found{surface: passport.Legacy}
		}
		rows := t.byPath[legacyPath(parsed.Resource, parsed.Place)]
		return found{surface: passport.Legacy, route: rows[0], rows: rows, legacy: parsed}
	}
	surface := surfaceOf(path)
	if surface == passport.Console {
		method := r.Method
		if method == http.MethodHead && strings.HasPrefix(path, consoleFiles) {
			method = http.MethodGet // the files need no session, so monitors and proxies may ask for their headers
		}
		return pick(surface, method, t.byPath[consolePath])
	}
	if surface == passport.Public {
		raw = strings.TrimSuffix(raw, "/")
	}
	return pick(surface, r.Method, t.platform.find(raw))
}

// pick returns the result for the rows of a path. Its route is the row with the method, or nil if no row has the method.
func pick(surface passport.Surface, method string, rows []*Route) found {
	if surface == passport.Public && method == http.MethodHead {
		method = http.MethodGet
	}
	out := found{surface: surface, rows: rows}
	for _, row := range rows {
		if slices.Contains(row.Methods, method) {
			out.route = row
		}
	}
	return out
}

func surfaceOf(path string) passport.Surface {
	switch firstSegment(path) {
	case "app":
		return passport.App
	case "operator":
		return passport.Operator
	case console:
		return passport.Console
	default:
		return passport.Public
	}
}

func firstSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}
