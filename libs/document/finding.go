package document

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Find returns a page of the records that match q. A declared index must serve the conditions and the order. Otherwise
// q.Scan must name an index. Find then examines one by one the records that match the conditions on the first fields of
// this index. Without q.Order the records have the order of the index. The key is always the last part of the order. A
// page can end before q.Limit because of q.MaxBytes.
func (c *Collection[T]) Find(ctx context.Context, q find.Query) (find.Page[T], error) {
	defer c.span(&ctx, "find")()
	var page find.Page[T]
	p, err := c.shape.Plan(q)
	if err != nil || p.Empty {
		return page, err
	}
	if q.Limit > 0 {
		p.Limit++ // with one more record it is known whether another page follows
	}
	records, err := c.db.engine.Find(ctx, p)
	if err != nil {
		return page, c.opaque(err, "find")
	}
	read := engine.Page{Limit: q.MaxBytes}
	more := false
	for i, r := range records {
		if more = i == q.Limit && q.Limit > 0 || read.Full(r); more {
			records = records[:i]
			break
		}
	}
	decoder := newDecoder()
	page.Items = make([]T, len(records))
	for i, r := range records {
		if err := decoder.decode(r.Body, &page.Items[i]); err != nil {
			return page, c.opaque(err, "find")
		}
	}
	if more {
		last := records[len(records)-1]
		if last.Fields, err = c.values(&page.Items[len(records)-1]); err != nil {
			return page, c.opaque(err, "find")
		}
		page.Next, err = p.Position(last.Key, last.Fields)
	}
	return page, c.opaque(err, "find")
}

// Each calls visit for every record that matches q, in order. It reads page by page. Other writers may write records
// meanwhile. Each still visits exactly once each record that does not change meanwhile. If visit returns an error, Each
// returns the error.
func (c *Collection[T]) Each(ctx context.Context, q find.Query, visit func(T) error) error {
	limit := q.Limit
	for visited := 0; ; {
		q.Limit = engine.BatchSize
		if limit > 0 {
			q.Limit = min(q.Limit, limit-visited)
		}
		page, err := c.Find(ctx, q)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if visited += len(page.Items); page.Next == "" || visited == limit {
			return nil
		}
		q.After, q.Offset = page.Next, 0
	}
}

// Count returns the number of records that match the conditions of q. With q.Limit it counts at most that many, and the
// cost does not depend on the number of matching records.
func (c *Collection[T]) Count(ctx context.Context, q find.Query) (int64, error) {
	return c.aggregate(ctx, "count", "", q, c.db.engine.Count)
}

// CountDistinct returns the number of different values of field in the records that match the
// conditions of q. It does not count records without the field. field is single-valued.
func (c *Collection[T]) CountDistinct(ctx context.Context, field string, q find.Query) (int64, error) {
	q.Limit = 0
	return c.aggregate(ctx, "count distinct", field, q, c.db.engine.Count)
}

// Sum returns the sum of field, which holds whole numbers, over the records that match the conditions of q. It reads
// only the index if the index contains the field.
func (c *Collection[T]) Sum(ctx context.Context, field string, q find.Query) (int64, error) {
	q.Limit = 0
	return c.aggregate(ctx, "sum", field, q, c.db.engine.Sum)
}

// aggregate returns the number that compute returns for field, or for the key if field is empty.
func (c *Collection[T]) aggregate(ctx context.Context, operation, field string, q find.Query, compute func(context.Context, *plan.Plan, int) (int64, error)) (int64, error) {
	defer c.span(&ctx, operation)()
	at := plan.KeyField
	if field != "" {
		if at = c.shape.Field(field); at < 0 || c.shape.Fields[at].Many {
			return 0, fault.New(fault.Internal, "document: %q must be a declared single-valued field of %s", field, c.shape.Name)
		}
	}
	p, err := c.shape.Plan(find.Query{Where: q.Where, Scan: q.Scan, Limit: q.Limit})
	if err != nil || p.Empty {
		return 0, err
	}
	n, err := compute(ctx, p, at)
	return n, c.opaque(err, operation)
}
