package pages

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// visit is a request to a page.
type visit struct {
	*gin.Context
	pages   *pages
	route   route
	caller  passport.Passport
	app     *app.Caller
	profile func() (app.Profile, error) // reads the profile once; for a signed-in member, open starts this in the background
	// dashboards returns the dashboards of the navigation. It reads them once. It is nil unless readNavigation was called.
	dashboards func() app.Dashboards
	kept       url.Values  // values that the member typed before signing in again; nil: none
	form       *forms.Form // the form that was read last
	secret     bool        // the response shows a secret, so it is not compressed
}

// policy is the Content-Security-Policy. It allows only resources of the same origin, and images in data: URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// serve returns the handler of a route.
func (p *pages) serve(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		for name, value := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Content-Security-Policy": policy, "X-Robots-Tag": "noindex",
		} {
			c.Header(name, value)
		}
		v := &visit{Context: c, pages: p, caller: passport.From(c.Request.Context())}
		v.app = p.client.For(v.caller, c.Request.Header)
		// The call of Profile may outlive the handler, because a redirect does not wait for the profile. So the call uses ctx and
		// not c.
		ctx, cancel := context.WithCancel(c.Request.Context())
		defer cancel()
		caller := v.app
		v.profile = sync.OnceValues(func() (app.Profile, error) {
			result, err := caller.Profile(ctx)
			return result.Profile, err
		})
		if err := v.open(r); err != nil {
			v.fail(err)
		}
	}
}

// open calls the handler of a route if the caller may open it. For another caller, it redirects, or it returns or shows an
// error.
func (v *visit) open(r route) error {
	v.route = r
	if v.signedIn() {
		profile := v.profile
		// showPage calls profile again and handles its error. After a panic, each call of profile panics again.
		go func() { _ = fault.Recovered(func() error { _, err := profile(); return err }) }()
	}
	if r.access == anyone {
		return r.handle(v)
	}
	framed := strings.HasSuffix(r.path, "/preview")
	if v.signedIn() && v.caller.Has(passport.RoleEvent, passport.RoleSubscriber) && !strings.HasPrefix(r.path, "/parts/") && !framed {
		v.readNavigation()
	}
	switch {
	case !v.signedIn() && framed: // the sign-in does not open in a frame
		return v.noPreview(&app.Error{Status: http.StatusUnauthorized, Message: "Your session has ended. Save the form to sign in again."})
	case !v.signedIn():
		return v.toSignIn()
	}
	if r.role != "" && !v.caller.Has(strings.Split(r.role, "|")...) {
		if profile, err := v.profile(); err == nil && profile.SecondFactorRequired {
			return v.redirect("/profile/security")
		}
		err := &app.Error{Status: http.StatusForbidden, Message: "This page needs the role " + roleLabels(r.role) + ". An administrator of your organization can give it to you."}
		if framed {
			return v.noPreview(err)
		}
		return err
	}
	return r.handle(v)
}

// readNavigation starts to read the dashboards of the navigation in the background.
func (v *visit) readNavigation() {
	caller, ctx := v.app, v.Request.Context()
	read := sync.OnceValue(func() app.Dashboards {
		found, _ := caller.Dashboards(ctx, url.Values{"limit": {strconv.Itoa(shownDashboards)}}) // the page works without the dashboards
		return found
	})
	v.dashboards = read
	go func() { // after a panic, each call of v.dashboards panics again
		_ = fault.Recovered(func() error { read(); return nil })
	}()
}

func (v *visit) signedIn() bool { return v.caller.Session != "" }

// isPost reports whether the request sends a form.
func (v *visit) isPost() bool { return v.Request.Method == post }

// entrance returns the parameters of a page on which a member signs in: the page next comes afterwards, and kept is not empty if
// the browser has kept the values that the member typed.
func entrance(next, kept string) url.Values {
	if next == root+"/" {
		next = ""
	}
	if kept != "" {
		kept = "1"
	}
	return filled(map[string]string{"next": next, "kept": kept})
}

// toSignIn redirects to the sign-in, which leads back to the page of the request. After a POST it leads back to the page with
// the form.
func (v *visit) toSignIn() error {
	next, kept := v.Request.URL.RequestURI(), ""
	if v.isPost() {
		next, kept = v.formPage(), "1"
	}
	return v.redirect(withQuery("/sign-in", entrance(safeNext(next), kept)))
}

// formPage returns the path, with its query, of the page that has sent the form. If no form was read, this is the page in the
// header Referer, or the nearest page above if no page has that path. Without such a page, it returns the path of the overview.
func (v *visit) formPage() string {
	if v.form != nil {
		return root + v.form.PagePath()
	}
	from, err := url.Parse(v.GetHeader("Referer"))
	if err != nil {
		return root + "/"
	}
	next := safeNext(from.RequestURI())
	for at, _, _ := strings.Cut(next, "?"); len(at) > len(root); at = path.Dir(at) {
		if _, _, found := v.pages.page(at); found {
			return next
		}
		next = path.Dir(at)
	}
	return root + "/"
}

// safeNext returns the path with its query if it is below the console, but not below the sign-in or sign-out. Otherwise it
// returns the path of the overview.
func safeNext(next string) string {
	parsed, err := url.Parse(next)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.Opaque != "" || strings.ContainsAny(next, "\\\r\n\t") ||
		!strings.HasPrefix(next, root+"/") || !strings.HasPrefix(path.Clean(parsed.Path)+"/", root+"/") ||
		strings.HasPrefix(parsed.Path, root+"/sign-in") || strings.HasPrefix(parsed.Path, root+"/sign-out") {
		return root + "/"
	}
	return parsed.RequestURI()
}

// redirect responds with 303 to a path below the console.
func (v *visit) redirect(target string) error { return v.redirectTo(root + target) }

func (v *visit) redirectTo(address string) error {
	v.Redirect(http.StatusSeeOther, address)
	v.Writer.WriteHeaderNow()
	return nil
}

// submit reads the form. If the form has no problem, submit calls do, which changes something and responds. If the member
// must correct the form or send it again, submit calls show with the status. It returns any other error.
func (v *visit) submit(form *forms.Form, do func() error, show func(status int) error) error {
	v.form = form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if form.OK() {
		err := do()
		if err == nil {
			return nil
		}
		failed := app.As(err)
		if failed == nil || failed.Again {
			return err
		}
		switch {
		case failed.Status == http.StatusBadRequest, failed.Status == http.StatusConflict:
			form.Refuse(failed.Field, failed.Message)
		case failed.Status == http.StatusTooManyRequests:
			status, form.Problem = failed.Status, tooMany(failed.Wait)
			v.wait(failed.Wait)
		case failed.Unavailable():
			form.Problem = unavailable(failed) + " What you typed is still here. Send it again in a moment."
			form.SecretsGone()
			if show(http.StatusServiceUnavailable) == nil {
				return nil
			}
			form.Problem = ""
			return err // show failed, because the page with the form needs the service, too
		default:
			return err
		}
	}
	form.SecretsGone()
	return show(status)
}

// atField makes the refusal of a password, a code or a passkey (403) a problem of the field with the name, or of the whole form if the
// name is empty. It returns any other error unchanged, also the one that asks the member to sign in again.
func atField(name string, err error) error {
	if failed := app.As(err); failed != nil && failed.Status == http.StatusForbidden && !failed.Again && failed.Message != "" {
		failed.Status, failed.Field = http.StatusBadRequest, name
	}
	return err
}

// fill sets the fields to the values that the member typed before signing in again. A form that lacks one of these fields is
// not filled.
func (v *visit) fill(form *forms.Form) {
	if v.kept != nil && form.Fill(v.kept) == nil {
		form.SecretsGone()
	}
}

// json responds to a script with the value as JSON.
func (v *visit) json(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.respond(http.StatusOK, "application/json", text)
	return nil
}

// Suffixes of the names of the console's own cookies.
const (
	browserCookie = "-browser" // ticket of a browser that has signed in before
	signOnCookie  = "-sign-on" // state of a single sign-on, and whether the browser has kept what the member typed
	codeCookie    = "-code"    // ticket of a sign-in that waits for a second factor
	noticeCookie  = "-notice"  // status line of the next page
	testCookie    = "-test"    // id of the test message that was sent last
)

const (
	browserLife = 180 * 24 * time.Hour
	stepLife    = 10 * time.Minute
)

func (v *visit) cookieName(suffix string) string {
	return passport.CookieName(v.pages.Links.ConsoleBaseURL, passport.SessionCookie+suffix)
}

// setCookie sets a cookie. A cookie with life 0 ends with the browser's session. A negative life removes the cookie.
func (v *visit) setCookie(suffix, value string, life time.Duration) {
	http.SetCookie(v.Writer, &http.Cookie{
		Name: v.cookieName(suffix), Value: value, Path: "/", MaxAge: int(life / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(v.pages.Links.ConsoleBaseURL, "https:"),
	})
}

func (v *visit) cookie(suffix string) string {
	cookie, err := v.Request.Cookie(v.cookieName(suffix))
	if err != nil {
		return ""
	}
	return cookie.Value
}

const ended = -time.Second // life of a cookie that is to be removed

// write responds with a page. If the page shows a secret, write sets web.SecretHeader, so that the gateway repeats the page
// only for a short time.
func (v *visit) write(status int, page []byte) {
	if v.secret {
		v.Header(web.SecretHeader, "shown")
	}
	v.respond(status, "text/html; charset=utf-8", page)
}

// respond responds with a body of a media type. It compresses the body if the browser accepts gzip and the response shows no
// secret.
func (v *visit) respond(status int, media string, body []byte) {
	v.Header("Content-Type", media)
	v.Header("Vary", "Accept-Encoding")
	if v.secret || !strings.Contains(v.GetHeader("Accept-Encoding"), "gzip") {
		v.Status(status)
		_, _ = v.Writer.Write(body) // an error means that the browser has gone
		return
	}
	v.Header("Content-Encoding", "gzip")
	v.Status(status)
	packed := gzip.NewWriter(v.Writer)
	_, _ = packed.Write(body)
	_ = packed.Close()
}
