package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

type notify = web.Notify

// applyNotify makes the write notify whom the request names, or whom the default names.
func applyNotify(d *catalog.Draft, sent optional.Value[notify]) {
	if !sent.Sent {
		d.NotifyByDefault()
		return
	}
	d.Notify(sent.Value.Wording())
}
