// Package dashboards serves the paths of dashboards to visitors: the files of editions, the legacy list, and the forms.
//
// Decisions:
//
//   - The files come from memory after the events service has confirmed the edition (cache.go), so a visitor sees every
//     change that was acknowledged to its writer. Visitors who wait at the same time share one confirmation.
//   - While the events service is down, the last files are served. Redis contains copies of the files for a gateway that
//     starts during that time (backup.go, save.go).
//   - The edition contains the access rules of a private dashboard. The gateway applies these rules (edition.go).
//   - The alias table of a dashboard has the present path of each alias. The gateway reads a table once for each version.
//     The edition names the version (alias.go).
package dashboards

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/gateway/internal/message"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// Fetch sends a request to the events service on behalf of the gateway, with id as the X-Request-Id. The caller
// closes the body.
type Fetch func(ctx context.Context, r *http.Request, id string) (*http.Response, error)

// Options are the settings of Dashboards, and the functions of the gateway that Dashboards uses.
type Options struct {
	Fetch       Fetch
	Redis       Redis
	Secret      string            // secret of the platform
	Room        int64             // bytes in memory
	RoomInRedis int64             // bytes in Redis, for all gateways together; 0: no copies in Redis
	Missing     *message.Response // page for a browser that requests an unknown dashboard on the platform's host
	Log         *slog.Logger
	Now         func() time.Time
	Patience    time.Duration // 0: the constant Patience; only tests set it
}

// Dashboards serves the paths of dashboards.
type Dashboards struct {
	cache   *cache
	tickets seal.Tickets // tickets of visitors who have entered the right password
	missing *message.Response
	log     *slog.Logger
}

// New returns a Dashboards. Redis and the events service may be down during the call.
func New(o Options) *Dashboards {
	return &Dashboards{
		cache:   newCache(o.Fetch, newBackup(o.Redis, o.RoomInRedis, o.Secret, o.Now), int(o.Room), o.Now, cmp.Or(o.Patience, Patience)),
		tickets: peer.PasswordTickets(o.Secret, o.Now), missing: o.Missing, log: o.Log,
	}
}

// Sweep runs until ctx ends. It removes responses from memory that nobody requests any more.
func (d *Dashboards) Sweep(ctx context.Context) error { return d.cache.sweep(ctx) }

// Visit is a request for a path of a dashboard.
type Visit struct {
	Visitor
	Context context.Context // contains the span of the request
	In      *http.Request
	ID      string // X-Request-Id
	IP      string // address of the visitor
	OwnHost bool   // the host belongs to a dashboard
	Route   string // template of the path, for the log
	File    *File  // describes the path; nil: dashboards have no such path
}

// Visitor writes the response to a visit. Its other methods do what only package gateway can do, such as forwarding a
// request.
type Visitor interface {
	http.ResponseWriter
	// Refuse responds with an error: without a body for a Denied or Throttled error, else in JSON.
	Refuse(err error)
	// RefuseMethod responds with 405 and the methods that the path allows.
	RefuseMethod()
	// Forward sends the visitor's request with the body to the service of the path, and sends the response to the
	// visitor.
	Forward(body []byte)
	// Enter posts the form with the password to the path in the events service. The caller closes the body.
	Enter(path string, form []byte) (*http.Response, error)
	// Relay sends the response of a service to the visitor.
	Relay(response *http.Response)
}
