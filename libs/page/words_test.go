package page_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/gin-gonic/gin"
)

func TestWordsAreInTheLocaleOfTheVisitorThenTheDashboardThenTheBrowser(t *testing.T) {
	for _, one := range []struct {
		want, locale, dashboard, browser string
	}{
		{"de", "de", "fr", "it"}, {"de", "DE_at", "fr", "it"}, {"pt", "pt-BR", "fr", ""}, {"zh", "zh-CN", "fr", ""}, {"fr", "", "fr", "it"}, {"fr", "hu", "fr", "it"},
		{"fr", "nonsense!", "fr-CA", ""}, {"it", "hu", "", "hu, it-CH;q=0.8, en;q=0.5"}, {"it", "", "down", "it"}, {"en", "", "", ""}, {"en", "x", "", "!"},
	} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		asked := 0
		of := frames(func(_ context.Context, id string) (peer.Frame, error) {
			asked++
			if one.dashboard == "down" {
				return peer.Frame{}, errors.New("down")
			}
			return peer.Frame{Before: "<title>", Lang: one.dashboard}, nil
		})
		engine := gin.New()
		engine.Use(func(c *gin.Context) {
			c.Request = c.Request.WithContext(passport.With(c.Request.Context(), passport.Passport{Surface: passport.Public}))
		})
		public, err := page.Mount(engine, of, nil)
		if err != nil {
			t.Fatal(err)
		}
		public.Get("/", func(c *gin.Context) error {
			page.About(c, map[bool]string{true: "acme"}[one.dashboard != ""], one.locale)
			for range 2 {
				if got := page.Words(c); got.Tag != one.want {
					t.Errorf("%+v: %s", one, got.Tag)
				}
			}
			return nil
		})
		c.Request = httptest.NewRequest("GET", "/", nil)
		c.Request.Header.Set("Accept-Language", one.browser)
		engine.ServeHTTP(httptest.NewRecorder(), c.Request)
		if asked > 1 {
			t.Errorf("%+v: the frame was asked for %d times", one, asked)
		}
	}
}
