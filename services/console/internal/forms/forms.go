// Package forms describes the forms of the console. A Form declares its fields once. The declaration gives the page's
// inputs, the names that a request may contain, and the fields that errors of the App interface are shown at.
package forms

import (
	"cmp"
	"hash/fnv"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Kind is the kind of an input.
type Kind string

const (
	Text     Kind = "text"
	Email    Kind = "email"
	URL      Kind = "url"
	Tel      Kind = "tel"
	Date     Kind = "date"
	Month    Kind = "month"
	Moment   Kind = "datetime-local" // a time without its zone; see Time
	Password Kind = "password"       // its value is never shown again
	Code     Kind = "code"           // a code of six digits; its value is never shown again
	Area     Kind = "area"           // several lines
	Source   Kind = "source"         // several lines for a program
	Secrets  Kind = "secrets"        // several lines; its value is never shown again
	Select   Kind = "select"
	Segments Kind = "segments" // radio buttons as a row of segments
	Radios   Kind = "radios"   // radio buttons below each other, each with a hint
	Tick     Kind = "tick"     // one checkbox; its value is "on" or empty
	Ticks    Kind = "ticks"    // checkboxes of which several can be chosen
	Order    Kind = "order"    // values whose order a member sets
	Hidden   Kind = "hidden"
	File     Kind = "file" // a file of a form with several parts; Upload returns its content
)

// Option is a choice of a Select, Segments, Radios or Ticks.
type Option struct {
	Value, Label, Hint string
	Icon               string // icon of a segment; empty: none
}

// Field is an input.
type Field struct {
	Kind         Kind
	Name         string // name of the input, and of the member in the body of the App operation
	Label, Hint  string
	Options      []Option
	Required     bool
	Max          int    // maximum number of characters; 0: 255
	Autocomplete string // for browsers and password managers
	Placeholder  string
	Members      []string                         // other members of the App operation whose errors are shown at this field
	Plain        bool                             // the label does not say that the field is optional
	Missing      string                           // problem of a required field without a value; empty: a general text
	Prefix       string                           // before the name in the id; makes ids unique if a page has several forms
	Save         func(file *multipart.Part) error // reads each chosen file of a File; nil: Upload returns the content of the first file

	Values  []string
	Problem string
	upload  string // content of the first chosen file if Save is nil
}

// Value returns the first value of the field, or "" if it has none.
func (f *Field) Value() string {
	if len(f.Values) == 0 {
		return ""
	}
	return f.Values[0]
}

// Has reports whether value is among the values.
func (f *Field) Has(value string) bool { return slices.Contains(f.Values, value) }

// ID returns the id of the input.
func (f *Field) ID() string { return f.Prefix + f.Name }

// Described returns the ids of the elements that show the problem and the hint, for aria-describedby. It omits the id of
// an element that the field does not have.
func (f *Field) Described() string {
	var ids []string
	if f.Problem != "" {
		ids = append(ids, f.ID()+"-problem")
	}
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	return strings.Join(ids, " ")
}

// Length returns the maximum number of characters.
func (f *Field) Length() int { return cmp.Or(f.Max, 255) }

// Rows returns the height of a Source: one line more than its value, but at least 6 and at most 24 lines.
func (f *Field) Rows() int { return max(6, min(strings.Count(f.Value(), "\n")+2, 24)) }

// Secret reports whether the value must not be in a response.
func (f *Field) Secret() bool { return f.Kind == Password || f.Kind == Code || f.Kind == Secrets }

// Form is a form of a page.
type Form struct {
	Action  string // path of the request
	Page    string // path of the page that shows the form; empty: Action
	Submit  string // text of the button
	Danger  bool   // the button deletes something
	Cancel  string // path of the page that the second button leads to; empty: there is none
	Fields  []*Field
	Version int64  // version of the record that the form shows; 0: the record has none
	Problem string // about the form as a whole
	Once    string // random; for a repeated request with the same value, the gateway sends the first response again
}

// New returns a form with a new Once.
func New(action, submit string, fields ...*Field) *Form {
	return &Form{Action: action, Submit: submit, Fields: fields, Once: uuid.NewString()}
}

// Field returns the field with the name. It panics if there is none, which is a mistake in a page.
func (f *Form) Field(name string) *Field {
	at := slices.IndexFunc(f.Fields, func(field *Field) bool { return field.Name == name })
	if at < 0 {
		panic("forms: no field " + name)
	}
	return f.Fields[at]
}

// Value returns the value of the field with the name.
func (f *Form) Value(name string) string { return f.Field(name).Value() }

// Ticked reports whether the field with the name is a ticked checkbox.
func (f *Form) Ticked(name string) bool { return f.Value(name) != "" }

// Shown returns the fields that a member sees.
func (f *Form) Shown() []*Field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(field *Field) bool { return field.Kind == Hidden })
}

// Hidden returns the fields that a member does not see.
func (f *Form) Hidden() []*Field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(field *Field) bool { return field.Kind != Hidden })
}

// PagePath returns the path of the page that shows the form.
func (f *Form) PagePath() string { return cmp.Or(f.Page, f.Action) }

// Target returns the path of the request with Once.
func (f *Form) Target() string {
	if strings.Contains(f.Action, "?") {
		return f.Action + "&once=" + f.Once
	}
	return f.Action + "?once=" + f.Once
}

const (
	versionName = "version"
	media       = "application/x-www-form-urlencoded"
	parts       = "multipart/form-data"
)

// Read reads the fields from the body of a request and checks them. It returns a fault for a body that is no form, is
// too large, or contains an unknown field, a repeated field or a wrong version. A wrong value becomes the Problem of its
// field.
func (f *Form) Read(r *http.Request) error {
	read := Parse
	if is, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); is == parts && slices.ContainsFunc(f.Fields, func(field *Field) bool { return field.Kind == File }) {
		read = f.readParts
	}
	err := read(r)
	if err != nil {
		return err
	}
	if err := f.Fill(r.PostForm); err != nil {
		return err
	}
	for _, field := range f.Fields {
		field.check()
	}
	return nil
}

// Parse reads the body of a request. It returns a fault for a body that is no form or is too large.
func Parse(r *http.Request) error {
	if is, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); is != media && r.ContentLength != 0 {
		return fault.New(fault.MediaType, "The body must be a form.")
	}
	return parsed(r.ParseForm())
}

// Fill sets the values of the fields. It replaces CR LF by LF, and trims the values that are not secret. It returns a fault
// for an unknown field, for a wrong version, and for a repeated field that is neither Ticks nor Order.
func (f *Form) Fill(values url.Values) error {
	version := f.Version
	for name, sent := range values {
		at := slices.IndexFunc(f.Fields, func(field *Field) bool { return field.Name == name })
		switch {
		case name == versionName:
			var err error
			if version, err = strconv.ParseInt(sent[0], 10, 64); err != nil || version < 1 || len(sent) > 1 {
				return fault.Field(versionName, "must be a whole number above 0")
			}
		case at < 0:
			return fault.Field(name, "is not a field of this form")
		case len(sent) > 1 && f.Fields[at].Kind != Ticks && f.Fields[at].Kind != Order:
			return fault.Field(name, "must not be repeated")
		}
	}
	f.Version = version
	for _, field := range f.Fields {
		field.Values = slices.Clone(values[field.Name])
		for i, value := range field.Values {
			if field.Values[i] = strings.ReplaceAll(value, "\r\n", "\n"); !field.Secret() {
				field.Values[i] = strings.TrimSpace(field.Values[i])
			}
		}
	}
	return nil
}

// Values returns the version and the values of all fields that are not secret, for a page from which the member returns to
// the form.
func (f *Form) Values() url.Values {
	values := url.Values{}
	for _, field := range f.Fields {
		if !field.Secret() && len(field.Values) > 0 {
			values[field.Name] = field.Values
		}
	}
	if f.Version > 0 {
		values.Set(versionName, strconv.FormatInt(f.Version, 10))
	}
	return values
}

// Sum returns a Version for the form of a record that has no version. Forms with the same values have the same Version.
func (f *Form) Sum() int64 {
	values := f.Values()
	values.Del(versionName)
	for name, list := range values {
		values[name] = slices.Sorted(slices.Values(list))
	}
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, values.Encode()) // a hash never fails
	return int64(sum.Sum64()>>1) | 1
}

func (f *Field) check() {
	for _, value := range f.Values {
		oneLine := f.Kind == Text || f.Kind == Email || f.Kind == URL || f.Kind == Tel
		if !utf8.ValidString(value) || strings.ContainsRune(value, 0) || oneLine && strings.ContainsFunc(value, unicode.IsControl) {
			f.Problem = "Enter text without control characters."
		} else if utf8.RuneCountInString(value) > f.Length() {
			f.Problem = "Enter at most " + strconv.Itoa(f.Length()) + " characters."
		}
		chosen := func(o Option) bool { return o.Value == value }
		if len(f.Options) > 0 && value != "" && !slices.ContainsFunc(f.Options, chosen) {
			f.Problem = "Choose one of the options."
		}
	}
	if f.Required && f.Value() == "" && f.Problem == "" {
		f.Problem = f.missing()
	}
}

func (f *Field) missing() string {
	if f.Missing != "" {
		return f.Missing
	}
	switch f.Kind {
	case Select, Segments, Radios, Ticks:
		return "Choose an option."
	case Tick:
		return "Tick this box to continue."
	}
	return "Enter the " + strings.ToLower(f.Label[:1]) + f.Label[1:] + "."
}

// OK reports whether neither the form nor a field has a Problem.
func (f *Form) OK() bool { return f.Problem == "" && len(f.Problems()) == 0 }

// Problems returns the fields that have a problem.
func (f *Form) Problems() []*Field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(field *Field) bool { return field.Problem == "" })
}

// Refuse stores an error of the App interface as a Problem: of the visible field that shows member, or of the form if no
// visible field shows member.
func (f *Form) Refuse(member, message string) {
	message = names.ReplaceAllStringFunc(message, f.labelled)
	name, _, _ := strings.Cut(strings.ReplaceAll(member, "[", "."), ".")
	for _, field := range f.Fields {
		if member != "" && field.Kind != Hidden && (field.Name == member || field.Name == name || slices.Contains(field.Members, member) || slices.Contains(field.Members, name)) {
			field.Problem = sentence(field.Label, message)
			return
		}
	}
	f.Problem = sentence(member, message)
}

// names matches the names of the App interface that are no plain words, such as scheduledStartAt or under_maintenance.
var names = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+|[A-Z][a-z]*)+\b`)

// labelled returns the quoted label of the field or option that has the name in the App interface, or the name if there
// is none.
func (f *Form) labelled(name string) string {
	for _, field := range f.Shown() {
		if field.Name == name || slices.Contains(field.Members, name) {
			return "“" + field.Label + "”"
		}
	}
	for _, field := range f.Shown() {
		if label := field.LabelOf(name); label != name {
			return "“" + label + "”"
		}
	}
	return name
}

// sentence puts the subject before a message that begins with a small letter, such as "must be ...", and adds a full
// stop.
func sentence(subject, message string) string {
	if message == "" || subject == "" || !('a' <= message[0] && message[0] <= 'z') {
		return message
	}
	return subject + " " + strings.TrimSuffix(message, ".") + "."
}

// SecretsGone empties the fields whose values no response may contain. A Secrets field that had a value gets a Problem,
// because the form can be sent without the value.
func (f *Form) SecretsGone() {
	for _, field := range f.Fields {
		if field.Secret() {
			if field.Kind == Secrets && field.Value() != "" && field.Problem == "" {
				field.Problem = field.Label + ": enter them again. No page shows them."
			}
			field.Values = nil
		}
	}
}

// LabelOf returns the label of the option with the value, or the value if there is none.
func (f *Field) LabelOf(value string) string {
	if at := slices.IndexFunc(f.Options, func(o Option) bool { return o.Value == value }); at >= 0 {
		return f.Options[at].Label
	}
	return value
}

// Text returns the values as a text for people.
func (f *Field) Text() string {
	var labels []string
	for _, value := range f.Values {
		labels = append(labels, f.LabelOf(value))
	}
	if f.Kind == Ticks {
		slices.Sort(labels)
	}
	if f.Kind == Tick {
		return map[bool]string{true: "Yes", false: "No"}[f.Value() != ""]
	}
	return strings.Join(labels, ", ")
}
