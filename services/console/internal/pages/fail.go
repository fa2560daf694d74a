package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

var (
	errNotFound = fault.New(fault.NotFound, "There is nothing at this address. It may have been deleted, or the link is wrong.")
	errMethod   = fault.New(fault.Method, "This address takes no request of this kind. Go back, and use the buttons of the page.")
)

// problem is the data of an error page.
type problem struct {
	Status  int
	Message string
	Retry   bool        // the same request may succeed later
	Form    *forms.Form // form that sends the same values again; nil: none
	Back    string      // address that the button "Try again" leads to; empty: the address of the request
	List    string      // address of the first page of the list; empty: the error is not about a position in a list
}

// fail responds with the page for an error. If the member must sign in again first, it responds with the page for that.
func (v *visit) fail(err error) {
	if failed := app.As(err); failed != nil && failed.Again && v.signedIn() {
		if err = v.askAgain(); err == nil {
			return
		}
	}
	shown := v.problemOf(err)
	if shown.Retry && v.isPost() {
		if shown.Form = sendAgain(v.form); shown.Form == nil {
			shown.Back = v.formPage()
			own := v.Request.URL.Path
			from, wrong := url.Parse(v.GetHeader("Referer"))
			if _, _, found := v.pages.page(own); found && v.form == nil && (wrong != nil || from.Path != own) {
				shown.Back = own // another page sent the form, such as from a dialog, and the page at own also shows the form
			}
		}
		if back, err := url.Parse(shown.Back); err == nil && v.form == nil { // with kept=1, the page shows the typed values, which the browser has kept
			query := back.Query()
			query.Set("kept", "1")
			back.RawQuery = query.Encode()
			shown.Back = back.RequestURI()
		}
	}
	if shown.Status >= http.StatusInternalServerError && !errors.Is(v.Request.Context().Err(), context.Canceled) {
		level := slog.LevelError
		if shown.Status == http.StatusServiceUnavailable { // the service that is down logs its own failure
			level = slog.LevelWarn
		}
		v.pages.Process.Log.Log(v.Request.Context(), level, "page failed", slog.String("path", v.FullPath()), slog.Int("status", shown.Status), slog.Any("error", err))
	}
	if failed := v.show(shown.Status, "error.html", titleOf(shown.Status), shown); failed != nil {
		v.pages.Process.Log.ErrorContext(v.Request.Context(), "error page failed", slog.Any("error", failed))
		v.String(http.StatusInternalServerError, "The console cannot show this page. Request id: %s", v.GetHeader("X-Request-Id"))
	}
}

// sendAgain returns a form that sends the same values again, without secrets and files. It returns nil for a nil form, and if
// no visible field is left. An order, and a choice whose options were not read, become a hidden field for each value.
func sendAgain(form *forms.Form) *forms.Form {
	if form == nil {
		return nil
	}
	form.SecretsGone()
	out := *form
	if path, _, _ := strings.Cut(form.PagePath(), "?"); path == form.Action { // keep the query of the page
		out.Action = form.PagePath()
	}
	out.Cancel, out.Fields = "", nil
	for _, field := range form.Fields {
		if field.Kind == forms.File { // the member must choose the file again
			continue
		}
		choice := field.Kind == forms.Select || field.Kind == forms.Segments || field.Kind == forms.Ticks
		if choice && len(field.Options) == 0 || field.Kind == forms.Order || field.Kind == forms.Hidden {
			for _, value := range field.Values {
				out.Fields = append(out.Fields, &forms.Field{Kind: forms.Hidden, Name: field.Name, Values: []string{value}})
			}
			continue
		}
		out.Fields = append(out.Fields, field)
	}
	if len(out.Shown()) == 0 {
		return nil
	}
	return &out
}

func (v *visit) problemOf(err error) problem {
	failed := app.As(err)
	if failed == nil {
		f := fault.As(err)
		message := f.Message
		if f.Field != "" {
			message = "The form of this page was changed: " + f.Field + " " + f.Message + ". Load the page again."
		}
		return problem{Status: f.Kind.Status(), Message: message, Retry: f.Kind.Status() >= http.StatusInternalServerError}
	}
	switch {
	case failed.Status == http.StatusTooManyRequests:
		v.wait(failed.Wait)
		return problem{Status: failed.Status, Message: tooMany(failed.Wait), Retry: true}
	case isToken(failed):
		query := v.Request.URL.Query()
		query.Del("after")
		list := url.URL{Path: v.Request.URL.Path, RawQuery: query.Encode()}
		return problem{Status: failed.Status, Message: "The address of this page of the list is wrong, or its link was for another list. Begin at the first page.", List: list.String()}
	case failed.Status == http.StatusNotFound:
		return problem{Status: failed.Status, Message: errNotFound.Message}
	case failed.Unavailable():
		v.wait(time.Second)
		return problem{Status: http.StatusServiceUnavailable, Message: unavailable(failed) + " Your data is safe. Try again in a moment.", Retry: true}
	case failed.Status >= http.StatusInternalServerError:
		return problem{Status: failed.Status, Message: "Something went wrong on our side. Try again. If it happens again, give the request id to whoever runs this installation.", Retry: true}
	case failed.Message == "":
		return problem{Status: failed.Status, Message: "You are not allowed to do this."}
	}
	return problem{Status: failed.Status, Message: failed.Message}
}

// isGone reports whether err is a response 404 of the App interface, which means that the record does not exist.
func isGone(err error) bool {
	failed := app.As(err)
	return failed != nil && failed.Status == http.StatusNotFound
}

// unavailable returns a sentence that says that a part of the platform cannot be reached. It names the part if it is known.
func unavailable(failed *app.Error) string {
	part := map[string]string{
		"identity": "members and sign-in", "events": "events, components and dashboards", "subscribers": "subscribers",
		"integrations": "endpoints", "delivery": "messages",
	}[failed.Service]
	if part == "" {
		return "A part of Bellbuoy cannot be reached right now."
	}
	return "A part of Bellbuoy cannot be reached right now: " + part + "."
}

// wait sets the header Retry-After to the time in seconds, rounded up, unless the time is 0.
func (v *visit) wait(for_ time.Duration) {
	if for_ > 0 {
		v.Header("Retry-After", strconv.Itoa(int(math.Ceil(for_.Seconds()))))
	}
}

func tooMany(wait time.Duration) string { return "There were too many tries. " + tryAgain(wait) }

// tryAgain returns a sentence that says when to try again.
func tryAgain(wait time.Duration) string {
	if wait <= 0 {
		return "Try again in a few minutes."
	}
	if wait < 2*time.Minute {
		return fmt.Sprintf("Try again in %d seconds.", int(math.Ceil(wait.Seconds())))
	}
	return fmt.Sprintf("Try again in %d minutes.", int(math.Ceil(wait.Minutes())))
}

func titleOf(status int) string {
	switch status {
	case http.StatusForbidden:
		return "You cannot open this"
	case http.StatusNotFound:
		return "Page not found"
	case http.StatusMethodNotAllowed:
		return "That does not work here"
	case http.StatusRequestEntityTooLarge:
		return "The form is too large"
	case http.StatusConflict:
		return "That is not possible now"
	case http.StatusTooManyRequests:
		return "Too many tries"
	case http.StatusServiceUnavailable:
		return "Not available right now"
	}
	if status >= http.StatusInternalServerError {
		return "Something went wrong"
	}
	return "The request was not understood"
}
