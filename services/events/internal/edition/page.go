package edition

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// PublishedPage is what visitors of a dashboard get at present: the public list, and the edition with all other files. It is
// rendered when a record that it shows changes, and when it expires.
type PublishedPage struct {
	DashboardID string            `json:"dashboardId"`
	Slug        string            `json:"slug"`
	Hosts       []string          `json:"hosts"`
	Enabled     bool              `json:"enabled"`
	Private     bool              `json:"private"` // some visitors must not see the page
	Rows        []ListedComponent `json:"rows"`
	List        string            `json:"list"` // digest of Rows
	// ChangesAt is the next time at which an event reaches its start, so that the list changes without a write.
	ChangesAt *time.Time `json:"changesAt"`

	EditionID string     `json:"editionId"`
	Edition   int64      `json:"edition"`
	Access    PageAccess `json:"entry"`
	// ExpiresAt is the time from which the edition is outdated, even without a write.
	ExpiresAt *time.Time `json:"expiresAt"`
	// SweepAt is when editions that are not current are deleted; nil if there are none.
	SweepAt *time.Time `json:"sweepAt"`
	// ClaimedUntil is the time until which only the process that has claimed the page takes its due steps.
	ClaimedUntil *time.Time `json:"claimedUntil"`
	Seen         []Seen     `json:"seen"`
	// Removed: the dashboard was deleted. The page stays until SweepAt, so that a rendering which began before conflicts
	// with it, and so that what such a rendering has stored is deleted.
	Removed bool `json:"removed"`
}

// PageAccess is what decides who sees a page.
type PageAccess struct {
	Mode       catalog.AccessMode `json:"mode"`
	AllowedIPs []string           `json:"allowedIps"`
	Password   string             `json:"password"` // the version of the password, signed; empty without a password
	FeedKey    string             `json:"feedKey"`  // Snapshot.FeedKey
}

// Seen is a version of an event that a page follows. Without it, a late rendering of another process could show an
// older version again.
type Seen struct {
	EventID string    `json:"eventId"`
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
}

const (
	// seenFor is how long a page remembers the versions of events. A rendering takes seconds.
	seenFor = 10 * time.Minute
	// sweepAfter is how long an edition stays that is not current. A gateway may still request its files.
	sweepAfter = time.Minute
)

// lastSeen returns the version of the event that the page follows, or 0.
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
	OwnGroup    string       `json:"ownGroup"` // group of the component; Group is that of the dashboard, if it has one
	Description string       `json:"description"`
	Status      ListedStatus `json:"status"`
}

// ListedStatus is the status of a component on the public list (specification, "Public dashboard service status").
type ListedStatus string

const (
	ListedOperational ListedStatus = "operational"
	ListedMaintenance ListedStatus = "active maintenance"
	ListedIncident    ListedStatus = "active incident" // wins over a maintenance
)

// see notes the versions of written events.
func (p *PublishedPage) see(written []catalog.Written, now time.Time) {
	versions := map[string]int64{}
	for _, w := range written {
		if w.Event != "" {
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

// kept returns the rows of placed components that were not written, and the ids of the other placed components.
func (p *PublishedPage) kept(placed []string, written []catalog.Written) (rows []ListedComponent, stale []string) {
	byID := make(map[string]ListedComponent, len(p.Rows))
	for _, row := range p.Rows {
		byID[row.ComponentID] = row
	}
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

// Mark returns a digest of the page. It is a declared field: reading it costs much less than reading the page.
func (p *PublishedPage) Mark() string { return digest(p) }

func digest(of any) string {
	text, _ := json.Marshal(of) // strings, numbers and times: cannot fail
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}
