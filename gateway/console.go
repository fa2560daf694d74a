package gateway

import (
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	visitors "github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
)

const (
	// consolePath is the template of the one row for the web console. Every path below /console belongs to this row.
	consolePath = "/console/{path}"
	// sessionRate is the maximum number of requests of one session in a minute.
	sessionRate = 600
	// onceParameter is a query parameter of the console's forms. Each form that is shown has another value.
	onceParameter = "once"
	// oncePause is the pause between two checks whether the first POST of the same form has ended.
	oncePause = 100 * time.Millisecond
	// importParts is the beginning of the paths to which the page for the import of a status page sends files and lines. The
	// body of a member's request to these paths may have importBody bytes, so that it can have many lines in compressed form.
	importParts = "/console/parts/import/"
	importBody  = 8 << 20
	// consoleFiles is the beginning of the paths of the console's style, scripts and icons.
	consoleFiles = "/console/assets/"
	// secretLife is the time in which a repeated form gets the page with the secret that the first form has created. A browser
	// shows only the response to the second of two quick taps.
	secretLife = time.Minute
)

// consoleRules are the rules for requests to the web console.
//
// Decision: the console has no CSRF tokens. A browser sends the session cookie with a form of another site only if the
// method is GET (SameSite=Lax), and http.CrossOriginProtection refuses a POST that a browser sends for another origin.
type consoleRules struct {
	origin   string // scheme and host of CONSOLE_BASE_URL
	hostname string
	cookie   string // name of the cookie with the session
	posts    *http.CrossOriginProtection
}

// newConsoleRules returns the rules for the console at the base URL.
func newConsoleRules(base string, log *slog.Logger) (*consoleRules, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	c := &consoleRules{
		origin: u.Scheme + "://" + u.Host, hostname: message.Hostname(u.Host), cookie: passport.CookieName(base, passport.SessionCookie),
		posts: http.NewCrossOriginProtection(),
	}
	if u.Scheme == "http" && !isLoopback(c.hostname) {
		log.Warn("CONSOLE_BASE_URL begins with http://: passwords and sessions of members are sent without encryption", "url", base)
	}
	if base == "" {
		return c, nil
	}
	return c, c.posts.AddTrustedOrigin(c.origin) // a proxy may change the port in the Host header
}

// isLoopback reports whether the host name is that of this machine.
func isLoopback(hostname string) bool {
	ip, err := netip.ParseAddr(hostname)
	return hostname == "localhost" || err == nil && ip.IsLoopback()
}

// session returns the session in the cookie of a request. It returns false if the cookie is missing or keyOf returns false.
func (c *consoleRules) session(r *http.Request) (peer.KeyLookup, bool) {
	cookie, err := r.Cookie(c.cookie)
	if err != nil {
		return peer.KeyLookup{}, false
	}
	return keyOf(peer.Session, cookie.Value)
}

// serveConsole serves the web console. It checks in this order: host, method, origin of a POST, session and its rate. A
// request without a valid session is forwarded as signed out. A request for a file is also forwarded as signed out: the
// files need no session, and a page whose style or script got the response 429 or 503 would be broken.
func (e *edge) serveConsole(r *request) {
	rules := e.console
	if name := message.Hostname(r.in.Host); name != rules.hostname {
		e.misdirect(r, name)
		return
	}
	if r.found.route == nil {
		r.RefuseMethod()
		return
	}
	if err := rules.posts.Check(r.in); err != nil {
		r.Refuse(fault.Wrap(fault.Forbidden, err, "This form was sent from a page of another site. Open the console and try again."))
		return
	}
	var member *caller
	if session, sent := rules.session(r.in); sent && !isConsoleFile(r) {
		var err error
		if member, err = e.guard.admit(r.ctx, session); err != nil && !fault.Is(err, fault.Denied) {
			r.Refuse(err)
			return
		}
	}
	// The cookies distinguish signed-out browsers, because the response to a form can contain a session.
	token, owner := "", []string{console, "signed out", r.ip, digest(r.in.Header["Cookie"]...)}
	if member == nil {
		token = e.signer.Sign(passport.Passport{Audience: console, Surface: passport.Console, IP: r.ip})
	} else {
		r.organization = member.credential.Organization
		token = e.guard.passport(member, console, passport.Console, r.ip)
		owner = append([]string{console, member.credential.Session}, member.owner()...)
	}
	if once := r.in.URL.Query().Get(onceParameter); once != "" && r.in.Method == http.MethodPost {
		e.forwardForm(r, token, append(owner, once))
		return
	}
	most := int64(message.MaxBody)
	if member != nil && strings.HasPrefix(r.in.URL.Path, importParts) {
		most = importBody
	}
	e.forwardWithin(r, token, most)
}

// misdirect responds to a request whose host is not the host of the console. It redirects a GET if both hosts are this
// machine, such as 127.0.0.1 and localhost. Otherwise it shows a page with the address of the console: a proxy may set
// any host, so a redirect could loop for ever.
func (e *edge) misdirect(r *request, hostname string) {
	if r.in.Method == http.MethodGet && isLoopback(hostname) && isLoopback(e.console.hostname) {
		r.Header().Set("Location", e.console.origin+r.in.URL.RequestURI())
		r.Header().Set("Content-Length", "0")
		r.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	e.showProblem(r, http.StatusMisdirectedRequest, "The console has this address:", e.console.origin+"/console/")
}

// forwardForm forwards a form of the console. If the owner has sent this form with this content before, forwardForm
// sends the first response again. It repeats a page with a secret only for secretLife. A form whose content was changed is
// another write. While Redis is down, forwardForm forwards every form, because members must be able to publish during an
// outage.
func (e *edge) forwardForm(r *request, token string, owner []string) {
	body, err := message.Body(r.in)
	if fault.Is(err, fault.TooLarge) {
		err = fault.Wrap(fault.TooLarge, err, "A form can have at most 1 MiB. Go back, and send less at once. Divide a longer list of subscribers into several files, or turn on JavaScript, which sends up to 64 MiB in pieces.")
	}
	if err != nil {
		r.Refuse(err)
		return
	}
	request := digest(r.in.URL.RequestURI(), contentOf(r.in.Header, body))
	mine, first, err := e.idempotency.claimOrWait(r.ctx, "idempotency:"+digest(append(owner, request)...), request)
	switch {
	case err == errDown:
		e.forwardBody(r, token, body)
	case err != nil:
		r.Refuse(err)
	case mine != nil:
		e.forwardFirst(r, *mine, token, body)
	case first.Response == nil || first.Response.Omitted:
		r.Refuse(fault.New(fault.Conflict, "It is not known whether it was carried out. Look at the record before you send the form again."))
	case first.Response.Secret && e.idempotency.now().Sub(first.Begun) > secretLife:
		r.Refuse(fault.New(fault.Conflict, "It was carried out, and the secret was shown then. It is shown only once. If you did not save it, make a new one."))
	default:
		first.repeat(r)
	}
}

// isConsoleFile reports whether the request is for a file of the console.
func isConsoleFile(r *request) bool { return strings.HasPrefix(r.in.URL.Path, consoleFiles) }

// contentOf returns the content of a form. A browser separates the fields of a form with a file by another random
// boundary each time, so contentOf omits the boundary.
func contentOf(header http.Header, body []byte) string {
	_, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if boundary := parameters["boundary"]; err == nil && boundary != "" {
		return strings.ReplaceAll(string(body), boundary, "")
	}
	return string(body)
}

// claimOrWait is claim for a form of the console. It waits up to upstreamTimeout while the first request with the same
// content is under way, so that the second of two quick taps gets the response to the first. It returns errDown if Redis is
// down.
func (i *idempotency) claimOrWait(ctx context.Context, name, request string) (*claim, firstWrite, error) {
	ctx, cancel := context.WithTimeout(ctx, upstreamTimeout)
	defer cancel()
	for {
		mine, first, err := i.claim(ctx, name, request)
		if i.redis.IsDown() && mine == nil {
			return nil, firstWrite{}, errDown
		}
		if err != nil || mine != nil || first.Response != nil || i.now().Sub(first.Begun) > underWay {
			return mine, first, err
		}
		select {
		case <-ctx.Done():
			return nil, first, nil
		case <-time.After(oncePause):
		}
	}
}

// problemBody is the page for an error of the gateway.
const problemBody = `<p>{{.Text}}</p>
{{with .Address}}<p class="card"><a href="{{.}}">{{.}}</a></p>
{{else}}<p><a class="btn" href="/console/">Go to the overview</a></p>
{{end}}<p class="meta">Request {{.ID}}</p>`

// problemTitle returns the heading of the page for a status.
func problemTitle(status int) string {
	switch status {
	case http.StatusForbidden:
		return "This is not allowed"
	case http.StatusMethodNotAllowed:
		return "This page does not take such a request"
	case http.StatusConflict:
		return "This form was sent before"
	case http.StatusRequestEntityTooLarge:
		return "This is too large"
	case http.StatusMisdirectedRequest:
		return "The console is at another address"
	case http.StatusTooManyRequests:
		return "Too many requests"
	case http.StatusServiceUnavailable:
		return "The console cannot be reached at the moment"
	case http.StatusBadRequest:
		return "The request cannot be read"
	default:
		return "Something went wrong"
	}
}

// refuseInConsole responds to a request with a page for the error.
func (e *edge) refuseInConsole(r *request, err error) {
	f := fault.As(err)
	status := f.Kind.Status()
	if _, late := errors.AsType[fault.Throttled](err); late {
		status = http.StatusTooManyRequests
	}
	e.showProblem(r, status, f.Message, "")
}

// showProblem responds with a page that names the request, so that an operator finds it in the log. The response to a
// request for a file is plain text: a browser that expects a script or a style refuses a page and hides its status.
func (e *edge) showProblem(r *request, status int, text, address string) {
	if isConsoleFile(r) {
		header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}}
		file := message.NewResponse(status, header, []byte(text+"\n"))
		file.Write(r, r.in)
		return
	}
	body, header, err := visitors.Plain(problemTitle(status), problemBody, struct{ Text, Address, ID string }{text, address, r.id})
	if err != nil {
		e.log.ErrorContext(r.ctx, "the page of an error cannot be rendered", "error", err.Error())
	}
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	page := message.NewResponse(status, header, body)
	page.Write(r, r.in)
}
