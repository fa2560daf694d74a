package gateway

import (
	"net/url"
	"path"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// dashboardFile is a path below a dashboard: a file that the events service serves, or a form.
type dashboardFile struct {
	kind fileKind
	// name is the name of the file in an edition; empty for the page, and for a path with a parameter.
	name      string
	parameter bool // the path is the name
	page      bool // HTML, for people
	shared    bool // scripts of other sites may read the file of a public dashboard
	feed      bool // the query parameter key opens the file of a private dashboard
}

type fileKind int

const (
	fileOfEdition fileKind = iota
	fileList               // the legacy list, which has a query
	fileEnter              // takes the password
	fileIncident           // redirects to the event
	fileForm               // takes the form of a visitor who subscribes; another service serves it
)

// newDashboardFile returns the file at a path below a dashboard.
func newDashboardFile(at string) *dashboardFile {
	switch at {
	case legacyListPath:
		return &dashboardFile{kind: fileList, shared: true}
	case "/enter":
		return &dashboardFile{kind: fileEnter, page: true}
	case "/incidents/{id}":
		return &dashboardFile{kind: fileIncident, page: true}
	}
	for _, file := range peer.DashboardFiles() {
		if file.Path == at {
			return &dashboardFile{name: file.Name(), parameter: file.HasParameter(), page: file.IsPage(), shared: file.IsShared(), feed: file.IsFeed()}
		}
	}
	return &dashboardFile{page: true}
}

// address is a path of a dashboard as a visitor sent it.
type address struct {
	base  string // of the dashboard in the events service
	below string // the path below the dashboard's address, without a first slash
}

// isAPI reports whether the errors of the path are in JSON.
func (a address) isAPI() bool { return strings.HasPrefix(a.below+"/", "api/") }

// addressOf returns the address of a request. It reports false if no dashboard can have that slug or host.
func addressOf(v *visit) (a address, ok bool) {
	var err error
	if v.found.ownHost {
		host := hostname(v.request.Host)
		ok = host != "" && len(host) <= 253 && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
		return address{"/public/v1/hosts/" + host, strings.TrimPrefix(v.request.URL.Path, "/")}, ok
	}
	raw := escapedPath(v.request.URL) // in which a slash separates segments
	slug, below, _ := strings.Cut(strings.TrimPrefix(raw, "/d/"), "/")
	if strings.Contains(raw, "%") {
		if slug, err = url.PathUnescape(slug); err == nil {
			below, err = url.PathUnescape(below)
		}
	}
	return address{"/public/v1/dashboards/" + slug, below}, err == nil && isSlug(slug)
}

// isSlug reports whether a dashboard may have the slug: 3 to 63 of [a-z0-9-].
func isSlug(slug string) bool {
	return len(slug) >= 3 && len(slug) <= 63 && strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// fileName returns the name of the file at a path. It reports false if no file can have the name: an id or a month
// has 1 to 64 of [A-Za-z0-9-].
func (f *dashboardFile) fileName(below string) (name string, ok bool) {
	if !f.parameter {
		return f.name, true
	}
	for segment := range strings.SplitSeq(below, "/") {
		if len(segment) > 64 || strings.Trim(segment, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != "" || segment[:1] == "." {
			return "", false
		}
	}
	return below, true
}

// redirect returns the address that the visitor should use, or an empty string. The links of a page are relative, so
// only the page itself has a slash at the end.
func (f *dashboardFile) redirect(u *url.URL) string {
	at := u.EscapedPath()
	bare := strings.TrimSuffix(at, "/")
	isIndex := f.name == "" && !f.parameter
	switch {
	case f.kind == fileIncident:
		folder, id := path.Split(bare)
		return strings.TrimSuffix(folder, "incidents/") + "events/" + id
	case f.kind != fileOfEdition:
		return ""
	case isIndex && at == bare:
		return at + "/"
	case !isIndex && at != bare:
		return bare
	}
	return ""
}

// hostname returns the name in a Host header in lower case, without the port and the final
// dot.
func hostname(host string) string {
	return strings.ToLower(strings.TrimSuffix((&url.URL{Host: host}).Hostname(), "."))
}
