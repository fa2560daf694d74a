package dashboards

import (
	"net/url"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// File describes a path below a dashboard: a file that the events service serves, or a form.
type File struct {
	kind fileKind
	// name is the name of the file in an edition. It is empty for the page, for a path with a parameter, and if kind is not
	// fileOfEdition.
	name      string
	parameter bool // the name of the file is the path of the request
	page      bool // an HTML page for people
	shared    bool // scripts of other sites may read the file of a public dashboard
	feed      bool // the query parameter key opens the file of a private dashboard
}

type fileKind int

const (
	fileOfEdition fileKind = iota
	fileList               // the legacy list, which allows a query
	fileEnter              // accepts the password of the dashboard
	fileIncident           // redirects to the present path of an alias, or to the page of an event
	fileForm               // accepts the form of a visitor who subscribes; another service handles the form
)

// NewFile returns the File for a path below a dashboard that the events service serves.
func NewFile(at string) *File {
	switch at {
	case legacy.Base + "dashboard/":
		return &File{kind: fileList, shared: true}
	case "/enter":
		return &File{kind: fileEnter, page: true}
	case "/incidents/{id}":
		return &File{kind: fileIncident, page: true}
	}
	for _, file := range peer.DashboardFiles() {
		if file.Path == at {
			return &File{name: file.Name(), parameter: file.HasParameter(), page: file.IsPage(), shared: file.IsShared(), feed: file.IsFeed()}
		}
	}
	return &File{page: true}
}

// NewForm returns the File for a form with which a visitor subscribes.
func NewForm() *File { return &File{kind: fileForm, page: true} }

// IsForm reports whether the path accepts a form.
func (f *File) IsForm() bool { return f.kind == fileEnter || f.kind == fileForm }

// fileName returns the name of the file at a path. It returns false if no file can have this name: each segment of a
// name has 1 to 64 characters of [A-Za-z0-9-.] and does not begin with a dot.
func (f *File) fileName(below string) (name string, ok bool) {
	if !f.parameter {
		return f.name, true
	}
	for segment := range strings.SplitSeq(below, "/") {
		if segment == "" || len(segment) > 64 || strings.Trim(segment, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != "" || segment[0] == '.' {
			return "", false
		}
	}
	return below, true
}

// redirect returns the path to which the visitor is redirected, or "". The path of a dashboard's page ends in a slash,
// because the links of the page are relative. No other path of a file ends in a slash.
func (f *File) redirect(u *url.URL) string {
	at := u.EscapedPath()
	bare := strings.TrimSuffix(at, "/")
	isIndex := f.name == "" && !f.parameter
	switch {
	case f.kind != fileOfEdition:
		return ""
	case isIndex && at == bare:
		return at + "/"
	case !isIndex && at != bare:
		return bare
	}
	return ""
}
