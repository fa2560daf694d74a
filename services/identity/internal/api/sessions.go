package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

func (a api) sessionOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/sessions", ID: "listSessions", Tag: "sessions", Summary: "List the caller's own sessions, oldest first",
			Access: web.SignedIn, Status: 200,
			Example: web.Example{Response: `{"sessions": [{"id": "01890a5d-ac96-774b-bcce-b302099a8070", "current": true, "createdAt": "2026-01-31T09:30:00.000Z",
				"lastUsedAt": "2026-02-01T08:00:00.000Z", "signedInAt": "2026-01-31T09:30:00.000Z", "expiresAt": "2026-02-01T20:00:00.000Z", "keep": false,
				"ip": "192.0.2.1", "userAgent": "Mozilla/5.0", "method": "password"}]}`},
		}, a.listSessions),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/sessions", ID: "endOtherSessions", Tag: "sessions", Summary: "End all of the caller's other sessions",
			Access: web.SignedIn, Status: 204,
		}, a.endOtherSessions),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/sessions/{id}", ID: "endSession", Tag: "sessions", Summary: "End one of the caller's own sessions",
			Description: "Its own id signs the caller out. The session is refused from the next request on.",
			Access:      web.SignedIn, Status: 204,
		}, a.endSession),
	}
}

type sessionView struct {
	ID         string         `json:"id" format:"uuid"`
	Current    bool           `json:"current" description:"The session of this request."`
	CreatedAt  web.Time       `json:"createdAt"`
	LastUsedAt web.Time       `json:"lastUsedAt" description:"To the minute."`
	SignedInAt web.Time       `json:"signedInAt" description:"When the member last proved who they are: at the sign-in, when signing in again, or, with single sign-on, at the login at the provider, which may be long before the session."`
	ExpiresAt  web.Time       `json:"expiresAt" description:"If the session is not used."`
	Keep       bool           `json:"keep"`
	IP         string         `json:"ip" description:"Of the sign-in."`
	UserAgent  string         `json:"userAgent"`
	Method     account.Method `json:"method" enum:"password,passkey,signOn,link"`
}

type sessionsView struct {
	Sessions []sessionView `json:"sessions"`
}

func (a api) listSessions(c *web.Call[web.None, web.None]) (sessionsView, error) {
	user, err := a.accounts.Caller(c, whoOf(c.Caller))
	return sessionsView{find.Values(user.ActiveSessions(a.accounts.Now()), func(s account.Session) sessionView {
		return sessionView{
			ID: s.ID, Current: s.ID == c.Caller.Session, CreatedAt: web.Time(s.CreatedAt), LastUsedAt: web.Time(s.LastUsedAt),
			SignedInAt: web.Time(s.SignedInAt), ExpiresAt: web.Time(s.ExpiresAt()), Keep: s.Keep, IP: s.IP, UserAgent: s.UserAgent, Method: s.Method,
		}
	})}, err
}

func (a api) endOtherSessions(c *web.Call[web.None, web.None]) (web.None, error) {
	return web.None{}, a.accounts.EndOtherSessions(c, whoOf(c.Caller))
}

type sessionParameters struct {
	ID string `path:"id" format:"uuid" record:"session"`
}

func (a api) endSession(c *web.Call[sessionParameters, web.None]) (web.None, error) {
	return web.None{}, a.accounts.EndSession(c, whoOf(c.Caller), c.Parameters.ID)
}
