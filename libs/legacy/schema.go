package legacy

import (
	"strings"
)

type schema struct {
	ListMethods   []string               `json:"allowed_list_http_methods"`
	DetailMethods []string               `json:"allowed_detail_http_methods"`
	DefaultFormat string                 `json:"default_format"`
	DefaultLimit  int                    `json:"default_limit"`
	Fields        map[string]schemaField `json:"fields"`
	Filtering     map[string]int         `json:"filtering"`
	Ordering      []string               `json:"ordering"`
}

type schemaField struct {
	Blank         bool   `json:"blank"`
	Default       any    `json:"default"`
	HelpText      string `json:"help_text"`
	Nullable      bool   `json:"nullable"`
	PrimaryKey    bool   `json:"primary_key"`
	Readonly      bool   `json:"readonly"`
	RelatedSchema string `json:"related_schema,omitempty"`
	RelatedType   string `json:"related_type,omitempty"`
	Type          Type   `json:"type"`
	Unique        bool   `json:"unique"`
	VerboseName   string `json:"verbose_name"`
}

// schema returns the response to schema/, which generic clients read.
func (e endpoint[T]) schema() schema {
	row, _ := findRow(e.Name)
	out := schema{
		ListMethods: lower(row.List), DetailMethods: lower(row.Detail),
		DefaultFormat: "application/json", DefaultLimit: defaultLimit,
		Fields: map[string]schemaField{}, Filtering: map[string]int{}, Ordering: []string{},
	}
	out.Fields["resource_uri"] = Field{Name: "resource_uri", Type: String, Readonly: true, Help: "Location of the object."}.schema()
	for _, field := range e.Fields {
		out.Fields[field.Name] = field.schema()
	}
	for _, field := range append([]Field{idField(findID)}, e.Fields...) {
		if reach := field.reach(); reach > 0 {
			out.Filtering[field.Name] = reach
		}
		if field.ordered() {
			out.Ordering = append(out.Ordering, field.Name)
		}
	}
	return out
}

// reach returns the filters that the field allows, as the number that Tastypie's schemas use.
func (field Field) reach() int {
	switch {
	case field.Relation != nil && len(field.Relation.Fields) > 0:
		return 2 // all lookups of the field and of the related fields
	case field.Find != "" || field.Relation != nil && field.Relation.FindID != "":
		return 1 // all lookups of the field
	}
	return 0
}

func (field Field) schema() schemaField {
	out := schemaField{
		Blank: !field.Required, Default: field.Default, HelpText: field.Help, Nullable: field.Nullable,
		Readonly: field.Readonly, Type: field.Type, Unique: field.Unique,
		VerboseName: strings.ReplaceAll(field.Name, "_", " "),
	}
	if field.Default == nil {
		out.Default = "No default provided."
	}
	if field.Relation != nil {
		out.RelatedType, out.RelatedSchema = "to_one", ListURI(field.Relation.To)+"schema/"
		if field.Relation.Many {
			out.RelatedType = "to_many"
		}
	}
	return out
}

func lower(methods []string) []string {
	return strings.Split(strings.ToLower(strings.Join(methods, ",")), ",")
}

// Doc contains what the OpenAPI document says about a resource beyond its fields.
type Doc struct {
	Name, Names string // in the ids of operations and the names of schemas: "Email", "Emails"
	One, Many   string // in summaries: "an email address", "email addresses"
	// List, Create, Change and Delete describe the operations, if their summaries are not enough.
	List, Create, Change, Delete string
	Record                       string // an example of a record: JSON as View writes it
	Body                         string // an example of the body of a POST; empty if the resource has no POST
}

// Description is the part of a declaration from which the OpenAPI document is generated.
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

// IDField returns the field id. With a relation it is the field of the related record. The field is not in the
// output.
func IDField(r *Relation) Field {
	if r == nil {
		return idField(findID)
	}
	return r.idField(false)
}
