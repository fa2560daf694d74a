package pages

import (
	"net/http"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// textPart responds with a text of the sent form as dashboards show it. The form can be any form. The query parameter name
// names the field with the text, which is in the notation for rich texts.
func (p *pages) textPart(v *visit) error {
	if err := forms.Parse(v.Request); err != nil {
		return err
	}
	return v.show(http.StatusOK, "text.html", "Preview", richText(strings.TrimSpace(v.Request.PostForm.Get(v.Query("name"))), ""))
}

// inNotation reports whether the hint of a field says that its value is in the notation.
func inNotation(hint string) bool { return strings.HasSuffix(hint, notation) }
