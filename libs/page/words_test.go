package page_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/gin-gonic/gin"
)

type testWords struct {
	page.Words
	Hello string // %s
}

func sharedPart(w *testWords) *page.Words { return &w.Words }

func wordFiles() fstest.MapFS {
	files := fstest.MapFS{}
	for _, lang := range page.Locales() {
		files["words/"+lang+".json"] = &fstest.MapFile{Data: []byte(`{"Hello": "` + lang + ` %s"}`)}
	}
	return files
}

// The words are those of the visitor, else of the dashboard, else of the browser.
func TestWordsForALocale(t *testing.T) {
	words, err := page.ReadLanguages(wordFiles(), sharedPart)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		want, locale, dashboard, browser string
	}{
		{"de", "de", "fr", "it"}, {"de", "DE_at", "fr", "it"}, {"pt", "pt-BR", "fr", ""}, {"zh", "zh-CN", "fr", ""}, {"fr", "", "fr", "it"}, {"fr", "sv", "fr", "it"},
		{"fr", "nonsense!", "fr-CA", ""}, {"it", "sv", "", "sv, it-CH;q=0.8, en;q=0.5"}, {"it", "", "down", "it"}, {"en", "", "", ""}, {"en", "x", "", "!"},
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
		page.Mount(engine, of, nil).Get("/", func(c *gin.Context) error {
			page.About(c, map[bool]string{true: "acme"}[one.dashboard != ""], one.locale)
			for range 2 {
				if got := words.For(c); got.Lang != one.want || got.Hello != one.want+" %s" || got.Language == "" {
					t.Errorf("%+v: %s %s", one, got.Lang, got.Hello)
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

func TestWordsMustBeComplete(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: `fr: Hello is ""`, `{"Hello": "bonjour"}`: `fr: Hello is "bonjour"`, `{"Hello": "%s", "Bye": "x"}`: "unknown field", `{`: "words/fr.json",
	} {
		files := wordFiles()
		files["words/fr.json"].Data = []byte(text)
		if _, err := page.ReadLanguages(files, sharedPart); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
