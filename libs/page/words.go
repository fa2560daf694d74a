package page

import (
	"github.com/gin-gonic/gin"
	"golang.org/x/text/language"

	"github.com/bellbuoy/bellbuoy/libs/words"
)

// Words returns the words in the locale of the visitor that the page is for (About). If the pages do not have that locale, it
// returns those in the locale of the dashboard, and then those that the browser asks for.
func Words(c *gin.Context) *words.Locale {
	locales := c.MustGet(localesKey).(words.Locales)
	for _, wanted := range []func() []string{
		func() []string { return []string{c.GetString(localeKey)} },
		func() []string { return []string{dashboardFrame(c).Lang} },
		func() []string { return accepted(c) },
	} {
		for _, tag := range wanted() {
			if found, confidence := locales.Find(tag); confidence > language.Low {
				return found
			}
		}
	}
	return locales.All()[0]
}

// accepted returns the locales that the browser asks for. A header that is wrong has none.
func accepted(c *gin.Context) []string {
	wanted, _, _ := language.ParseAcceptLanguage(c.GetHeader("Accept-Language"))
	tags := make([]string, len(wanted))
	for i, tag := range wanted {
		tags[i] = tag.String()
	}
	return tags
}

// Locales returns the words of the pages in every locale.
func Locales(c *gin.Context) []*words.Locale { return c.MustGet(localesKey).(words.Locales).All() }
