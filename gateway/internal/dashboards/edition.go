package dashboards

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// edition is an edition of a dashboard, parsed from the response of the events service.
type edition struct {
	peer.Edition
	private bool
	allowed []netip.Prefix
	// ticketOwner is the owner that a ticket must name. A ticket is the cookie of a visitor who entered the password.
	// ticketOwner is empty if the dashboard has no password.
	ticketOwner string
}

func parseEdition(body []byte) (*edition, error) {
	out := &edition{}
	if err := json.Unmarshal(body, &out.Edition); err != nil {
		return nil, fmt.Errorf("edition: %w", err)
	}
	if out.ID == "" || out.DashboardID == "" {
		return nil, fmt.Errorf("edition: the response names no edition or no dashboard")
	}
	out.private = out.Access.Mode != peer.AccessPublic
	for _, text := range out.Access.AllowedIPs {
		network, err := netip.ParsePrefix(text)
		if address, alone := netip.ParseAddr(text); err != nil && alone == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("edition: allowedIps: %w", err)
		}
		out.allowed = append(out.allowed, network)
	}
	if out.Access.Mode == peer.AccessPassword && out.Access.Password != "" {
		out.ticketOwner = peer.PasswordTicketOwner(out.DashboardID, out.Access.Password)
	}
	return out, nil
}

// file returns a file of the edition in a content coding. If the events service does not return the file, it returns the
// last good version of the file, and stale is true.
func (c *cache) file(ctx context.Context, of *edition, staleEdition bool, name, coding, id string) (out *cached, stale bool, err error) {
	if file, there := c.responses.Get(cacheKey{uri: of.DashboardID, file: name, coding: coding}); there && file.edition.ID == of.ID {
		file.use()
		return file, false, nil
	}
	return c.get(ctx, newFileQuestion(of, staleEdition, name, coding, id))
}

// admits reports whether a visitor may see the private dashboard of the visit.
func (d *Dashboards) admits(v *dashboardVisit) bool {
	access := &v.edition.Access
	if v.File.feed && access.FeedKey != "" {
		query, _ := url.ParseQuery(v.In.URL.RawQuery) // an error in other parameters does not matter
		if subtle.ConstantTimeCompare([]byte(query.Get("key")), []byte(access.FeedKey)) == 1 {
			return true
		}
	}
	switch access.Mode {
	case peer.AccessPassword:
		owner := v.edition.ticketOwner
		return owner != "" && slices.ContainsFunc(v.In.CookiesNamed(peer.PasswordCookie), func(cookie *http.Cookie) bool {
			return d.tickets.Valid(cookie.Value, owner)
		})
	case peer.AccessIPs:
		ip, err := netip.ParseAddr(v.IP)
		ip = ip.Unmap().WithZone("")
		return err == nil && slices.ContainsFunc(v.edition.allowed, func(network netip.Prefix) bool { return network.Contains(ip) })
	default:
		return false
	}
}
