package pages

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// confirm is the data of confirm.html: a page that asks before a change.
type confirm struct {
	Back, BackLabel string // path and name of the page above
	Text            string
	Points          []string // consequences of the change
	Form            *forms.Form
}

// ask shows a page that asks before a change, and calls do when the member confirms.
func (v *visit) ask(title string, c confirm, do func() error) error {
	c.Form.Cancel = c.Back
	show := func(status int) error { return v.show(status, "confirm.html", title, c) }
	if !v.isPost() {
		return show(http.StatusOK)
	}
	return v.submit(c.Form, do, show)
}
