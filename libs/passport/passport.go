// Package passport signs and verifies the token that names the caller of a request. The
// gateway sends a passport with each request that it forwards, and a service sends a
// passport with each call to another service. A service refuses a request without a valid
// passport, except for its health checks, so a client cannot use a service directly.
//
// A passport is the HTTP header Bellbuoy-Passport: base64url(JSON) "." base64url(
// HMAC-SHA256). The key is derived from BELLBUOY_SECRET. The format is our own and not a
// JWT, because the algorithm and the key are fixed: nothing is negotiated. A passport
// names the one service that may accept it and expires after 60 seconds, which limits
// the use of a copied passport.
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

// Header is the name of the header that contains a passport. The gateway removes every header whose name starts with
// HeaderPrefix from the requests of clients.
const (
	Header       = "Bellbuoy-Passport"
	HeaderPrefix = "Bellbuoy-"
)

// Stream is the header of a response that may last longer than the time limit of a request. The gateway then limits the time
// without progress only. It forwards no header with HeaderPrefix to clients.
const Stream = HeaderPrefix + "Stream"

// SessionCookie is the name of the console's cookie with a session: "<id>:<secret>". In browsers, the
// cookie has the name that CookieName returns. The gateway reads the cookie and forwards it to no service.
const SessionCookie = "bellbuoy"

// HostPrefix begins the name of a cookie that browsers accept over https only, and return only to the host that has set the
// cookie.
const HostPrefix = "__Host-"

// CookieName returns the name of a cookie of the console at the base URL. Over https the name has HostPrefix.
func CookieName(base, name string) string {
	if strings.HasPrefix(base, "https://") {
		return HostPrefix + name
	}
	return name
}

// ErrNoAPI is the error for members of an organization without the feature API.
var ErrNoAPI = fault.New(fault.Forbidden, "The plan of your organization does not include the API.")

// Life is the time after which a signed passport expires at the latest.
const Life = 60 * time.Second

// Surface is the interface through which a request came.
type Surface string

const (
	Legacy   Surface = "legacy"   // /api/v1, with an ApiKey
	App      Surface = "app"      // /app, with a Bearer key, or called by the console
	Public   Surface = "public"   // dashboards and other paths that need no API key
	Operator Surface = "operator" // /operator/v1, for the owner of the installation
	Peer     Surface = "peer"     // calls from one service to another
	Console  Surface = "console"  // /console, with a session or signed out
)

// Names of the roles in the specification. RoleAPI permits the legacy interface.
const (
	RoleAdmin      = "admin"
	RoleEvent      = "event"
	RoleSubscriber = "subscriber"
	RoleAPI        = "api"
)

// Passport names the caller of a request.
type Passport struct {
	Audience     string   `json:"aud"` // service that may accept the passport
	Surface      Surface  `json:"sur"`
	Organization string   `json:"org,omitempty"` // empty for the operator, anonymous visitors, and calls between services without an organization
	User         string   `json:"usr,omitempty"` // uuid
	Username     string   `json:"unm,omitempty"`
	Email        string   `json:"eml,omitempty"`
	LegacyUser   int64    `json:"lid,omitempty"` // the user's integer id in /api/v1/user/<id>/
	KeyID        string   `json:"key,omitempty"`
	Session      string   `json:"ses,omitempty"` // id of the session of a member who uses the console; KeyID is then empty
	IP           string   `json:"ip,omitempty"`  // address of the client
	Roles        []string `json:"rol,omitempty"`
	Features     Features `json:"fea"`
	Caller       string   `json:"cal,omitempty"` // service that sends the request, if Surface is Peer; "console" if the console calls on the surface App
	Expires      int64    `json:"exp"`           // in Unix milliseconds
}

// Features are the features of an organization, from its plan or its own settings.
type Features struct {
	API           bool `json:"api,omitempty"`
	Integrations  bool `json:"int,omitempty"`
	UptimeReports bool `json:"upt,omitempty"`
}

// Has reports whether the caller has one of the roles. An admin has every role.
func (p Passport) Has(roles ...string) bool {
	return slices.ContainsFunc(p.Roles, func(role string) bool {
		return role == RoleAdmin || slices.Contains(roles, role)
	})
}

// ByConsole reports whether the console calls an operation of the App interface: for the member of Session, or for a
// visitor of its sign-in pages if Session is empty.
func (p Passport) ByConsole() bool { return p.Surface == App && p.Caller == string(Console) }

// Signer signs and verifies passports.
type Signer struct {
	key []byte
	now func() time.Time
}

// NewSigner returns a Signer. Its key is derived from the secret of the platform.
func NewSigner(secret string, now func() time.Time) *Signer {
	return &Signer{key: seal.Key(secret, "passport"), now: now}
}

// Sign returns p as a signed token that expires after Life, or at p.Expires if this is earlier.
func (s *Signer) Sign(p Passport) string {
	if latest := s.now().Add(Life).UnixMilli(); p.Expires == 0 || p.Expires > latest {
		p.Expires = latest
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot happen: p consists of strings, numbers and booleans
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.mac(text))
}

// Verify returns the passport in the token. It returns a Denied fault unless the platform signed the token for audience
// and the token has not expired.
func (s *Signer) Verify(token, audience string) (Passport, error) {
	text, mac, found := strings.Cut(token, ".")
	if !found {
		return Passport{}, fault.New(fault.Denied, "The request has no passport.")
	}
	sum, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(sum, s.mac(text)) {
		return Passport{}, fault.New(fault.Denied, "The signature of the passport is wrong.")
	}
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Passport{}, fault.Wrap(fault.Denied, err, "The passport cannot be decoded.")
	}
	var p Passport
	if err := json.Unmarshal(body, &p); err != nil {
		return Passport{}, fault.Wrap(fault.Denied, err, "The passport cannot be decoded.")
	}
	if p.Audience != audience {
		return Passport{}, fault.New(fault.Denied, "The passport is for the service %s.", p.Audience)
	}
	if s.now().UnixMilli() >= p.Expires {
		return Passport{}, fault.New(fault.Denied, "The passport has expired.")
	}
	return p, nil
}

func (s *Signer) mac(text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

type contextKey struct{}

// With returns a context that contains a verified passport.
func With(ctx context.Context, p Passport) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the passport in the context of a request. If there is none, it returns the zero Passport.
func From(ctx context.Context) Passport {
	p, _ := ctx.Value(contextKey{}).(Passport)
	return p
}
