package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

// Alias is a former path below the address of a dashboard, such as the path of an incident on the page from which the
// dashboard was imported. It leads to a present path. Exactly one of EventID, ComponentID and File is set.
type Alias struct {
	OrganizationID string `json:"organizationId"`
	DashboardID    string `json:"dashboardId"`
	Path           string `json:"path"`
	EventID        string `json:"eventId,omitempty"`
	ComponentID    string `json:"componentId,omitempty"`
	File           string `json:"file,omitempty"` // path of a public file, with a slash at its start
}

// Key returns the key of the record.
func (a Alias) Key() string { return a.DashboardID + "/" + a.Path }

// Present returns the present path, without a slash at its start.
func (a Alias) Present() string {
	switch {
	case a.EventID != "":
		return "events/" + a.EventID
	case a.ComponentID != "":
		return "components/" + a.ComponentID
	}
	return strings.TrimPrefix(a.File, "/")
}

// AliasSet is the record by which the aliases of a dashboard are changed. Each change of aliases writes this one record, so
// that the number of aliases stays within maxAliases. The write adds the changes to Pending. AliasesWritten then stores
// them as records of Alias in bulk, and publishes the version. If the process is killed before, AliasesWritten runs later.
type AliasSet struct {
	OrganizationID string        `json:"organizationId"`
	DashboardID    string        `json:"dashboardId"`
	Version        int64         `json:"version"` // increases with each write
	Count          int           `json:"count"`   // number of aliases once all of Pending is stored
	Pending        []AliasChange `json:"pending"` // changes that are not stored yet, or that a slow process may overwrite, the oldest first
}

// AliasChange is a change of an alias. A change that replaces a former change stays in AliasSet.Pending after it is stored
// (settle says how long), because a slow process may still overwrite it with the former change. As the AliasSet has changed,
// the slow process, or a process that continues its work, then calls AliasesWritten again. This call stores the pending
// change again.
type AliasChange struct {
	Alias    Alias     `json:"alias"`
	Deleted  bool      `json:"deleted,omitempty"` // the alias is deleted; Alias may then have no target
	Version  int64     `json:"version"`           // version of the AliasSet that made the change
	Replaces bool      `json:"replaces,omitempty"`
	StoredAt time.Time `json:"storedAt,omitzero"`
	StoredBy string    `json:"storedBy,omitempty"` // id of the process
}

// due reports whether the process must store the change, for the first time or again. It returns false from aliasRepeatTime
// after the change was stored. It also returns false for aliasPause after the process itself has stored the change: in a
// process, calls of AliasesWritten for a dashboard follow each other, so no call overwrites the change of another.
func (c *AliasChange) due(process string, now time.Time) bool {
	age := now.Sub(c.StoredAt)
	return c.StoredAt.IsZero() || age < aliasRepeatTime && (c.StoredBy != process || age > aliasPause)
}

const (
	// MaxAliases is the maximum number of aliases of a request.
	MaxAliases = 1000
	// maxAliases is the maximum number of aliases of a dashboard.
	maxAliases = 100_000
	// aliasPause is how long a process does not store a change again that it has stored itself. Package document repeats
	// AliasesWritten at least 1 s after the end of all former calls. aliasPause is shorter, so the repetition stores the change.
	aliasPause = 500 * time.Millisecond
	// aliasRepeatTime is how long after a change was first stored calls of AliasesWritten store the change again. Another
	// process takes over the work of a killed process sooner. The change stays pending for twice this time (settle), so that a
	// later change of its path has Replaces.
	aliasRepeatTime = 2 * time.Minute
	// maxPending is the maximum length of Pending. It is reached only if the database is slow.
	maxPending = 10 * MaxAliases
)

// AliasStatus says what a write has done with an alias.
type AliasStatus string

const (
	AliasCreated   AliasStatus = "created"
	AliasUpdated   AliasStatus = "updated"
	AliasUnchanged AliasStatus = "unchanged"
	AliasKept      AliasStatus = "kept" // the path leads elsewhere, and the request keeps existing aliases
	AliasRefused   AliasStatus = "refused"
)

// AliasResult is the result of the write of one alias.
type AliasResult struct {
	Status AliasStatus
	Error  string // why the alias is kept or refused
}

// aliasesEntry is the part of an AliasSet that an audit entry shows.
type aliasesEntry struct {
	dashboard Dashboard
	Count     int      `audit:"aliases"`
	Paths     []string `audit:"paths"` // the changed paths
}

// AuditEntity implements audit.Record.
func (e aliasesEntry) AuditEntity() audit.Entity { return e.dashboard.AuditEntity() }

// SetAliases sets aliases of a dashboard. It returns the results in the order of the aliases. It refuses an alias whose event
// or component does not exist. If keepExisting is true, an existing alias with another target stays. It returns Invalid if a
// path is in the result of ownAddresses. The aliases are stored in parts of MaxAliases; a repeated call stores the
// parts that an interrupted call has not stored. A call with a context without audit.Origin leaves no audit entry.
func (c *Catalog) SetAliases(ctx context.Context, command Command, dashboardID string, aliases []Alias, keepExisting bool) ([]AliasResult, error) {
	own, err := c.ownAddresses(ctx, command.Organization, aliases)
	if err != nil {
		return nil, err
	}
	for i, alias := range aliases {
		if own[alias.Path] {
			return nil, fault.Field(fmt.Sprintf("aliases[%d].path", i), "%s", ownAddress)
		}
	}
	return c.setAliases(ctx, command, dashboardID, aliases, keepExisting)
}

const ownAddress = "must not be the address of an event of the organization"

// ownAddresses returns those paths of the aliases that consist of incidents/ and the id of an event of the organization. The
// gateway redirects such a path to the event if the path is no alias.
func (c *Catalog) ownAddresses(ctx context.Context, organization string, aliases []Alias) (map[string]bool, error) {
	paths := map[string]string{} // by the id of an event
	for _, alias := range aliases {
		if name, in := strings.CutPrefix(alias.Path, "incidents/"); in {
			if id, err := uuid.Parse(name); err == nil {
				paths[id.String()] = alias.Path
			}
		}
	}
	events, err := c.existing(ctx, organization, slices.Sorted(maps.Keys(paths)))
	own := map[string]bool{}
	for id := range events {
		own[paths[id]] = true
	}
	return own, err
}

// existing returns those of the ids that are ids of the organization's events.
func (c *Catalog) existing(ctx context.Context, organization string, ids []string) (map[string]bool, error) {
	there := map[string]bool{}
	for some := range slices.Chunk(ids, find.MaxMerged) {
		rows, err := c.store.Events.Keys(ctx, owned(organization, find.Query{Where: []find.Condition{find.In(FieldID, some...)}}))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			there[row.Key] = true
		}
	}
	return there, nil
}

// setAliases is SetAliases without the check of ownAddresses.
func (c *Catalog) setAliases(ctx context.Context, command Command, dashboardID string, aliases []Alias, keepExisting bool) ([]AliasResult, error) {
	dashboard, err := c.Dashboard(ctx, command.Organization, dashboardID)
	if err != nil {
		return nil, err
	}
	results := make([]AliasResult, 0, len(aliases))
	for part := range slices.Chunk(aliases, MaxAliases) {
		part = slices.Clone(part)
		for i := range part {
			part[i].OrganizationID, part[i].DashboardID = command.Organization, dashboardID
		}
		missing, err := c.missingTargets(ctx, command.Organization, part)
		if err != nil {
			return nil, err
		}
		changes := find.Values(part, func(alias Alias) AliasChange { return AliasChange{Alias: alias} })
		statuses, err := c.changeAliases(ctx, command, dashboard, changes, missing, keepExisting)
		if err != nil {
			return nil, err
		}
		results = append(results, statuses...)
	}
	return results, nil
}

// DeleteAliases deletes the aliases of a dashboard with these paths, and returns the number of deleted aliases. It ignores
// paths without an alias.
func (c *Catalog) DeleteAliases(ctx context.Context, command Command, dashboardID string, paths []string) (deleted int, err error) {
	dashboard, err := c.Dashboard(ctx, command.Organization, dashboardID)
	if err != nil {
		return 0, err
	}
	results, err := c.changeAliases(ctx, command, dashboard, aliasDeletions(dashboard.OrganizationID, dashboardID, paths), nil, false)
	for _, result := range results {
		if result.Status == AliasUpdated {
			deleted++
		}
	}
	return deleted, err
}

func aliasDeletions(organization, dashboard string, paths []string) []AliasChange {
	return find.Values(paths, func(path string) AliasChange {
		return AliasChange{Alias: Alias{OrganizationID: organization, DashboardID: dashboard, Path: path}, Deleted: true}
	})
}

// changeAliases writes the changes, unless they change nothing. missing has the reasons for refusing aliases, by the key of
// the alias. If keepExisting is true, an existing alias with another target stays.
func (c *Catalog) changeAliases(ctx context.Context, command Command, dashboard Dashboard, changes []AliasChange, missing map[string]string, keepExisting bool) ([]AliasResult, error) {
	var results []AliasResult
	_, err := c.store.AliasSets.Upsert(ctx, dashboard.ID, func(set *AliasSet, _ bool) ([]topic.Message, error) {
		former, err := c.formerAliases(ctx, set, changes)
		if err != nil {
			return nil, err
		}
		set.OrganizationID, set.DashboardID = dashboard.OrganizationID, dashboard.ID
		before, after := aliasesEntry{dashboard: dashboard, Count: set.Count}, aliasesEntry{dashboard: dashboard}
		results = results[:0]
		pending := make(map[string]bool, len(set.Pending))
		for _, change := range set.Pending {
			pending[change.Alias.Key()] = true
		}
		for _, change := range changes {
			was, there := former[change.Alias.Key()]
			result := AliasResult{Status: AliasUpdated}
			switch reason := missing[change.Alias.Key()]; {
			case reason != "":
				result = AliasResult{AliasRefused, reason}
			case change.Deleted && there:
				set.Count--
			case change.Deleted || there && was == change.Alias:
				result.Status = AliasUnchanged
			case there && keepExisting:
				result = AliasResult{AliasKept, "The path leads elsewhere."}
			case !there:
				result.Status = AliasCreated
				set.Count++
			}
			results = append(results, result)
			if result.Status == AliasCreated || result.Status == AliasUpdated {
				if former[change.Alias.Key()] = change.Alias; change.Deleted {
					delete(former, change.Alias.Key())
				}
				change.Version, change.Replaces = set.Version+1, there || pending[change.Alias.Key()]
				set.Pending, after.Paths = append(set.Pending, change), append(after.Paths, change.Alias.Path)
			}
		}
		switch after.Count = set.Count; {
		case len(after.Paths) == 0:
			return nil, fault.ErrUnchanged
		case set.Count > maxAliases && set.Count > before.Count:
			return nil, fault.New(fault.Conflict, "A dashboard can have at most %d aliases. This one has %d.", maxAliases, before.Count)
		case len(set.Pending) > maxPending:
			return nil, fault.New(fault.Unavailable, "Too many aliases wait until they are stored. Try again shortly.")
		}
		set.Version++
		return audit.Entry(audit.From(ctx), ActionAliasesUpdate, c.now(), &before, &after), nil
	})
	return results, err
}

// formerAliases returns, by key, the aliases that the paths of the changes have before the write. The result also has all
// other aliases in set.Pending.
func (c *Catalog) formerAliases(ctx context.Context, set *AliasSet, changes []AliasChange) (map[string]Alias, error) {
	former, err := find.ByKey(ctx, c.store.Aliases, find.Values(changes, func(change AliasChange) string { return change.Alias.Key() }), Alias.Key)
	for _, change := range set.Pending {
		former[change.Alias.Key()] = change.Alias
		if change.Deleted {
			delete(former, change.Alias.Key())
		}
	}
	return former, err
}

// missingTargets returns a text for each alias whose event or component does not exist, by the key of the alias.
func (c *Catalog) missingTargets(ctx context.Context, organization string, aliases []Alias) (map[string]string, error) {
	var events, components []string
	for _, alias := range aliases {
		if alias.EventID != "" {
			events = append(events, alias.EventID)
		}
		if alias.ComponentID != "" {
			components = append(components, alias.ComponentID)
		}
	}
	slices.Sort(events)
	there, err := c.existing(ctx, organization, slices.Compact(events))
	if err != nil {
		return nil, err
	}
	found, err := c.store.ComponentsOf(ctx, organization, components)
	missing := map[string]string{}
	for _, alias := range aliases {
		switch _, hasComponent := found[alias.ComponentID]; {
		case alias.EventID != "" && !there[alias.EventID]:
			missing[alias.Key()] = "eventId: There is no such event."
		case alias.ComponentID != "" && !hasComponent:
			missing[alias.Key()] = "componentId: There is no such component."
		}
	}
	return missing, err
}

// PageOfAliases returns a page of the aliases of a dashboard, in the order of their paths. after is Next of the previous
// page, or empty.
func (c *Catalog) PageOfAliases(ctx context.Context, organization, dashboardID string, limit int, after string) (find.Page[Alias], error) {
	if _, err := c.Dashboard(ctx, organization, dashboardID); err != nil {
		return find.Page[Alias]{}, err
	}
	return c.store.Aliases.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldDashboard, dashboardID)}, Order: []find.Order{{Field: FieldPath}}, Limit: limit, After: after,
	})
}

// EachAlias calls visit with the path and the present path of each alias of a dashboard, in the order of the paths. It
// reads only these two fields, not the records.
func (c *Catalog) EachAlias(ctx context.Context, dashboardID string, visit func(path, present string)) error {
	query := find.Query{Where: []find.Condition{find.Eq(FieldDashboard, dashboardID)}, Order: []find.Order{{Field: FieldPath}}, Limit: 10 * MaxAliases}
	for {
		rows, err := c.store.Aliases.Keys(ctx, query, FieldPath, FieldPresent)
		for _, row := range rows {
			path, _ := row.Values[0].(string)
			present, _ := row.Values[1].(string)
			visit(path, present)
		}
		if err != nil || len(rows) < query.Limit {
			return err
		}
		query.After = rows[len(rows)-1].Position
	}
}
