// Package dashboards serves the paths of dashboards to visitors: the files of editions, the legacy list, and the forms.
//
// Decisions:
//
//   - The files come from memory after the events service has confirmed the edition (cache.go), so that every visitor
//     sees a change from the moment when its writer has the response. All visitors who wait share a confirmation.
//   - If the events service is down, the last files are served. Redis has a copy of them for a gateway that starts
//     meanwhile (backup.go, save.go).
//   - The gateway decides by the data of the edition who may see a private dashboard (edition.go).
package dashboards

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Fetch sends a request with an X-Request-Id to the events service, for the gateway itself. The caller closes the body.
type Fetch func(ctx context.Context, r *http.Request, id string) (*http.Response, error)

// Options are what Dashboards needs of the gateway.
type Options struct {
	Fetch       Fetch
	Redis       Redis
	Secret      string            // secret of the platform
	Room        int64             // bytes in memory
	RoomInRedis int64             // bytes in Redis, for all gateways together; 0: there are no copies
	Missing     *message.Response // page for a browser that asks the platform's host for a dashboard that does not exist
	Log         *slog.Logger
	Now         func() time.Time
}

// Dashboards serves the paths of dashboards.
type Dashboards struct {
	cache   *cache
	tickets seal.Tickets // the tickets of visitors who have entered a password
	missing *message.Response
	log     *slog.Logger
}

// New returns a Dashboards. Redis and the events service need not be reachable yet.
func New(o Options) *Dashboards {
	return &Dashboards{
		cache:   newCache(o.Fetch, newBackup(o.Redis, o.RoomInRedis, o.Secret, o.Now), o.Room, o.Now),
		tickets: peer.Entries(o.Secret, o.Now), missing: o.Missing, log: o.Log,
	}
}

// Sweep removes from memory what nobody asks for any more, until ctx ends.
func (d *Dashboards) Sweep(ctx context.Context) error { return d.cache.sweep(ctx) }

// Visit is a request for a path of a dashboard.
type Visit struct {
	Visitor
	Context context.Context // has the request's span
	In      *http.Request
	ID      string // X-Request-Id
	IP      string // address of the visitor
	OwnHost bool   // the host belongs to a dashboard
	Route   string // template of the path, for the log
	File    *File  // nil: no dashboard has the path
}

// Visitor is the gateway's side of a visit, and the writer of its response.
type Visitor interface {
	http.ResponseWriter
	// Refuse writes an error in JSON.
	Refuse(err error)
	// RefuseMethod writes 405 with the methods that the path has.
	RefuseMethod()
	// Forward sends the visitor's request with the body to the service of its path, and the response to the visitor.
	Forward(body []byte)
	// Enter sends the form with the password to the path in the events service. The caller closes the body.
	Enter(path string, form []byte) (*http.Response, error)
	// Relay sends a response of a service to the visitor.
	Relay(response *http.Response)
}
