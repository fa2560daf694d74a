package api

import (
	"github.com/gin-gonic/gin"
	"golang.org/x/text/language"
)

// words are the words of the visitors' pages in one language. A text with %s takes the name of the dashboard, except
// where its comment says otherwise.
type words struct {
	Lang string // BCP 47

	Subscribe, Intro              string // the page with a form that was wrong
	Email, SMS, WhatsApp          string // headings of the forms
	Address, Phone, PhoneHint     string
	Components, NoneMeansAll      string
	SubscribeButton               string
	WrongAddress, WrongPhone      string // beside the fields
	WrongComponents, WrongChoice  string
	WrongLocale                   string
	Code, WrongCode               string
	ConfirmByCode                 string
	Confirm, ConfirmIntro         string // %s %s: the address and the dashboard
	ConfirmAll                    string
	ConfirmButton                 string
	Confirmed, ConfirmedText      string // %s %s: the dashboard and the address
	Manage, ManageIntro           string // %s %s: the dashboard and the address
	AllComponents                 string
	Paused, Locale, DashboardsOwn string
	Save, Saved                   string
	Unsubscribe, UnsubscribeIntro string // %s %s: the dashboard and the address
	ManageInstead                 string
	Unsubscribed                  string
	UnsubscribedText              string // %s: the dashboard
	Suppressed                    string
	NotFound, NoOffer, NoLink     string // the pages of errors: heading, then texts
	Gone, EndedLink               string
	Locked, LockedText            string
	Wrong, WrongForm              string
	TooMany, TooManyText          string
}

// languages returns the words of every language that the pages have. The first is the default.
func languages() []words { return []words{english(), german()} }

// wordsFor returns the words of the first of the locales (BCP 47) whose language the pages have.
func wordsFor(locales ...string) words {
	all := languages()
	tags := make([]language.Tag, len(all))
	for i, w := range all {
		tags[i] = language.Make(w.Lang)
	}
	matcher := language.NewMatcher(tags)
	for _, locale := range locales {
		wanted, err := language.Parse(locale)
		if err != nil {
			continue
		}
		if _, at, confidence := matcher.Match(wanted); confidence > language.Low {
			return all[at]
		}
	}
	return all[0]
}

// wordsOfBrowser returns the words for a page that belongs to no dashboard.
func wordsOfBrowser(c *gin.Context) words {
	wanted, _, err := language.ParseAcceptLanguage(c.GetHeader("Accept-Language"))
	if err != nil {
		return wordsFor()
	}
	locales := make([]string, len(wanted))
	for i, tag := range wanted {
		locales[i] = tag.String()
	}
	return wordsFor(locales...)
}
