package catalog

import (
	"context"
	"iter"
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

func owned(organization string, query find.Query) find.Query {
	query.Where = append([]find.Condition{find.Eq(FieldOrganization, organization)}, query.Where...)
	return query
}

// Pages is the records of a list, page by page. After an error there are no more pages.
type Pages[T any] = iter.Seq2[[]T, error]

// maxPage bounds the size of the stored records in a page of a list, in bytes. A page ends with the record that reaches
// maxPage. One event may have megabytes, and a list may have a thousand events.
const maxPage = 2 << 20

// listed returns the organization's records that the query finds, converted by shown, and the number of records that the
// query finds without its Limit and Offset. id returns the legacy id of a record. A page is read when the caller asks for
// it. If records are added or deleted meanwhile, the pages neither skip nor repeat other records.
func listed[T, R any](
	ctx context.Context, from Collection[T], organization string, query find.Query, id func(*T) int64, shown func([]T) ([]R, error),
) (Pages[R], int64, error) {
	query = owned(organization, query)
	total, err := from.Count(ctx, find.Query{Where: query.Where, Scan: query.Scan})
	if err != nil {
		return nil, 0, err
	}
	left := max(0, int(total)-query.Offset)
	if query.Limit > 0 {
		left = min(left, query.Limit)
	}
	pages := inOrder(ctx, from, query, left)
	if query.Scan != "" {
		pages = sorted(ctx, from, organization, query, left, id)
	}
	return func(yield func([]R, error) bool) {
		for items, err := range pages {
			var records []R
			if err == nil {
				records, err = shown(items)
			}
			if !yield(records, err) || err != nil {
				return
			}
		}
	}, total, nil
}

// inOrder returns at most left records of a query whose order an index serves.
func inOrder[T any](ctx context.Context, from Collection[T], query find.Query, left int) Pages[T] {
	query.MaxBytes = maxPage
	return func(yield func([]T, error) bool) {
		for left > 0 {
			query.Limit = left
			page, err := from.Find(ctx, query)
			if !yield(page.Items, err) || err != nil || page.Next == "" {
				return
			}
			left -= len(page.Items)
			query.After, query.Offset = page.Next, 0
		}
	}
}

// sorted returns at most left records of a query that examines the records one by one. It runs the query once, for the
// ids in order, and then reads the records by id, page by page. Running the query for each page would be slow, because
// a list of large records has hundreds of pages.
func sorted[T any](ctx context.Context, from Collection[T], organization string, query find.Query, left int, id func(*T) int64) Pages[T] {
	return func(yield func([]T, error) bool) {
		if left == 0 {
			return
		}
		query.Limit = left
		rows, err := from.Keys(ctx, query, FieldLegacyID)
		if err != nil {
			yield(nil, err)
			return
		}
		for part := find.MaxMerged; len(rows) > 0; {
			part = min(part, len(rows))
			ids := find.Values(rows[:part], func(row find.Row) int64 { n, _ := row.Values[0].(int64); return n })
			page, err := from.Find(ctx, owned(organization, find.Query{
				Where: []find.Condition{find.In(FieldLegacyID, ids...)}, Order: []find.Order{{Field: FieldLegacyID}}, MaxBytes: maxPage,
			}))
			if err == nil && page.Next != "" && part > 1 { // the records of this part are larger than maxPage together
				part /= 2
				continue
			}
			place := map[int64]int{}
			for i, id := range ids {
				place[id] = i
			}
			slices.SortFunc(page.Items, func(a, b T) int { return place[id(&a)] - place[id(&b)] })
			if !yield(page.Items, err) || err != nil {
				return
			}
			rows = rows[part:]
		}
	}
}

// whole returns the records unchanged.
func whole[T any](records []T) ([]T, error) { return records, nil }

// byLegacyID returns the organization's record with the legacy id, or NotFound.
func byLegacyID[T any](ctx context.Context, from Collection[T], organization string, id int64) (T, error) {
	page, err := from.Find(ctx, owned(organization, find.Query{Where: []find.Condition{find.Eq(FieldLegacyID, id)}, Limit: 1}))
	if err == nil && len(page.Items) == 0 {
		err = fault.New(fault.NotFound, "There is no such record.")
	}
	return append(page.Items, *new(T))[0], err
}
