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
	profile func() (app.Profile, error) // runs once; the first caller starts it beside the other calls of the page
	// dashboards returns those of the navigation. It runs as profile does. It is nil for a member who may not read them.
	dashboards func() app.Dashboards
	kept       url.Values  // what the member typed before signing in again; nil otherwise
	form       *forms.Form // the form that was read last
	secret     bool        // the response shows a secret, so it is not compressed
}

// policy allows only what the console serves itself.
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
		// The call may outlive the handler, which does not wait for the profile before a redirect. So it does not use c.
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

// open calls the handler of a route if the caller may open it.
func (v *visit) open(r route) error {
	v.route = r
	if v.signedIn() {
		profile := v.profile
		// show waits for the result, and handles its error. A panic is repeated there.
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

// readNavigation begins to read the dashboards of the navigation.
func (v *visit) readNavigation() {
	caller, ctx := v.app, v.Request.Context()
	read := sync.OnceValue(func() app.Dashboards {
		found, _ := caller.Dashboards(ctx, url.Values{"limit": {strconv.Itoa(shownDashboards)}}) // the page works without them
		return found
	})
	v.dashboards = read
	go func() { // a panic is repeated for those who wait for the result
		_ = fault.Recovered(func() error { read(); return nil })
	}()
}

func (v *visit) signedIn() bool { return v.caller.Session != "" }

// isPost reports whether the request sends a form.
func (v *visit) isPost() bool { return v.Request.Method == post }

// toSignIn leads to the sign-in, and from there back to the page. After a POST this is the page with the form.
func (v *visit) toSignIn() error {
	next, kept := v.Request.URL.RequestURI(), ""
	if v.isPost() {
		next, kept = v.formPage(), "1"
	}
	query := url.Values{}
	if next = safeNext(next); next != root+"/" {
		query.Set("next", next)
	}
	if kept != "" {
		query.Set("kept", kept)
	}
	target := "/sign-in"
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return v.redirect(target)
}

// formPage returns the path of the page that has sent the form. Before the form is read, this is the page that the browser
// names, or the page above if that is the path of forms only.
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

// safeNext returns the path if it is below the console, or else the path of the overview.
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

// submit reads the form and calls do, which changes something and responds. If the member must correct the form,
// submit calls show with the status.
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
			return err // the page with the form needs the missing part, too
		default:
			return err
		}
	}
	form.SecretsGone()
	return show(status)
}

// fill shows what the member typed before signing in again. A form without the fields stays as it is.
func (v *visit) fill(form *forms.Form) {
	if v.kept != nil && form.Fill(v.kept) == nil {
		form.SecretsGone()
	}
}

// json responds to a script.
func (v *visit) json(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.respond(http.StatusOK, "application/json", text)
	return nil
}

// cookieNames are the parts of the names of the console's own cookies.
const (
	browserCookie = "-browser" // by which a browser that has signed in before is known
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

// setCookie sets a cookie. With life 0 the cookie ends with the browser's session, with a negative life now.
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

// write responds with a page. A page that shows a secret is not compressed, and the gateway does not show it again later.
func (v *visit) write(status int, page []byte) {
	if v.secret {
		v.Header(web.SecretHeader, "shown")
	}
	v.respond(status, "text/html; charset=utf-8", page)
}

// respond responds with a body of a media type, compressed unless it has a secret.
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
