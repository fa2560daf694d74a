package page

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
)

// TextBody is the body of a page with one text, its view.
const TextBody = `<p class="text">{{.}}</p>`

// Visit is what a page behind a link shows.
type Visit interface {
	// About returns the arguments of About.
	About() (dashboardID, locale string)
}

// Link adds the page behind a link in a message: show responds to GET and changes nothing, because programs follow such
// links. act responds to POST.
func (r Routes) Link(path string, show, act func(*gin.Context) error) {
	r.Get(path, show)
	r.Post(path, act)
}

// Follow returns a handler that calls do with the token of a link, and show with the result.
func Follow[V Visit](do func(ctx context.Context, token string) (V, error), show func(*gin.Context, V) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		visit, err := do(c.Request.Context(), c.Query("token"))
		dashboard, locale := visit.About()
		About(c, dashboard, locale)
		if err != nil {
			return err
		}
		return show(c, visit)
	}
}

// View returns a function that shows a visit. view returns the view of the body.
func View[V Visit, W any](title, body string, view func(*gin.Context, V) W) func(*gin.Context, V) error {
	return func(c *gin.Context, visit V) error { return Show(c, http.StatusOK, title, body, view(c, visit)) }
}
