package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/version"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

const (
	// lateAfter is the age of an unsent message from which on the message counts as late.
	lateAfter = time.Minute
	// oldBackup is the age from which on a backup is too old.
	oldBackup = 7 * 24 * time.Hour
)

// setupPart is a service, the gateway or the console.
type setupPart struct {
	app.ServiceState
	Name, About string
	Class       string // CSS class of its state: o for good, d for a warning, x for a failure
	Says        string // its state in words
	Engines     bool   // the part uses a database and Kafka
}

// partOf returns the part of a service. err is the error of reading its state, or nil.
func partOf(name string, state app.ServiceState, err error) setupPart {
	part := setupPart{ServiceState: state, Name: words(name), Class: "x", Engines: true, About: map[string]string{
		"identity": "Members, sign-in, keys, audit log", "events": "Events, components, dashboards", "subscribers": "Subscribers by mail, SMS and WhatsApp",
		"integrations": "Endpoints, inbound keys", "delivery": "Sends messages",
	}[name]}
	failed := app.As(err)
	switch {
	case failed != nil && failed.Cause == nil && failed.Status == http.StatusServiceUnavailable:
		part.Says = "Starts, or waits for its database"
	case errors.Is(err, context.DeadlineExceeded):
		part.Says = "Does not respond in time"
	case failed != nil && failed.Status == http.StatusNotFound:
		part.Class, part.Says = "d", "Works, but is older than the console"
	case err != nil:
		part.Says = "Does not respond"
	case !state.Database.Reachable:
		part.Says = "Cannot reach its database"
	case !state.Kafka.Reachable:
		part.Says = "Cannot reach Kafka"
	default:
		part.Class, part.Says = "o", "Works"
	}
	return part
}

// Late reports whether the oldest unsent message is older than lateAfter.
func (p setupPart) Late(now time.Time) bool {
	return p.Outbox != nil && p.Outbox.OldestAt != nil && now.Sub(*p.Outbox.OldestAt) > lateAfter
}

// DatabaseName returns the name of the database engine.
func (p setupPart) DatabaseName() string {
	return map[string]string{"sqlite": "SQLite", "mongodb": "MongoDB"}[p.Database.Engine]
}

// ownParts returns the gateway and the console, through which the request came.
func (s *setupPage) ownParts() []setupPart {
	gateway := setupPart{Name: "Gateway", About: "The address of everything", Class: "o", Says: "Works", ServiceState: app.ServiceState{Version: s.Arrival.Version}}
	if s.Arrival.RedisDown {
		gateway.Class, gateway.Says = "x", "Cannot reach Redis"
	}
	return []setupPart{gateway, {Name: "Console", About: "These pages", Class: "o", Says: "Works", ServiceState: app.ServiceState{Version: version.Number()}}}
}

// backupState is the state of the last backup.
type backupState struct {
	Known  bool // a service has responded
	Engine string
	At     *time.Time
	Old    bool
}

func backupOf(states []app.ServiceStateResult, now time.Time) (b backupState) {
	for _, state := range states {
		if state.Service.Database.Engine != "" && !b.Known {
			b = backupState{Known: true, Engine: state.Service.Database.Engine, At: state.Service.LastBackupAt}
		}
	}
	b.Old = b.At != nil && now.Sub(*b.At) > oldBackup
	return b
}

// finding is a problem of the installation, and advice about what to do.
type finding struct {
	Class   string // x for a failure, d for a warning
	Text    string
	Do      string // what to do
	Setting string // setting that Do is about; empty: none
	Value   string // value for the setting; empty: the member must choose one
	Section string // section of deploy/README.md
}

const (
	sectionSettings = "Settings and data"
	sectionBackup   = "Back up, restore, upgrade"
	sectionOperate  = "Operate"
)

// findings returns all that is wrong. The failures come first.
func (s *setupPage) findings(now time.Time) []finding {
	out := slices.Concat(s.partFindings(now), s.addressFindings(), s.channelFindings())
	switch {
	case s.Backup.Engine != "sqlite":
	case s.Backup.At == nil:
		out = append(out, finding{"d", "No backup is on record.", "Run bellbuoy backup FILE every day, and keep the files on another machine.", "", "", sectionBackup})
	case s.Backup.Old:
		out = append(out, finding{"d", "The last backup is more than 7 days old.", "Run bellbuoy backup FILE every day, and keep the files on another machine.", "", "", sectionBackup})
	}
	slices.SortStableFunc(out, func(a, b finding) int { return cmp.Compare(b.Class, a.Class) })
	return out
}

func (s *setupPage) partFindings(now time.Time) (out []finding) {
	versions := map[string]bool{}
	for _, part := range s.Parts {
		versions[part.Version] = part.Version != "" || versions[part.Version]
		switch {
		case part.Says == "Cannot reach Kafka":
			out = append(out, finding{"x", part.Name + " cannot reach Kafka. No message is sent until it can; none is lost.", "Look at Kafka, and at the setting", "KAFKA_BROKERS", "", sectionOperate})
		case part.Says == "Cannot reach its database":
			out = append(out, finding{"x", part.Name + " cannot reach its database.", "Look at the database, and at the setting", "DOCUMENTS_URL", "", sectionOperate})
		case part.Says == "Cannot reach Redis":
			out = append(out, finding{"x", "The gateway cannot reach Redis. Requests work, but more slowly.", "Look at Redis, and at the setting", "REDIS_URL", "", sectionOperate})
		case part.Class == "x":
			out = append(out, finding{"x", part.Name + ": " + strings.ToLower(part.Says[:1]) + part.Says[1:] + ".", "Look at the log of the service, and start it again.", "", "", sectionOperate})
		}
		if part.Late(now) {
			out = append(out, finding{"x", fmt.Sprintf("%s: the oldest unsent message has waited for %s.", part.Name, strings.TrimSuffix(ago(*part.Outbox.OldestAt, now), " ago")),
				"Look at Kafka, and at the log of the service.", "", "", sectionOperate})
		}
	}
	delete(versions, "")
	if len(versions) > 1 {
		out = append(out, finding{"d", "The parts have different versions.", "End the upgrade: start each part in the same version.", "", "", sectionBackup})
	}
	return out
}

func (s *setupPage) channelFindings() (out []finding) {
	if s.Unknown {
		return nil // the service that does not respond is a finding already
	}
	for _, channel := range s.Channels {
		if r := channel.Result; r != nil && !r.Waiting && r.Status != "delivered" {
			out = append(out, finding{"x", channel.Label + ": the test message was not sent.", "The reason is at the channel, below.", "", "", sectionSettings})
		}
		if channel.Value == "email" && !channel.Configured && channel.Missing != nil {
			out = append(out, finding{"d", "Mail is not set up. Members get no links, and subscribers no mail.", "Set", *channel.Missing, "", sectionSettings})
		}
		if channel.Server != nil && channel.Server.Security == "none" && !isLocal(channel.Server.Host) {
			out = append(out, finding{"d", channel.Label + ": the connection to the server is not encrypted.", "Use https:// in", "SMS_URL", "", sectionSettings})
		}
	}
	return out
}

// addressFindings compares the base URLs with the scheme, host and proxy of this request.
func (s *setupPage) addressFindings() (out []finding) {
	base, err := url.Parse(s.Links.ConsoleBaseURL)
	if err != nil || !s.Arrived {
		return nil
	}
	seen := s.Arrival
	secure := base.Scheme == "https"
	switch {
	case !seen.Trusted && (seen.ForwardedFor || seen.ForwardedProto != ""):
		out = append(out, finding{"x", "A proxy at " + seen.Peer + " names the client and the scheme, but it is not trusted. Every visitor seems to have the address of the proxy.",
			"If this is your proxy, add it to", "BELLBUOY_TRUSTED_PROXIES", networkOf(seen.Peer), sectionOperate})
	case secure && seen.Scheme == "http" && seen.Trusted:
		out = append(out, finding{"x", "The address of the console begins with https, but this request arrived as http.", "Let the proxy send X-Forwarded-Proto: https.", "", "", sectionOperate})
	case secure && seen.Scheme == "http":
		out = append(out, finding{"x", "The address of the console begins with https, but this request arrived as http, and no proxy is trusted.", "Add the network of the proxy to", "BELLBUOY_TRUSTED_PROXIES", networkOf(seen.Peer), sectionOperate})
	}
	switch {
	case !secure && seen.Scheme == "https":
		out = append(out, finding{"x", "This request arrived by https, but the address of the console begins with http. So cookies are not marked as secure.", "Set", "CONSOLE_BASE_URL", "https://" + seen.Host, sectionSettings})
	case !secure && !isLocal(base.Hostname()):
		out = append(out, finding{"x", "The console has no https. Passwords and sessions travel without encryption, and cookies are not marked as secure.", "Put a proxy with a certificate in front, and set", "CONSOLE_BASE_URL", "https://" + base.Hostname(), sectionOperate})
	case withPort(base.Host, base.Scheme) != withPort(seen.Host, base.Scheme):
		out = append(out, finding{"d", "This request asked for " + seen.Host + ", and links lead to " + base.Host + ".", "Set the address that members use:", "CONSOLE_BASE_URL", "", sectionSettings})
	}
	for _, link := range []struct{ setting, base, what string }{{"APP_BASE_URL", s.Links.AppBaseURL, "the App interface"}, {"DASHBOARD_BASE_URL", s.Links.DashboardBaseURL, "dashboards"}} {
		other, err := url.Parse(link.base)
		if err == nil && link.base != "" && isLocal(other.Hostname()) && !isLocal(base.Hostname()) {
			out = append(out, finding{"x", "Links to " + link.what + " lead to " + other.Host + ", which only this machine can open.", "Set", link.setting, "", sectionSettings})
		}
	}
	return out
}

// withPort returns the host in lower case with its port, or with the default port of the scheme.
func withPort(host, scheme string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return strings.ToLower(host)
	}
	return strings.ToLower(net.JoinHostPort(strings.Trim(host, "[]"), map[string]string{"https": "443", "http": "80"}[scheme]))
}

// isLocal reports whether the host is localhost or a loopback address.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// networkOf returns the network that contains only the address, or an empty text if the text is no IP address.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	ip = ip.Unmap().WithZone("")
	return netip.PrefixFrom(ip, ip.BitLen()).String()
}
