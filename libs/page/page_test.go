package page_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/gin-gonic/gin"
)

// frames is a function that implements page.Frames.
type frames func(ctx context.Context, dashboardID string) (peer.Frame, error)

func (f frames) Frame(ctx context.Context, dashboardID string) (peer.Frame, error) {
	return f(ctx, dashboardID)
}

// shown returns the page that a handler shows.
func shown(t *testing.T, of frames, dashboard string) *httptest.ResponseRecorder {
	t.Helper()
	gin.SetMode(gin.TestMode)
	engine := gin.New()
	engine.Use(func(c *gin.Context) {
		c.Request = c.Request.WithContext(passport.With(c.Request.Context(), passport.Passport{Surface: passport.Public}))
	})
	public, err := page.Mount(engine, of, nil)
	if err != nil {
		t.Fatal(err)
	}
	public.Get("/", func(c *gin.Context) error {
		page.About(c, dashboard, "en")
		field := page.Field{Name: "email", Label: "<Mail>", Type: "email", Value: `"><b>`, Max: 9, Hint: "hint", Problem: "wrong"}
		return page.Show(c, http.StatusOK, "A <b> & c", `{{template "field" .}}`, field)
	})
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
	return recorder
}

// A page is in the frame of its dashboard. It is plain if there is no dashboard, and if the frame fails or does not come.
func TestPagesNeedNoFrame(t *testing.T) {
	framed := shown(t, func(_ context.Context, id string) (peer.Frame, error) {
		return peer.Frame{Before: "<title>", Between: " of " + id + "</title>", After: "<end>", Policy: "frame", Lang: "de"}, nil
	}, "acme")
	if text := framed.Body.String(); !strings.HasPrefix(text, "<title>A &lt;b&gt; &amp; c of acme</title><main ") || !strings.Contains(text, ` lang="en">`) ||
		!strings.HasSuffix(text, "</main><end>") || !strings.Contains(text, `value="&#34;&gt;&lt;b&gt;"`) || !strings.Contains(text, `aria-describedby="email-problem"`) || strings.Contains(text, "hint") {
		t.Errorf("in a frame: %s", text)
	}
	if policy := framed.Header().Get("Content-Security-Policy"); policy != "frame" {
		t.Errorf("the policy is %s", policy)
	}
	unasked := func(context.Context, string) (peer.Frame, error) { panic("no frame is needed") }
	fails := func(context.Context, string) (peer.Frame, error) { return peer.Frame{}, errors.New("down") }
	hangs := func(ctx context.Context, _ string) (peer.Frame, error) {
		<-ctx.Done()
		return peer.Frame{}, ctx.Err()
	}
	for name, plain := range map[string]*httptest.ResponseRecorder{"no dashboard": shown(t, unasked, ""), "fails": shown(t, fails, "acme"), "hangs": shown(t, hangs, "acme")} {
		text := plain.Body.String()
		if plain.Code != http.StatusOK || !strings.HasPrefix(text, "<!DOCTYPE html>") || !strings.Contains(text, `<html lang="en">`) || !strings.Contains(text, "<title>A &lt;b&gt; &amp; c</title>") ||
			!strings.Contains(plain.Header().Get("Content-Security-Policy"), "style-src 'sha256-") {
			t.Errorf("%s: %d %s", name, plain.Code, text)
		}
	}
}
