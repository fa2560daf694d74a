// Package api is where delivery answers HTTP. Nothing of it is public yet: whoever
// has a passport for this service finds no path, and whoever has none is refused; whether it is
// alive and ready is answered beside it, by package boot.
package api

import (
	"net/http"

	"github.com/bellbuoy/bellbuoy/libs/web"
)

// New makes the handler.
func New(o web.Options) http.Handler { return web.NewEngine(o) }
