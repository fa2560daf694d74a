package peer

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Versions is implemented by the client of a service whose recipients have a version.
type Versions interface {
	Concerned(ctx context.Context, organization string, query topic.RecipientQuery) (topic.RecipientPage, error)
	Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error)
	Version(ctx context.Context, organization string, query topic.VersionQuery) (topic.RecipientsVersion, error)
}

const (
	// versionTime is the time for which the reply to a version query is used again, counted from the start of the
	// query. So Resolve may return the old state of a destination that was changed during the last versionTime.
	versionTime = 15 * time.Millisecond
	// destinationTime is the time for which a destination is cached. If a service is killed between a write and the
	// change of the version, the old destination is used for at most this time.
	destinationTime = 2 * time.Second
	// maxDestinationBytes bounds the approximate size of all cached destinations, in bytes.
	maxDestinationBytes = 16 << 20
	// maxKeptDashboards bounds the number of dashboards in a version query. Destinations of an organization with more
	// dashboards are not cached.
	maxKeptDashboards = 200
)

// Destinations resolves recipients of integrations. It caches their destinations. For cached destinations it asks the
// service only for the version, which shows whether the organization's recipients have changed. It asks for the
// version before it reads destinations, so a cached destination is never older than its version. The reply with
// the version also contains the current names of the dashboards.
//
// The destinations contain secrets. They stay in memory for at most twice destinationTime.
type Destinations struct {
	Versions
	Now func() time.Time

	mu             sync.Mutex
	recent, former kept // destinations that were read in the current period, and in the period before it
	sweeping       bool
	organizations  map[string]*organization
}

// kept contains cached destinations, and their approximate size in bytes.
type kept struct {
	byKey map[destinationKey]keptDestination
	size  int
}

type destinationKey struct {
	organization, id string
	channel          topic.Channel
}

type keptDestination struct {
	topic.Destination
	version int64
	read    time.Time
}

// organization contains the dashboards of an organization's cached destinations, and the last version reply.
type organization struct {
	dashboards map[string]bool
	last       *versionReply
	usedAt     time.Time
}

// versionReply is the reply to a version query. done is closed when the reply has arrived.
type versionReply struct {
	asked      time.Time
	done       chan struct{}
	version    int64
	dashboards map[string]topic.Dashboard
	err        error
}

// KeepDestinations returns a client that calls of.Resolve and caches the destinations.
func KeepDestinations(of Versions) *Destinations {
	return &Destinations{Versions: of, Now: time.Now, organizations: make(map[string]*organization)}
}

// Resolve returns the destinations in the order of query.IDs.
func (d *Destinations) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	if query.Channel.RecipientService() != topic.Integrations { // mail about an endpoint is not cached
		return d.Versions.Resolve(ctx, organization, query)
	}
	reply := d.version(ctx, organization)
	if reply == nil {
		return d.Versions.Resolve(ctx, organization, query)
	}
	out := make([]topic.Destination, len(query.IDs))
	unknown := d.find(organization, query, reply, out)
	if len(unknown) == 0 {
		return out, nil
	}
	rest := query
	rest.IDs = make([]string, len(unknown))
	for i, at := range unknown {
		rest.IDs[i] = query.IDs[at]
	}
	read := d.Now()
	found, err := d.Versions.Resolve(ctx, organization, rest)
	if err != nil {
		return nil, err
	}
	if len(found) != len(rest.IDs) {
		return nil, fault.New(fault.Internal, "%d recipients were requested, but %d were returned.", len(rest.IDs), len(found))
	}
	for i, at := range unknown {
		out[at] = found[i]
	}
	d.keep(organization, found, reply.version, read)
	return out, nil
}

// version returns the reply to a version query. It uses the last reply again if its query began at most versionTime
// ago. It returns nil if the query failed, or if the organization's destinations have more than maxKeptDashboards dashboards.
func (d *Destinations) version(ctx context.Context, of string) *versionReply {
	d.mu.Lock()
	now := d.Now()
	known := d.organizations[of]
	if known == nil {
		known = &organization{dashboards: make(map[string]bool)}
		d.organizations[of] = known
		d.sweepLocked()
	}
	known.usedAt = now
	if len(known.dashboards) > maxKeptDashboards {
		d.mu.Unlock()
		return nil
	}
	reply := known.last
	if reply != nil && now.Sub(reply.asked) <= versionTime {
		d.mu.Unlock()
		<-reply.done
	} else {
		reply = &versionReply{asked: now, done: make(chan struct{})}
		known.last = reply
		query := topic.VersionQuery{Dashboards: make([]string, 0, len(known.dashboards))}
		for id := range known.dashboards {
			query.Dashboards = append(query.Dashboards, id)
		}
		d.mu.Unlock()
		d.ask(ctx, of, query, reply)
	}
	if reply.err != nil { // the caller then calls Versions.Resolve, which returns the error
		return nil
	}
	return reply
}

func (d *Destinations) ask(ctx context.Context, of string, query topic.VersionQuery, reply *versionReply) {
	defer close(reply.done)
	version, err := d.Version(ctx, of, query)
	reply.version, reply.err = version.Version, err
	reply.dashboards = find.Index(version.Dashboards, func(dashboard topic.Dashboard) string { return dashboard.ID })
}

// find copies each current cached destination into out, at the index of its id in query.IDs. It returns the indexes of the
// other ids.
func (d *Destinations) find(organization string, query topic.ResolveQuery, reply *versionReply, out []topic.Destination) (unknown []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	for i, id := range query.IDs {
		key := destinationKey{organization, id, query.Channel}
		found, is := d.recent.byKey[key]
		if !is {
			found, is = d.former.byKey[key]
		}
		dashboard, exists := reply.dashboards[found.Dashboard.ID]
		if !is || !exists || found.version != reply.version || now.Sub(found.read) > destinationTime {
			unknown = append(unknown, i)
			continue
		}
		out[i] = found.Destination
		out[i].Dashboard = dashboard
	}
	return unknown
}

// keep caches destinations. version is the version of the organization's recipients that was read before them. keep does not
// cache destinations of deleted recipients.
func (d *Destinations) keep(of string, found []topic.Destination, version int64, read time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.organizations[of]
	if known == nil {
		return // the sweep has deleted the organization meanwhile
	}
	for _, destination := range found {
		if destination.State == topic.RecipientGone {
			continue
		}
		known.dashboards[destination.Dashboard.ID] = true
		size := sizeOf(&destination)
		if d.recent.size+size > maxDestinationBytes/2 {
			d.former, d.recent = d.recent, kept{}
		}
		if d.recent.byKey == nil {
			d.recent.byKey = make(map[destinationKey]keptDestination)
		}
		d.recent.byKey[destinationKey{of, destination.ID, destination.Channel}] = keptDestination{destination, version, read}
		d.recent.size += size
	}
}

// sweepLocked starts a timer unless it runs. Every destinationTime, the timer drops the destinations of the former period, and
// the organizations whose last Resolve was more than twice destinationTime ago. When no destination is cached, the timer drops
// all organizations and ends.
func (d *Destinations) sweepLocked() {
	if d.sweeping {
		return
	}
	d.sweeping = true
	time.AfterFunc(destinationTime, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sweeping = false
		d.former, d.recent = d.recent, kept{}
		if d.former.size == 0 {
			clear(d.organizations)
			return
		}
		now := d.Now()
		maps.DeleteFunc(d.organizations, func(_ string, o *organization) bool { return now.Sub(o.usedAt) > 2*destinationTime })
		d.sweepLocked()
	})
}

// sizeOf returns the approximate size of a cached destination, in bytes.
func sizeOf(d *topic.Destination) int {
	size := 700 + len(d.ID) + len(d.URL) + len(d.URLHash) + len(d.URLDisplay) + len(d.Paced) + len(d.Template)
	for _, secret := range d.Secrets {
		size += 16 + len(secret)
	}
	for _, component := range d.Components {
		size += 16 + len(component)
	}
	return size
}
