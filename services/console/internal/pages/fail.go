package pages

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
)

var (
	errNotFound = fault.New(fault.NotFound, "There is nothing at this address. It may have been deleted, or the link is wrong.")
	errMethod   = fault.New(fault.Method, "This address takes no request of this kind. Go back, and use the buttons of the page.")
)

// problem is what an error page shows.
type problem struct {
	Status  int
	Message string
	Retry   bool // the same request may succeed later
}

// fail responds with the page for an error.
func (v *visit) fail(err error) {
	if failed := app.As(err); failed != nil && failed.Again && v.signedIn() {
		if err = v.askAgain(); err == nil {
			return
		}
	}
	shown := v.problemOf(err)
	if shown.Status >= http.StatusInternalServerError {
		v.pages.Process.Log.ErrorContext(v.Request.Context(), "page failed", slog.String("path", v.FullPath()), slog.Int("status", shown.Status), slog.Any("error", err))
	}
	if failed := v.show(shown.Status, "error.html", titleOf(shown.Status), shown); failed != nil {
		v.pages.Process.Log.ErrorContext(v.Request.Context(), "error page failed", slog.Any("error", failed))
		v.String(http.StatusInternalServerError, "The console cannot show this page. Request id: %s", v.GetHeader("X-Request-Id"))
	}
}

func (v *visit) problemOf(err error) problem {
	failed := app.As(err)
	if failed == nil {
		f := fault.As(err)
		message := f.Message
		if f.Field != "" {
			message = "The form of this page was changed: " + f.Field + " " + f.Message + ". Load the page again."
		}
		return problem{f.Kind.Status(), message, f.Kind.Status() >= http.StatusInternalServerError}
	}
	switch {
	case failed.Status == http.StatusTooManyRequests:
		v.wait(failed.Wait)
		return problem{failed.Status, tooMany(failed.Wait), true}
	case failed.Status == http.StatusNotFound:
		return problem{failed.Status, errNotFound.Message, false}
	case failed.Status >= http.StatusBadGateway:
		v.wait(time.Second)
		return problem{http.StatusServiceUnavailable, "A part of Bellbuoy cannot be reached right now. Your data is safe. Try again in a moment.", true}
	case failed.Status >= http.StatusInternalServerError:
		return problem{failed.Status, "Something went wrong on our side. Try again. If it happens again, give the request id to whoever runs this installation.", true}
	case failed.Message == "":
		return problem{failed.Status, "You are not allowed to do this.", false}
	}
	return problem{failed.Status, failed.Message, false}
}

// wait sets the header Retry-After.
func (v *visit) wait(for_ time.Duration) {
	if for_ > 0 {
		v.Header("Retry-After", strconv.Itoa(int(math.Ceil(for_.Seconds()))))
	}
}

func tooMany(wait time.Duration) string {
	if wait <= 0 {
		return "There were too many tries. Try again in a few minutes."
	}
	if wait < 2*time.Minute {
		return fmt.Sprintf("There were too many tries. Try again in %d seconds.", int(math.Ceil(wait.Seconds())))
	}
	return fmt.Sprintf("There were too many tries. Try again in %d minutes.", int(math.Ceil(wait.Minutes())))
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
