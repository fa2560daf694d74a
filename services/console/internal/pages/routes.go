// Package pages renders the pages of the console.
package pages

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

// Options are the parts that the pages need.
type Options struct {
	Services map[string]string // base URLs of the services, by name
	Signer   *passport.Signer
	Links    boot.Links
	Process  boot.Process
}

// Mount adds the routes of the pages to the engine.
func Mount(engine *gin.Engine, _ Options) {
	console := engine.Group("/console", web.Surface(passport.Console))
	console.GET("/", func(c *gin.Context) {
		c.Header("Cache-Control", "no-store")
		c.Data(http.StatusOK, "text/html; charset=utf-8", []byte("<!DOCTYPE html><html lang=\"en\"><title>Console</title><p>The console has no pages yet."))
	})
}
