package dashboards

import (
	"net/url"
	"strings"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
)

// address is the path of a request in two parts: the dashboard, and the path below the dashboard.
type address struct {
	base  string // path of the dashboard in the events service
	below string // path below the dashboard's address, without a slash at the beginning
}

// isAPI reports whether errors at the path are written in JSON.
func (a address) isAPI() bool { return strings.HasPrefix(a.below+"/", "api/") }

// home returns the path of the dashboard's page for the visitor.
func (v *dashboardVisit) home() string {
	if v.OwnHost {
		return "/"
	}
	return "/d/" + strings.TrimPrefix(v.base, dashboardBase) + "/"
}

// slashes returns the number of slashes below the dashboard's address. For a browser, an escaped slash is none.
func (v *dashboardVisit) slashes() int {
	return max(0, strings.Count(message.EscapedPath(v.In.URL), "/")-strings.Count(v.home(), "/"))
}

// dashboardBase is the start of address.base for the path of a dashboard on the platform's host.
const dashboardBase = "/public/v1/dashboards/"

// addressOf returns the address of a request. It returns false if no dashboard can have the slug or the host.
func addressOf(v Visit) (a address, ok bool) {
	var err error
	if v.OwnHost {
		host := message.Hostname(v.In.Host)
		ok = host != "" && len(host) <= 253 && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
		return address{"/public/v1/hosts/" + host, strings.TrimPrefix(v.In.URL.Path, "/")}, ok
	}
	raw := message.EscapedPath(v.In.URL) // still escaped, so that an escaped slash does not count as a separator
	slug, below, _ := strings.Cut(strings.TrimPrefix(raw, "/d/"), "/")
	if strings.Contains(raw, "%") {
		if slug, err = url.PathUnescape(slug); err == nil {
			below, err = url.PathUnescape(below)
		}
	}
	return address{dashboardBase + slug, below}, err == nil && isSlug(slug)
}

// isSlug reports whether a slug has the form of a dashboard's slug: 3 to 63 of [a-z0-9-].
func isSlug(slug string) bool {
	return len(slug) >= 3 && len(slug) <= 63 && strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
