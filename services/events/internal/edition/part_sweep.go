package edition

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// deletedAtOnce is the maximum number of keys in one deletion.
const deletedAtOnce = 500

// deleteEditions deletes the editions of a dashboard that were created up to the time before, except the kept one, and
// their files. It does not need an edition to find its files, because a file may be stored after its edition was
// deleted.
func (e *Editions) deleteEditions(ctx context.Context, dashboardID, kept string, before time.Time) error {
	return errors.Join(e.deleteFiles(ctx, dashboardID, kept, before), e.deleteParts(ctx, dashboardID, kept, before))
}

func (e *Editions) deleteFiles(ctx context.Context, dashboardID, kept string, before time.Time) error {
	where := []find.Condition{find.Eq(FieldDashboard, dashboardID), find.Lte(FieldCreatedAt, before)}
	rows, err := e.store.Files.Keys(ctx, find.Query{Where: where}, FieldEdition)
	if err != nil {
		return err
	}
	var gone []string
	for _, row := range rows {
		if row.Values[0] != kept {
			gone = append(gone, row.Key)
		}
	}
	return deleteAll(ctx, e.store.Files, dashboardID, gone)
}

// deleteParts deletes the parts that were created up to the time before, unless a remaining edition uses them. An
// edition that is stored meanwhile uses only parts of the kept edition and newer parts.
func (e *Editions) deleteParts(ctx context.Context, dashboardID, kept string, before time.Time) error {
	rows, err := e.store.Parts.Keys(ctx, find.Query{Where: []find.Condition{find.Eq(FieldDashboard, dashboardID)}}, FieldCreatedAt, FieldNumber)
	if err != nil {
		return err
	}
	var old, heads []string
	for _, row := range rows {
		created, _ := row.Values[0].(int64)
		stays := row.Key == kept || created > before.UnixMilli()
		if !stays {
			old = append(old, row.Key)
		} else if row.Values[1] != int64(0) {
			heads = append(heads, row.Key)
		}
	}
	if len(old) == 0 {
		return nil
	}
	staying, err := e.store.Parts.GetMany(ctx, heads)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for i := range staying {
		for _, id := range staying[i].uses() {
			used[id] = true
		}
	}
	return deleteAll(ctx, e.store.Parts, dashboardID, slices.DeleteFunc(old, func(id string) bool { return used[id] }))
}

// deleteAll deletes the records of a dashboard with the keys.
func deleteAll[T any](ctx context.Context, from find.Collection[T], dashboardID string, keys []string) error {
	for some := range slices.Chunk(keys, deletedAtOnce) {
		query := find.Query{Where: []find.Condition{find.Eq(FieldDashboard, dashboardID), find.In(catalog.FieldID, some...)}, Scan: IndexDashboard}
		if _, err := from.DeleteMany(ctx, query); err != nil {
			return err
		}
	}
	return nil
}
