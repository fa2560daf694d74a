package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// binder reads an Input from a body. It collects all faults of the body. It stops at an error that is not the
// client's fault.
type binder struct {
	ctx      context.Context
	caller   passport.Passport
	resolved map[string]Ref // by resource_uri, because a body can name a record many times
}

// object binds the declared members of body. If create is true, required fields must be present and absent fields get
// their defaults. If create is false, only absent fields with ResetOnPut get their defaults.
func (b *binder) object(fields []Field, body map[string]any, create bool) (Input, error) {
	in := Input{values: make(map[string]any, len(fields))}
	var problems []error
	for _, field := range fields {
		if field.Readonly {
			continue
		}
		value, sent, err := b.member(field, body, create)
		switch {
		case err != nil && !fault.Is(err, fault.Invalid):
			return Input{}, err
		case err != nil:
			problems = append(problems, under(field.Name, err)...)
		case sent:
			in.values[field.Name] = value
		}
	}
	return in, errors.Join(problems...)
}

// under returns the faults of err as faults of the field with the given name. If a fault names an inner field, the
// text of the new fault contains that name.
func under(name string, err error) []error {
	var out []error
	for _, problem := range faults(err) {
		text := problem.Message
		if problem.Field != "" {
			text = problem.Field + ": " + text
		}
		out = append(out, fault.Field(name, "%s", text))
	}
	return out
}

func invalid(format string, args ...any) error { return fault.New(fault.Invalid, format, args...) }

// member binds one field. sent reports whether the Input gets a value: that of the body, nil for a null in a Nullable
// field, or the default.
func (b *binder) member(field Field, body map[string]any, create bool) (value any, sent bool, err error) {
	raw, present := body[field.Name]
	toOne := field.Type == Related && !field.Relation.Many
	switch {
	case raw != nil:
		value, err = b.value(field, raw, create)
		return value, true, err
	case present && field.Nullable:
		return nil, true, nil
	case present && field.Required && toOne:
		return nil, false, invalid("must not be null")
	case create && field.Required:
		return nil, false, invalid("is required")
	case field.Default != nil && (create || field.ResetOnPut):
		return field.Default, true, nil
	}
	return nil, false, nil
}

func (b *binder) value(field Field, raw any, create bool) (any, error) {
	switch field.Type {
	case Boolean:
		return bindFlag(raw)
	case Datetime:
		text, _ := raw.(string)
		t, ok := ParseTime(text)
		if !ok {
			return nil, invalid("must be a time in UTC of the form yyyy-mm-ddThh:mm:ss")
		}
		return t, nil
	case List:
		return bindTexts(raw)
	case Object:
		object, ok := raw.(map[string]any)
		if !ok {
			return nil, invalid("must be an object")
		}
		// create is true, because an object has no stored values that absent members could keep.
		return b.object(field.Fields, object, true)
	case Related:
		if field.Relation.Many {
			return b.items(field, raw, create)
		}
		return b.reference(field.Relation, raw)
	default:
		return bindText(field, raw)
	}
}

func bindText(field Field, raw any) (any, error) {
	text, ok := scalarText(raw)
	switch {
	case !ok:
		return nil, invalid("must be a string")
	case field.Required && strings.TrimSpace(text) == "":
		return nil, invalid("must not be empty")
	case field.Max > 0 && utf8.RuneCountInString(text) > field.Max:
		return nil, invalid("must be at most %d characters", field.Max)
	}
	return text, nil
}

// scalarText returns a string, or the text of a number.
func scalarText(raw any) (string, bool) {
	switch value := raw.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	}
	return "", false
}

func bindFlag(raw any) (any, error) {
	switch value := raw.(type) {
	case bool:
		return value, nil
	case json.Number:
		if value == "0" || value == "1" {
			return value == "1", nil
		}
	case string:
		if strings.EqualFold(value, "true") || strings.EqualFold(value, "false") {
			return strings.EqualFold(value, "true"), nil
		}
	}
	return nil, invalid("must be true or false")
}

func bindTexts(raw any) (any, error) {
	list, ok := raw.([]any)
	texts := make([]string, len(list))
	for i := range list {
		var scalar bool
		texts[i], scalar = scalarText(list[i])
		ok = ok && scalar
	}
	if !ok {
		return nil, invalid("must be a list of strings or numbers")
	}
	return texts, nil
}

// items binds the children in a to-many field.
func (b *binder) items(field Field, raw any, create bool) (any, error) {
	list, ok := raw.([]any)
	if !ok {
		return nil, invalid("must be a list")
	}
	if len(list) == 0 && create && field.Required {
		return nil, invalid("must have at least one item")
	}
	items := make([]Input, len(list))
	var problems []error
	for i := range list {
		var err error
		if items[i], err = b.item(field.Relation, list[i]); err != nil {
			if !fault.Is(err, fault.Invalid) {
				return nil, err
			}
			problems = append(problems, under(fmt.Sprintf("item %d", i+1), err)...)
		}
	}
	return items, errors.Join(problems...)
}

func (b *binder) item(relation *Relation, raw any) (Input, error) {
	if text, ok := raw.(string); ok && relation.Bare != "" {
		raw = map[string]any{relation.Bare: text}
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return Input{}, invalid("must be an object")
	}
	id, given, ok := parseMember(relation.To, object)
	if given && !ok {
		return Input{}, notReference(relation)
	}
	item, err := b.object(relation.Items, object, !given)
	item.id = id
	return item, err
}

func notReference(relation *Relation) error {
	return invalid("must be a resource_uri of %s", relation.To)
}

// reference resolves a to-one field: a URI, an object with a URI or an id, or an object without them (see byValue).
func (b *binder) reference(relation *Relation, raw any) (any, error) {
	switch value := raw.(type) {
	case string:
		if id, ok := parseURI(relation.To, value); ok {
			return b.resolve(relation, id)
		}
	case map[string]any:
		id, given, ok := parseMember(relation.To, value)
		if ok {
			return b.resolve(relation, id)
		}
		if !given {
			return b.byValue(relation, value)
		}
	}
	return nil, notReference(relation)
}

func (b *binder) byValue(relation *Relation, object map[string]any) (any, error) {
	if len(relation.New) > 0 {
		in, err := b.object(relation.New, object, true)
		return Ref{New: &in}, err
	}
	name := path.Base(relation.To) // "email" of "subscribers/email"
	text, ok := object[name].(string)
	if relation.Named == nil || !ok {
		return nil, notReference(relation)
	}
	id, key, found := relation.Named(text)
	if !found {
		return nil, invalid("must be the name of a %s, not '%s'", name, printable(text))
	}
	return Ref{ID: id, Key: key}, nil
}

func (b *binder) resolve(relation *Relation, id int64) (any, error) {
	uri := URI(relation.To, id)
	if ref, known := b.resolved[uri]; known {
		return ref, nil
	}
	ref := Ref{ID: id, Key: strconv.FormatInt(id, 10)}
	if relation.Resolve != nil {
		key, err := relation.Resolve(b.ctx, b.caller, id)
		if fault.Is(err, fault.NotFound) {
			return nil, invalid("must be the resource_uri of an existing object, not %s", uri)
		}
		if err != nil {
			return nil, fmt.Errorf("resolving %s: %w", uri, err)
		}
		ref.Key = key
	}
	b.resolved[uri] = ref
	return ref, nil
}

// parseURI returns the integer id in a resource_uri of the resource, with or without the last slash. The resource_uri
// may be an absolute URL of any host, because a server with proxies in front of it does not know all of its names.
func parseURI(resource, text string) (int64, bool) {
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		absolute, err := url.Parse(text)
		if err != nil || absolute.Host == "" {
			return 0, false
		}
		text = absolute.Path
	}
	path, known := ParsePath(text)
	return path.ID, known && path.Place == AtDetail && path.Resource == resource
}

// parseMember returns the id from the first of the members resource_uri, id and pk that is present and not null.
// given reports whether there is such a member. ok reports whether the member refers to a record of the resource.
func parseMember(resource string, object map[string]any) (id int64, given, ok bool) {
	for _, member := range [...]string{"resource_uri", "id", "pk"} {
		switch value := object[member].(type) {
		case nil:
			continue
		case string:
			if id, ok = parseID(value); !ok || member == "resource_uri" {
				id, ok = parseURI(resource, value)
			}
			return id, true, ok
		case json.Number:
			id, ok = parseID(value.String())
			return id, true, ok && member != "resource_uri"
		default:
			return 0, true, false
		}
	}
	return 0, false, false
}
