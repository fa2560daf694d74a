// Package passport is the signed statement with which the gateway tells a service
// who is calling, and with which one service calls another. A service accepts
// nothing without a valid one, so reaching it past the gateway gains nothing.
//
// The form is the HTTP header Bellbuoy-Passport: base64url(JSON) "." base64url(
// HMAC-SHA256), keyed from BELLBUOY_SECRET. It is our own and not a JWT because
// there is one algorithm, one issuer and nothing to negotiate. It names the one
// service it is for and lives 60 seconds, so a copied one is soon worth nothing
// and never opens another door.
package passport

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Header carries a passport. The gateway strips it, and every other header that
// starts with HeaderPrefix, from what clients send.
const (
	Header       = "Bellbuoy-Passport"
	HeaderPrefix = "Bellbuoy-"
)

// Life is how long a passport is good for.
const Life = 60 * time.Second

// Surface is the interface a request came in by.
type Surface string

const (
	Legacy   Surface = "legacy"   // /api/v1, ApiKey
	App      Surface = "app"      // /app, Bearer
	Public   Surface = "public"   // dashboards and what needs no key
	Operator Surface = "operator" // /operator/v1, the installation's owner
	Peer     Surface = "peer"     // a service calls a service
)

// Role names, as the specification has them; RoleAPI is the legacy interface's.
const (
	RoleAdmin      = "admin"
	RoleEvent      = "event"
	RoleSubscriber = "subscriber"
	RoleAPI        = "api"
)

// Passport says who is calling.
type Passport struct {
	Audience     string   `json:"aud"`           // the service it is for
	Surface      Surface  `json:"sur"`           //
	Organization string   `json:"org,omitempty"` // empty for the operator and anonymous visitors
	User         string   `json:"usr,omitempty"` // uuid
	Username     string   `json:"unm,omitempty"`
	Email        string   `json:"eml,omitempty"`
	LegacyUser   int64    `json:"lid,omitempty"` // the user's id in /api/v1/user/<id>/
	KeyID        string   `json:"key,omitempty"`
	Roles        []string `json:"rol,omitempty"`
	Features     Features `json:"fea"`
	Caller       string   `json:"cal,omitempty"` // the calling service, on Peer
	Expires      int64    `json:"exp"`           // Unix milliseconds
}

// Features are the entitlements of the organization's plan.
type Features struct {
	API           bool `json:"api,omitempty"`
	Integrations  bool `json:"int,omitempty"`
	UptimeReports bool `json:"upt,omitempty"`
}

// Has reports whether the caller has one of the roles; an admin has them all.
func (p Passport) Has(roles ...string) bool {
	return slices.ContainsFunc(p.Roles, func(role string) bool {
		return role == RoleAdmin || slices.Contains(roles, role)
	})
}

// Desk issues and checks passports.
type Desk struct {
	key []byte
	now func() time.Time
}

// NewDesk makes the desk of a platform secret.
func NewDesk(secret string, now func() time.Time) *Desk {
	return &Desk{key: seal.Key(secret, "passport"), now: now}
}

// Issue signs p, good from now on for Life.
func (d *Desk) Issue(p Passport) string {
	p.Expires = d.now().Add(Life).UnixMilli()
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, numbers and booleans only: cannot fail
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(d.sign(text))
}

// Check returns the passport that Issue signed for the audience, or a Denied fault.
func (d *Desk) Check(token, audience string) (Passport, error) {
	text, mac, found := strings.Cut(token, ".")
	if !found {
		return Passport{}, fault.New(fault.Denied, "no passport")
	}
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, d.sign(text)) {
		return Passport{}, fault.New(fault.Denied, "the passport's signature is wrong")
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Passport{}, fault.Wrap(fault.Denied, err, "the passport is damaged")
	}
	var p Passport
	if err := json.Unmarshal(body, &p); err != nil {
		return Passport{}, fault.Wrap(fault.Denied, err, "the passport is damaged")
	}
	if p.Audience != audience {
		return Passport{}, fault.New(fault.Denied, "the passport is for %s", p.Audience)
	}
	if d.now().UnixMilli() >= p.Expires {
		return Passport{}, fault.New(fault.Denied, "the passport has expired")
	}
	return p, nil
}

func (d *Desk) sign(text string) []byte {
	mac := hmac.New(sha256.New, d.key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

type contextKey struct{}

// With puts a checked passport into a request's context.
func With(ctx context.Context, p Passport) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From is the passport of the request; the zero one where there is none.
func From(ctx context.Context) Passport {
	p, _ := ctx.Value(contextKey{}).(Passport)
	return p
}
