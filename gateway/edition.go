package gateway

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/peer"
)

// edition is the parsed response to the question for the edition of a dashboard.
type edition struct {
	peer.Edition
	private bool
	allowed []netip.Prefix
	entry   string // the owner of the tickets in cookies; empty: there is no password
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
		out.entry = peer.EntryOwner(out.DashboardID, out.Access.Password)
	}
	return out, nil
}

// fileOf returns a file of the edition in a content coding. It returns the last good version while the events service
// is down.
func (p *pages) fileOf(ctx context.Context, of *edition, staleEdition bool, name, coding, id string) (out *page, stale bool, err error) {
	if kept, there := p.kept.Get(pageKey{uri: of.DashboardID, file: name, coding: coding}); there && kept.edition.ID == of.ID {
		kept.use()
		return kept, false, nil
	}
	q := fileQuestion(of, name, coding, id)
	q.stale = staleEdition
	return p.get(ctx, q)
}

// fileQuestion returns the question for a file of the edition in a content coding.
func fileQuestion(of *edition, name, coding, id string) question {
	uri := (&url.URL{Path: "/public/v1/editions/" + of.ID + "/files/" + name}).EscapedPath()
	return question{key: pageKey{uri: of.DashboardID, file: name, coding: coding}, run: coding + " " + uri, uri: uri, coding: coding, edition: of, id: id}
}

// admits reports whether a visitor may see a private dashboard.
func (e *edge) admits(v *visit, of *edition, file *dashboardFile) bool {
	if file.feed && of.Access.FeedKey != "" {
		query, _ := url.ParseQuery(v.request.URL.RawQuery) // the other parameters may be wrong
		if subtle.ConstantTimeCompare([]byte(query.Get("key")), []byte(of.Access.FeedKey)) == 1 {
			return true
		}
	}
	switch of.Access.Mode {
	case peer.AccessPassword:
		return of.entry != "" && slices.ContainsFunc(v.request.CookiesNamed(peer.EntryCookie), func(cookie *http.Cookie) bool {
			return e.entries.Valid(cookie.Value, of.entry)
		})
	case peer.AccessIPs:
		ip, err := netip.ParseAddr(v.ip)
		ip = ip.Unmap().WithZone("")
		return err == nil && slices.ContainsFunc(of.allowed, func(network netip.Prefix) bool { return network.Contains(ip) })
	default:
		return false
	}
}

// enterFile returns the name of the password form for an address of a dashboard.
func enterFile(below string) string {
	if strings.Contains(below, "/") {
		return peer.EnterBelowFile
	}
	return peer.EnterFile
}
