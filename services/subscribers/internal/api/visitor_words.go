package api

import (
	"embed"

	"github.com/bellbuoy/bellbuoy/libs/page"
)

//go:embed words/*.json
var wordFiles embed.FS

// words are the words of the visitors' pages in one language. A text with %s takes the name of the dashboard, except
// where its comment says otherwise.
type words struct {
	page.Words

	Subscribe, Intro               string // the page with a form that was wrong
	Email, SMS, WhatsApp           string // headings of the forms
	Address, Phone, PhoneHint      string
	NoneMeansAll                   string
	WrongPhone, WrongLocale        string // beside the fields
	Code, WrongCode, ConfirmByCode string
	Confirm, ConfirmButton         string
	Confirmed, Manage              string
	AllComponents                  string
	Locale, DashboardsOwn          string
	Unsubscribe, UnsubscribeIntro  string // %s %s: the dashboard and the address
	ManageInstead                  string
	Unsubscribed, UnsubscribedText string
	LockedText                     string
}

func readLanguages() (page.Languages[words], error) {
	return page.ReadLanguages(wordFiles, func(w *words) *page.Words { return &w.Words })
}
