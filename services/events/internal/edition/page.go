package edition

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// PublishedPage is what visitors of a dashboard get at present: the public list (Rows), and the edition with all other
// files. It is rendered again when a record that it shows changes, when a request finds it overdue, and when it
// expires.
type PublishedPage struct {
	DashboardID string            `json:"dashboardId"`
	Slug        string            `json:"slug"`
	Hosts       []string          `json:"hosts"`
	Enabled     bool              `json:"enabled"`
	Private     bool              `json:"private"` // not all visitors may see the page
	Rows        []ListedComponent `json:"rows"`
	List        string            `json:"list"` // digest of Rows
	// ChangesAt is the next time at which an event reaches its start, or a state by hand ends. The list then changes
	// without a write.
	ChangesAt *time.Time `json:"changesAt"`
	// DayEndsAt is the end of the day of the edition, in the zone of the dashboard.
	DayEndsAt *time.Time `json:"dayEndsAt"`

	EditionID string     `json:"editionId"`
	Edition   int64      `json:"edition"`
	Indicator Indicator  `json:"indicator"` // state of the dashboard in the edition
	Access    PageAccess `json:"entry"`
	Aliases   int64      `json:"aliases,omitempty"` // version of the dashboard's catalog.AliasSet; 0: there never was an alias
	// ExpiresAt is the time at which the scheduler renders the page, even without a write.
	ExpiresAt *time.Time `json:"expiresAt"`
	// SweepAt is the time at which the scheduler deletes the editions that are not current; nil if there was no new
	// edition since the last sweep.
	SweepAt *time.Time `json:"sweepAt"`
	// A process claims a due page before it renders or sweeps it. No other process claims the page before ClaimedUntil.
	ClaimedUntil *time.Time `json:"claimedUntil"`
	Seen         []Seen     `json:"seen"`
	// Removed means that the dashboard was deleted. The record stays until SweepAt. So the write of a rendering that
	// began before the deletion conflicts with this record, and the parts that this rendering has stored are deleted at
	// SweepAt.
	Removed bool `json:"removed"`
}

// PageAccess has the values that decide who may see a page.
type PageAccess struct {
	Mode       catalog.AccessMode `json:"mode"`
	AllowedIPs []string           `json:"allowedIps"`
	Password   string             `json:"password"` // signed value that changes with the password; empty unless a password is required
	FeedKey    string             `json:"feedKey"`  // Snapshot.FeedKey
}

// overdue reports whether a request for the page at the given time renders it again, although no record was written. It
// returns true from ChangesAt or DayEndsAt on.
func (p *PublishedPage) overdue(now time.Time) bool {
	return passed(p.ChangesAt, now) || passed(p.DayEndsAt, now)
}

func passed(at *time.Time, now time.Time) bool { return at != nil && !now.Before(*at) }

// Seen is the version of a written event with which a page was rendered. It prevents a late rendering of another
// process from showing an older version again.
type Seen struct {
	EventID string    `json:"eventId"`
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
}

const (
	// seenFor is how long a page records the version of a written event. A rendering takes only seconds.
	seenFor = 10 * time.Minute
	// keepFormer is the minimum age of a former edition that sweep deletes. A gateway may still request the files of a
	// newer former edition.
	keepFormer = time.Minute
	// sweepAfter is the time from the first edition after a sweep to the next sweep. The page of an open incident gets an
	// edition each minute. A sweep for each edition took a seventh of the processor time of the idle service.
	sweepAfter = 5 * time.Minute
)

// lastSeen returns the recorded version of the event, or 0 if there is none.
func lastSeen(seen []Seen, event string) int64 {
	for _, s := range seen {
		if s.EventID == event {
			return s.Version
		}
	}
	return 0
}

type ListedComponent struct {
	ComponentID string       `json:"componentId"`
	LegacyID    int64        `json:"legacyId"`
	Name        string       `json:"name"`
	Group       string       `json:"group"`
	OwnGroup    string       `json:"ownGroup"` // the group of the component; Group is the group of its placement, or else OwnGroup
	Description string       `json:"description"`
	Status      ListedStatus `json:"status"`
}

// ListedStatus is the status of a component on the public list (specification, "Public dashboard service status").
type ListedStatus string

const (
	ListedOperational ListedStatus = "operational"
	ListedMaintenance ListedStatus = "active maintenance"
	ListedIncident    ListedStatus = "active incident" // also while a maintenance is active
)

// see records the versions of written events in Seen, except those for which Written.First returns true. It removes
// versions that were recorded longer than seenFor ago.
func (p *PublishedPage) see(written []catalog.Written, now time.Time) {
	versions := map[string]int64{}
	for _, w := range written {
		if w.Event != "" && !w.First() {
			versions[w.Event] = max(versions[w.Event], w.Version(), lastSeen(p.Seen, w.Event))
		}
	}
	p.Seen = slices.DeleteFunc(slices.Clone(p.Seen), func(s Seen) bool {
		return versions[s.EventID] > 0 || s.At.Before(now.Add(-seenFor))
	})
	for id, version := range versions {
		p.Seen = append(p.Seen, Seen{id, version, now})
	}
}

// kept returns the rows of those placed components that have a row and were not written. stale is the ids of the other
// placed components.
func (p *PublishedPage) kept(placed []string, written []catalog.Written) (rows []ListedComponent, stale []string) {
	byID := find.Index(p.Rows, func(row ListedComponent) string { return row.ComponentID })
	for _, w := range written {
		delete(byID, w.Component)
	}
	rows = []ListedComponent{}
	for _, id := range placed {
		if row, there := byID[id]; there {
			rows = append(rows, row)
		} else {
			stale = append(stale, id)
		}
	}
	return rows, stale
}

// Mark returns a digest of the page. It is stored as a field of its own (FieldMark), because reading it costs much less
// than reading the page.
func (p *PublishedPage) Mark() string { return digest(p) }

func digest(of any) string {
	text, _ := json.Marshal(of) // strings, numbers and times: cannot fail
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}
