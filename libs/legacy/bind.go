package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/passport"
)

// binder turns a body into an Input. What is wrong with the body is collected, to be
// answered all at once; a failure of ours while resolving a reference ends it.
type binder struct {
	ctx      context.Context
	caller   passport.Passport
	resolved map[string]Ref // by resource_uri: bodies name the same record many times
}

func bind(ctx context.Context, caller passport.Passport, fields []Field, body map[string]any, create bool) (Input, error) {
	b := &binder{ctx: ctx, caller: caller, resolved: map[string]Ref{}}
	return b.object(fields, body, create)
}

// object binds the members of body that fields declare. create demands the required
// ones and fills in defaults.
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

// under says that problems were found in the field name; problems of a field inside it
// keep their name in the text.
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

// member binds one field, sent or not.
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
		return nil, false, invalid("This field cannot be null.")
	case create && field.Required:
		return nil, false, invalid("This field is required.")
	case field.Default != nil && (create || field.ResetOnPut):
		return field.Default, true, nil
	}
	return nil, false, nil
}

func (b *binder) value(field Field, raw any, create bool) (any, error) {
	switch field.Type {
	case Boolean:
		return bindFlag(raw)
	case Integer:
		return bindNumber(raw)
	case Datetime:
		return bindTime(raw)
	case List:
		return bindTexts(raw)
	case Object:
		return b.dict(field, raw)
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
	if !ok {
		return nil, invalid("A text is needed.")
	}
	if field.Required && strings.TrimSpace(text) == "" {
		return nil, invalid("This field may not be blank.")
	}
	if field.Max > 0 && utf8.RuneCountInString(text) > field.Max {
		return nil, invalid("Ensure this value has at most %d characters (it has %d).", field.Max, utf8.RuneCountInString(text))
	}
	return text, nil
}

// scalarText is a text, or a number as it was written.
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
	return nil, invalid("A boolean is needed.")
}

func bindNumber(raw any) (any, error) {
	text, ok := scalarText(raw)
	number, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return nil, invalid("A whole number is needed.")
	}
	return number, nil
}

func bindTime(raw any) (any, error) {
	text, ok := raw.(string)
	t, valid := ParseTime(text)
	if !ok || !valid {
		return nil, invalid("A time in UTC of the form yyyy-mm-ddThh:mm:ss is needed.")
	}
	return t, nil
}

func bindTexts(raw any) (any, error) {
	list, ok := raw.([]any)
	if !ok {
		return nil, invalid("A list is needed.")
	}
	texts := make([]string, 0, len(list))
	for _, one := range list {
		text, ok := scalarText(one)
		if !ok {
			return nil, invalid("A list of texts or numbers is needed.")
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// dict binds an Object: there is no stored one to keep values of, so it is always
// bound as in a create.
func (b *binder) dict(field Field, raw any) (any, error) {
	object, ok := raw.(map[string]any)
	if !ok {
		return nil, invalid("An object is needed.")
	}
	return b.object(field.Fields, object, true)
}

// items binds the children in a to-many field.
func (b *binder) items(field Field, raw any, create bool) (any, error) {
	list, ok := raw.([]any)
	if !ok {
		return nil, invalid("A list is needed.")
	}
	if len(list) == 0 && create && field.Required {
		return nil, invalid("At least one is needed.")
	}
	items := make([]Input, 0, len(list))
	var problems []error
	for i, one := range list {
		item, err := b.item(field.Relation, one)
		if err != nil && !fault.Is(err, fault.Invalid) {
			return nil, err
		}
		if err != nil {
			problems = append(problems, under(fmt.Sprintf("item %d", i+1), err)...)
		}
		items = append(items, item)
	}
	return items, errors.Join(problems...)
}

func (b *binder) item(relation *Relation, raw any) (Input, error) {
	if text, ok := raw.(string); ok && relation.Bare != "" {
		raw = map[string]any{relation.Bare: text}
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return Input{}, invalid("An object is needed.")
	}
	id, given, ok := parseMember(relation.To, object)
	if given && !ok {
		return Input{}, invalid("This does not refer to a %s.", relation.To)
	}
	item, err := b.object(relation.Items, object, !given)
	item.id = id
	return item, err
}

// reference resolves a to-one field: a URI, an object with one, or a value.
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
	return nil, invalid("The resource_uri of a %s is needed.", relation.To)
}

func (b *binder) byValue(relation *Relation, object map[string]any) (any, error) {
	if len(relation.New) > 0 {
		in, err := b.object(relation.New, object, true)
		return Ref{New: &in}, err
	}
	name := lastPart(relation.To)
	text, ok := object[name].(string)
	if relation.Named == nil || !ok {
		return nil, invalid("The resource_uri of a %s is needed.", relation.To)
	}
	id, key, found := relation.Named(text)
	if !found {
		return nil, invalid("There is no %s '%s'.", name, printable(text))
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
			return nil, invalid("There is no %s.", uri)
		}
		if err != nil {
			return nil, fmt.Errorf("resolving %s: %w", uri, err)
		}
		ref.Key = key
	}
	b.resolved[uri] = ref
	return ref, nil
}
