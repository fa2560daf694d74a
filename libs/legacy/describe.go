package legacy

// Doc is what the document of the interface says about a resource beyond the declaration of its fields.
type Doc struct {
	Name, Names string // in the ids of operations and the names of schemas: "Email", "Emails"
	One, Many   string // in summaries: "an email address", "email addresses"
	// List, Create, Change and Delete describe the operations, where their summaries do not suffice.
	List, Create, Change, Delete string
	Record                       string // an example of a record: JSON as View writes it
	Body                         string // an example of the body of a POST, without a POST empty
}

// Description is the part of a declaration that the document of the interface is made of.
type Description struct {
	Doc
	Resource string // in the table of Resources
	Fields   []Field
	Ordering []string // values of order_by, without a minus
}

// Describe implements Declared.
func (r Resource[T]) Describe() Description {
	return Description{Doc: r.Doc, Resource: r.Name, Fields: r.Fields, Ordering: endpoint[T]{Resource: r}.schema().Ordering}
}

// Filters reports whether a parameter with the name of the field filters lists.
func (field Field) Filters() bool { return field.reach() > 0 }

// IDField returns the field id of a record or of a related record, which is not in the output.
func IDField(r *Relation) Field {
	if r == nil {
		return idField(findID)
	}
	return r.idField(false)
}
