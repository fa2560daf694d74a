// Package issuer calls the OpenID Connect providers of organizations: it reads their metadata and keys, exchanges codes
// and verifies ID tokens.
//
// Decision: admins choose the URL of an issuer, and the issuer chooses the URLs of its endpoints. So each connection
// passes the guard of libs/egress, redirects are refused, and every response is limited in size and time. SSO_RESOLVE
// names the issuers to which the guard does not apply.
package issuer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/oauth2"

	"github.com/bellbuoy/bellbuoy/libs/egress"
	"github.com/bellbuoy/bellbuoy/libs/fault"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const (
	callTimeout   = 5 * time.Second // time limit of one call
	finishTimeout = 8 * time.Second // time limit of Finish
	maxResponse   = 1 << 20
	maxHeader     = 64 << 10
	metadataFor   = 10 * time.Minute
	maxIssuers    = 1000
	maxCause      = 300 // maximum number of bytes of an issuer's error that are logged
)

// Client implements account.Issuers.
type Client struct {
	http      *http.Client
	now       func() time.Time
	providers *expirable.LRU[string, *oidc.Provider]
}

// Options are the settings of a Client.
type Options struct {
	Resolve egress.Resolve // SSO_RESOLVE
	Roots   *x509.CertPool
	Now     func() time.Time
}

// New returns a Client.
func New(o Options) *Client {
	transport := &http.Transport{
		DialContext: dial(o.Resolve), TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: callTimeout, ResponseHeaderTimeout: callTimeout, MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 2, MaxIdleConns: 100, IdleConnTimeout: 30 * time.Second,
	}
	return &Client{
		http: &http.Client{
			Transport: limited{transport}, Timeout: callTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("the issuer redirects") },
		},
		now: o.Now, providers: expirable.NewLRU[string, *oidc.Provider](maxIssuers, nil, metadataFor),
	}
}

// errBlocked is the error of a connection to a forbidden address or port.
var errBlocked = errors.New("the address is not public")

// dial returns a function that connects to a host. It connects to the address that SSO_RESOLVE sets for the host, or to
// port 443 of a public address.
func dial(resolve egress.Resolve) func(ctx context.Context, network, address string) (net.Conn, error) {
	guarded := &net.Dialer{Timeout: callTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil || target.Port() != 443 || egress.Forbidden(target.Addr()) {
			return errBlocked
		}
		return nil
	}}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if target, placed := resolve.Lookup(address); placed {
			return (&net.Dialer{Timeout: callTimeout}).DialContext(ctx, network, target)
		}
		return guarded.DialContext(ctx, network, address)
	}
}

// limited refuses requests that are not https, and limits the size of responses.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, errors.New("the issuer has an endpoint without https")
	}
	response, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &limitedBody{response.Body, maxResponse}
	return response, nil
}

type limitedBody struct {
	io.ReadCloser
	left int
}

// Read returns an error after maxResponse bytes.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the response of the issuer has more than %d bytes", maxResponse)
	}
	return n, err
}

// unreachable returns the error for an issuer that gives no usable response. Its text is for the client.
func unreachable(err error) error {
	text := err.Error()
	cause := errors.New(strings.ToValidUTF8(text[:min(len(text), maxCause)], ""))
	switch {
	case errors.Is(err, errBlocked):
		return fault.Wrap(fault.Unavailable, cause, "The sign-on provider has an address that is not public. Its operator can name it in SSO_RESOLVE.")
	case isMismatch(err):
		return fault.Wrap(fault.Unavailable, cause, "The sign-on provider has another issuer than the one in the settings.")
	}
	return fault.Wrap(fault.Unavailable, cause, "The sign-on provider cannot be reached, or sends no valid response.")
}

func isMismatch(err error) bool {
	_, is := errors.AsType[*oidc.IssuerMismatchError](err)
	return is
}

// provider returns the metadata of the issuer. The metadata is cached for metadataFor. The keys are read again when a
// token has an unknown key.
func (c *Client) provider(ctx context.Context, issuer string) (*oidc.Provider, error) {
	if known, found := c.providers.Get(issuer); found {
		return known, nil
	}
	return c.discover(ctx, issuer)
}

// discover reads the metadata of the issuer.
func (c *Client) discover(ctx context.Context, issuer string) (*oidc.Provider, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, c.http), issuer)
	if err == nil && (!secure(provider.Endpoint().AuthURL) || !secure(provider.Endpoint().TokenURL)) {
		err = errors.New("the issuer names no endpoints with https")
	}
	if err != nil {
		return nil, unreachable(err)
	}
	c.providers.Add(issuer, provider)
	return provider, nil
}

func secure(endpoint string) bool {
	parsed, err := url.Parse(endpoint)
	return err == nil && parsed.Scheme == "https" && parsed.Host != "" && parsed.User == nil
}

// Check reads the metadata of an issuer again. It implements account.Issuers.
func (c *Client) Check(ctx context.Context, issuer string) error {
	_, err := c.discover(ctx, issuer)
	return err
}

// Start implements account.Issuers.
func (c *Client) Start(ctx context.Context, p account.Provider, s account.SignOnStart) (string, error) {
	provider, err := c.provider(ctx, p.Issuer)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{
		oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier), oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(s.MaxAge.Seconds()))),
	}
	if s.Again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return c.config(provider, p).AuthCodeURL(s.State, options...), nil
}

func (c *Client) config(provider *oidc.Provider, p account.Provider) *oauth2.Config {
	endpoint := provider.Endpoint()
	var metadata struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	_ = provider.Claims(&metadata) // the metadata were decoded before
	// The library would try both styles of authentication, and the first try could use up the code.
	if endpoint.AuthStyle = oauth2.AuthStyleInHeader; len(metadata.Methods) > 0 && !slices.Contains(metadata.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: endpoint, RedirectURL: p.RedirectURL,
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// refused returns the error for a sign-in that the provider or its token does not prove.
func refused(err error) error {
	text := err.Error()
	return fault.Wrap(fault.Forbidden, errors.New(strings.ToValidUTF8(text[:min(len(text), maxCause)], "")), "The sign-on provider did not confirm the sign-in. Start again.")
}

// Finish implements account.Issuers.
func (c *Client) Finish(ctx context.Context, p account.Provider, s account.SignOnStart, code string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, c.http), finishTimeout)
	defer cancel()
	provider, err := c.provider(ctx, p.Issuer)
	if err != nil {
		return nil, err
	}
	token, err := c.config(provider, p).Exchange(ctx, code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		if answered, is := errors.AsType[*oauth2.RetrieveError](err); is && answered.Response != nil && answered.Response.StatusCode < http.StatusInternalServerError {
			return nil, refused(errors.New("the code was refused: " + answered.ErrorCode))
		}
		return nil, unreachable(err)
	}
	raw, _ := token.Extra("id_token").(string)
	verified, err := provider.Verifier(&oidc.Config{ClientID: p.ClientID, Now: c.now}).Verify(ctx, raw)
	if err != nil {
		return nil, refused(err)
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return nil, refused(err)
	}
	party, _ := claims["azp"].(string)
	switch {
	case verified.Subject == "":
		return nil, refused(errors.New("the token has no subject"))
	case verified.Nonce == "" || verified.Nonce != s.Nonce:
		return nil, refused(errors.New("the token has another nonce"))
	case party != "" && party != p.ClientID || party == "" && len(verified.Audience) > 1:
		return nil, refused(errors.New("the token is for another client"))
	}
	return c.complete(ctx, provider, p, token, claims)
}

// complete adds to claims the claims of the userinfo endpoint that the token lacks. It calls the endpoint only if the token
// lacks the mail address or the claim p.RolesClaim. Providers need not put the claims of a scope into the token (OpenID
// Connect Core, 5.4).
func (c *Client) complete(ctx context.Context, provider *oidc.Provider, p account.Provider, token *oauth2.Token, claims map[string]any) (map[string]any, error) {
	_, mail := claims["email"]
	if mail && (p.RolesClaim == "" || account.ClaimOf(claims, p.RolesClaim) != nil) || provider.UserInfoEndpoint() == "" {
		return claims, nil
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, unreachable(err)
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil || info.Subject != claims["sub"] {
		return nil, refused(errors.Join(errors.New("the user information is about another subject"), err))
	}
	for name, value := range more {
		if _, has := claims[name]; !has {
			claims[name] = value
		}
	}
	return claims, nil
}
