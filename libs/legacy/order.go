package legacy

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// orderBy translates order_by. The result always contains the id, so that no two records are equal in the order.
func orderBy(fields []Field, all params) ([]find.Order, error) {
	var orders []find.Order
	for _, text := range all.values["order_by"] {
		name, descending := strings.CutPrefix(text, "-")
		field, known := fieldNamed(fields, name)
		if !known || !field.ordered() {
			return nil, invalid("order_by: must be a field that orders lists, not '%s'", printable(text))
		}
		orders = appendOrder(orders, find.Order{Field: field.Find, Descending: descending})
	}
	return appendOrder(orders, find.Order{Field: findID}), nil
}

// appendOrder appends an order, unless orders already contains its field.
func appendOrder(orders []find.Order, order find.Order) []find.Order {
	if slices.ContainsFunc(orders, func(o find.Order) bool { return o.Field == order.Field }) {
		return orders
	}
	return append(orders, order)
}

// ordered reports whether lists can be ordered by the field: a scalar field with a Find.
func (field Field) ordered() bool {
	return field.Find != "" && field.Relation == nil && !field.Multi
}

// scanIn returns the name of the index that the query must scan. It returns "" if an index serves the query, or if
// there are no indexes.
func scanIn(indexes []Index, query find.Query) string {
	if len(indexes) == 0 {
		return ""
	}
	equal, several := map[string]bool{}, map[string]bool{}
	for _, c := range query.Where {
		if c.Op == find.OpEq || c.Op == find.OpHas && len(c.Values) == 1 {
			equal[c.Field] = true
		}
		several[c.Field] = several[c.Field] || c.Op == find.OpIn
	}
	best := indexes[0]
	for _, index := range indexes {
		usable := !slices.ContainsFunc(index.Equal, func(name string) bool { return !equal[name] && !(index.Few && several[name]) })
		if usable && len(index.Equal) > len(best.Equal) {
			best = index
		}
	}
	byID := len(query.Order) == 1 && query.Order[0].Field == findID
	if byID && len(query.Where) == len(best.Equal) && !slices.ContainsFunc(best.Equal, func(name string) bool { return several[name] }) {
		return ""
	}
	for _, index := range indexes {
		if len(best.Equal) == 0 && index.Order != "" && index.Order == query.Order[0].Field {
			return index.Name // read in the order of the page, so that only records with the same value of Order are sorted
		}
	}
	return best.Name
}
