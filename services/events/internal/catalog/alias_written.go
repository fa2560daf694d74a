package catalog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// AliasesWritten stores the pending changes of a dashboard's aliases and publishes the version of the AliasSet. It deletes
// all aliases if the dashboard was deleted. It also deletes a pending alias whose event or component was deleted meanwhile: the
// deletion of the event or component did not find the alias if it was not stored yet.
func (c *Catalog) AliasesWritten(ctx context.Context, dashboardID string, current *AliasSet) error {
	if current == nil {
		return c.dropAliases(ctx, dashboardID)
	}
	last, now := map[string]AliasChange{}, c.now()
	for _, change := range current.Pending {
		last[change.Alias.Key()] = change
	}
	// Only the newest change of a path is stored. If this change is not due, no former change is stored instead.
	maps.DeleteFunc(last, func(_ string, change AliasChange) bool { return !change.due(c.process, now) })
	if len(last) == 0 {
		return nil
	}
	switch _, err := c.store.Dashboards.Get(ctx, dashboardID); {
	case fault.Is(err, fault.NotFound):
		return c.dropAliases(ctx, dashboardID)
	case err != nil:
		return err
	}
	var stored []Alias
	var gone []string
	for _, change := range last {
		if change.Deleted {
			gone = append(gone, change.Alias.Path)
		} else {
			stored = append(stored, change.Alias)
		}
	}
	if err := cmp.Or(c.store.Aliases.UpsertMany(ctx, stored), c.deleteAliasRows(ctx, dashboardID, gone)); err != nil {
		return err
	}
	missing, err := c.missingTargets(ctx, current.OrganizationID, stored)
	if err != nil {
		return err
	}
	var orphans []string
	if len(missing) > 0 {
		if orphans, err = c.orphans(ctx, dashboardID, stored, missing); err != nil {
			return fault.UnlessMissing(err)
		}
	}
	if err := cmp.Or(c.deleteAliasRows(ctx, dashboardID, orphans), c.published.Follow(ctx, []string{dashboardID}, Written{Aliases: current.Version})); err != nil {
		return err
	}
	_, err = c.store.AliasSets.Change(ctx, dashboardID, func(set *AliasSet) error {
		return set.settle(current.Version, missing, c.process, now)
	})
	return fault.UnlessMissing(err)
}

// orphans returns the paths of those stored aliases whose target is missing and whose change is still pending. settle
// subtracts them from Count. If the change is not pending any more, another process has settled it before the target was
// deleted. The deletion of the target then finds the alias and subtracts it.
func (c *Catalog) orphans(ctx context.Context, dashboardID string, stored []Alias, missing map[string]string) (paths []string, err error) {
	set, err := c.store.AliasSets.Get(ctx, dashboardID)
	pending := make(map[string]bool, len(set.Pending))
	for _, change := range set.Pending {
		pending[change.Alias.Key()] = true
	}
	for _, alias := range stored {
		if missing[alias.Key()] != "" && pending[alias.Key()] {
			paths = append(paths, alias.Path)
		}
	}
	return paths, err
}

// settle records that the changes up to a version are stored. missing has the keys of the aliases whose targets do not
// exist. settle marks the pending changes of these aliases as deletions and subtracts them from Count. It returns
// fault.ErrUnchanged if another process has recorded the same. It removes stored changes from Pending, except the newest
// MaxAliases that replace others and were stored within twice aliasRepeatTime.
func (s *AliasSet) settle(version int64, missing map[string]string, process string, now time.Time) error {
	settled, last := false, map[string]int{}
	for i := range s.Pending {
		last[s.Pending[i].Alias.Key()] = i
	}
	for i := range s.Pending {
		change := &s.Pending[i]
		if change.Version <= version && change.StoredAt.IsZero() {
			settled, change.StoredAt, change.StoredBy = true, now, process
		}
		if key := change.Alias.Key(); change.Version <= version && missing[key] != "" && !change.Deleted && last[key] == i {
			settled, change.Deleted, change.Replaces = true, true, true // Replaces keeps the change pending: a slow process must not subtract it again
			s.Count--
		}
	}
	if !settled {
		return fault.ErrUnchanged
	}
	slices.Reverse(s.Pending)
	kept := 0
	s.Pending = slices.DeleteFunc(s.Pending, func(change AliasChange) bool {
		if change.StoredAt.IsZero() {
			return false
		}
		if change.Replaces {
			kept++
		}
		return !change.Replaces || kept > MaxAliases || now.Sub(change.StoredAt) >= 2*aliasRepeatTime
	})
	slices.Reverse(s.Pending)
	return nil
}

func (c *Catalog) deleteAliasRows(ctx context.Context, dashboardID string, paths []string) error {
	for some := range slices.Chunk(paths, find.MaxMerged) {
		where := []find.Condition{find.Eq(FieldDashboard, dashboardID), find.In(FieldPath, some...)}
		if _, err := c.store.Aliases.DeleteMany(ctx, find.Query{Where: where}); err != nil {
			return err
		}
	}
	return nil
}

// dropAliases deletes all aliases of a deleted dashboard.
func (c *Catalog) dropAliases(ctx context.Context, dashboardID string) error {
	_, err := c.store.Aliases.DeleteMany(ctx, find.Query{Where: []find.Condition{find.Eq(FieldDashboard, dashboardID)}})
	if err != nil {
		return err
	}
	return fault.UnlessMissing(c.store.AliasSets.Delete(ctx, dashboardID, nil))
}

// DropAliasesTo deletes the aliases that lead to deleted events or to deleted components. field is FieldEvent or
// FieldComponent. ids are the ids of these events or components. DropAliasesTo leaves no audit entry, because the write that
// deleted the events or components has an entry.
func (c *Catalog) DropAliasesTo(ctx context.Context, field string, ids ...string) error {
	ctx = audit.With(ctx, audit.Origin{})
	paths, organizations := map[string][]string{}, map[string]string{}
	for some := range slices.Chunk(ids, find.MaxMerged) {
		found, err := c.store.Aliases.Find(ctx, find.Query{Where: []find.Condition{find.In(field, some...)}})
		if err != nil {
			return err
		}
		for _, alias := range found.Items {
			paths[alias.DashboardID] = append(paths[alias.DashboardID], alias.Path)
			organizations[alias.DashboardID] = alias.OrganizationID
		}
	}
	for dashboardID, gone := range paths {
		for some := range slices.Chunk(gone, MaxAliases) {
			_, err := c.DeleteAliases(ctx, Command{Organization: organizations[dashboardID]}, dashboardID, some)
			if fault.UnlessMissing(err) != nil {
				return err
			}
		}
	}
	return nil
}
