package edition

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// deletedAtOnce is the maximum number of keys in one deletion.
const deletedAtOnce = 100

// deleteEditions deletes the files and parts of a dashboard whose CreatedAt is at most the time in before. It keeps the
// files and parts of the edition with the id kept; see also deleteParts. It finds the files by their own CreatedAt and not
// through their editions, because a file may be stored after its edition was deleted.
func (e *Editions) deleteEditions(ctx context.Context, dashboardID, kept string, before time.Time) error {
	return errors.Join(e.deleteFiles(ctx, dashboardID, kept, before), e.deleteParts(ctx, dashboardID, kept, before))
}

func (e *Editions) deleteFiles(ctx context.Context, dashboardID, kept string, before time.Time) error {
	where := []find.Condition{find.Eq(FieldDashboard, dashboardID), find.Lte(FieldCreatedAt, before)}
	rows, err := e.store.Files.Keys(ctx, find.Query{Where: where}, FieldCreatedAt, FieldEdition)
	if err != nil {
		return err
	}
	return deleteAll(ctx, e.store.Files, dashboardID, slices.DeleteFunc(rows, func(row find.Row) bool { return row.Values[1] == kept }))
}

// deleteParts deletes the parts whose CreatedAt is at most the time in before, except the head with the id kept and the
// parts that a remaining head uses. An edition that is stored meanwhile uses only parts of the kept edition and newer
// parts.
func (e *Editions) deleteParts(ctx context.Context, dashboardID, kept string, before time.Time) error {
	rows, err := e.store.Parts.Keys(ctx, find.Query{Where: []find.Condition{find.Eq(FieldDashboard, dashboardID)}}, FieldCreatedAt, FieldNumber)
	if err != nil {
		return err
	}
	var old []find.Row
	var heads []string
	for _, row := range rows {
		if stays := row.Key == kept || createdAt(row) > before.UnixMilli(); !stays {
			old = append(old, row)
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
	return deleteAll(ctx, e.store.Parts, dashboardID, slices.DeleteFunc(old, func(row find.Row) bool { return used[row.Key] }))
}

// deleteAll deletes the records of a dashboard that rows name: each row has the key of a record and the value of
// FieldCreatedAt. Each deletion reads only the part of the index with the times of its records, so its duration does not
// depend on the number of other records.
func deleteAll[T any](ctx context.Context, from find.Collection[T], dashboardID string, rows []find.Row) error {
	slices.SortFunc(rows, func(a, b find.Row) int { return cmp.Compare(createdAt(a), createdAt(b)) })
	for some := range slices.Chunk(rows, deletedAtOnce) {
		query := find.Query{Scan: IndexDashboard, Where: []find.Condition{
			find.Eq(FieldDashboard, dashboardID), find.Gte(FieldCreatedAt, time.UnixMilli(createdAt(some[0]))), find.Lte(FieldCreatedAt, time.UnixMilli(createdAt(some[len(some)-1]))),
			find.In(catalog.FieldID, find.Values(some, func(row find.Row) string { return row.Key })...),
		}}
		if _, err := from.DeleteMany(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// createdAt returns the first value of a row, which must be FieldCreatedAt, in milliseconds since 1970.
func createdAt(row find.Row) int64 {
	at, _ := row.Values[0].(int64)
	return at
}
