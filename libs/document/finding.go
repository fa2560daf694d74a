package document

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Find returns a page of the records that match q. A declared index must serve the conditions and the order, or q.Scan
// must name an index: the records within its prefix are then examined one by one. Without q.Order the records have the
// order of the index. The key is always the last part of the order. q.MaxBytes can end the page
// earlier.
func (c *Collection[T]) Find(ctx context.Context, q find.Query) (find.Page[T], error) {
	defer c.span(&ctx, "find")()
	var page find.Page[T]
	p, err := c.shape.plan(q)
	if err != nil || p.empty {
		return page, err
	}
	if q.Limit > 0 {
		p.limit++ // with one more record it is known whether another page follows
	}
	records, err := c.db.engine.find(ctx, p)
	if err != nil {
		return page, c.opaque(err, "find")
	}
	read := filling{limit: q.MaxBytes}
	more := false
	for i, r := range records {
		if more = i == q.Limit && q.Limit > 0 || read.full(r); more {
			records = records[:i]
			break
		}
	}
	decoder := newDecoder()
	page.Items = make([]T, len(records))
	for i, r := range records {
		if err := decoder.decode(r.body, &page.Items[i]); err != nil {
			return page, c.opaque(err, "find")
		}
	}
	if more {
		last := records[len(records)-1]
		if last.fields, err = c.values(&page.Items[len(records)-1]); err != nil {
			return page, c.opaque(err, "find")
		}
		page.Next, err = p.position(last)
	}
	return page, c.opaque(err, "find")
}

// filling counts the bytes of a page while an engine reads its records.
type filling struct{ limit, bytes int }

// errFull ends a read.
var errFull = errors.New("document: the page is full")

// full adds a record. It returns true if the records before it reach the limit, so that it belongs to the next page.
func (f *filling) full(r *record) bool {
	was := f.bytes
	f.bytes += len(r.body)
	return f.limit > 0 && was >= f.limit
}

// Each calls visit for every record that matches q, in order. It reads page by page: a record that exists all the time
// is visited exactly once while others are added and deleted. An error of visit ends Each.
func (c *Collection[T]) Each(ctx context.Context, q find.Query, visit func(T) error) error {
	left := q.Limit
	for {
		q.Limit = batchSize
		if left > 0 {
			q.Limit = min(left, batchSize)
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
		if left > 0 {
			if left -= len(page.Items); left == 0 {
				return nil
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After, q.Offset = page.Next, 0
	}
}

// Count returns the number of records that match the conditions of q.
func (c *Collection[T]) Count(ctx context.Context, q find.Query) (int64, error) {
	defer c.span(&ctx, "count")()
	return c.count(ctx, keyField, q)
}

// CountDistinct returns the number of different values of field in the records that match the
// conditions of q. It does not count records without the field. field is single-valued.
func (c *Collection[T]) CountDistinct(ctx context.Context, field string, q find.Query) (int64, error) {
	defer c.span(&ctx, "count distinct")()
	at := c.shape.field(field)
	if at < 0 || c.shape.fields[at].many {
		return 0, fault.New(fault.Internal, "document: %q must be a declared single-valued field of %s", field, c.shape.name)
	}
	return c.count(ctx, at, q)
}

// Sum returns the sum of field, which holds whole numbers, over the records that match the conditions of q. It does not read
// the records if the index has the field.
func (c *Collection[T]) Sum(ctx context.Context, field string, q find.Query) (int64, error) {
	defer c.span(&ctx, "sum")()
	at := c.shape.field(field)
	if at < 0 || c.shape.fields[at].many {
		return 0, fault.New(fault.Internal, "document: %q must be a declared single-valued field of %s", field, c.shape.name)
	}
	p, err := c.shape.plan(find.Query{Where: q.Where, Scan: q.Scan})
	if err != nil || p.empty {
		return 0, err
	}
	n, err := c.db.engine.sum(ctx, p, at)
	return n, c.opaque(err, "sum")
}

func (c *Collection[T]) count(ctx context.Context, distinct int, q find.Query) (int64, error) {
	p, err := c.shape.plan(find.Query{Where: q.Where, Scan: q.Scan})
	if err != nil || p.empty {
		return 0, err
	}
	n, err := c.db.engine.count(ctx, p, distinct)
	return n, c.opaque(err, "count")
}
