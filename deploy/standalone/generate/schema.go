package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/goccy/go-yaml"
	"github.com/swaggest/jsonschema-go"
)

// schemas creates JSON schemas of Go types. jsonschema-go reads their tags: description, format, enum, default,
// required, nullable, minimum, maxLength and others.
type schemas struct {
	reflector   jsonschema.Reflector
	definitions map[string]jsonschema.Schema
	types       map[string]reflect.Type // Go types by the name of their definition
	mapped      map[reflect.Type]bool
	conflict    error
	written     object // definitions that do not come from a Go type
}

func newSchemas() *schemas {
	s := &schemas{definitions: map[string]jsonschema.Schema{}, types: map[string]reflect.Type{}, mapped: map[reflect.Type]bool{}}
	s.reflector.AddTypeMapping(web.Time{}, time.Time{})
	return s
}

// reflect returns the schema of a Go type. Structs become definitions. The schema of a request body allows no members
// that the type does not declare. The schema of a response requires every member that is never omitted.
func (s *schemas) reflect(of reflect.Type, body bool) (any, error) {
	s.mapMembers(of)
	schema, err := s.reflector.Reflect(reflect.New(of).Elem().Interface(),
		jsonschema.RootRef,
		jsonschema.DefinitionsPrefix("#/components/schemas/"),
		jsonschema.CollectDefinitions(func(name string, schema jsonschema.Schema) { s.definitions[name] = schema }),
		jsonschema.InterceptDefName(s.name),
		jsonschema.InterceptSchema(func(in jsonschema.InterceptSchemaParams) (bool, error) {
			if in.Processed && body && in.Value.Kind() == reflect.Struct && in.Value.Type() != reflect.TypeFor[time.Time]() {
				in.Schema.AdditionalProperties = (&jsonschema.SchemaOrBool{}).WithTypeBoolean(false)
			}
			return false, nil
		}),
		jsonschema.InterceptProp(func(in jsonschema.InterceptPropParams) error {
			if !in.Processed {
				return nil
			}
			if !body && !strings.Contains(in.Field.Tag.Get("json"), "omit") && !slices.Contains(in.ParentSchema.Required, in.Name) {
				in.ParentSchema.Required = append(in.ParentSchema.Required, in.Name)
			}
			withChoices(in.PropertySchema, in.Field.Type)
			nullable(withFormat(in.PropertySchema), in.Field.Type.Kind() == reflect.Pointer || in.Field.Tag.Get("nullable") == "true")
			return nil
		}))
	if err = errors.Join(err, s.conflict); err != nil {
		return nil, err
	}
	return ordered(schema)
}

// withChoices adds the allowed values to the schema of an optional member whose element type has the method Choices.
func withChoices(schema *jsonschema.Schema, of reflect.Type) {
	member, is := reflect.Zero(of).Interface().(interface{ Element() any })
	if !is {
		return
	}
	if element, is := member.Element().(interface{ Choices() []string }); is {
		for _, choice := range element.Choices() {
			schema.Enum = append(schema.Enum, choice)
		}
	}
}

// withFormat adds a pattern for a format that JSON Schema does not define.
func withFormat(schema *jsonschema.Schema) *jsonschema.Schema {
	if schema.Format != nil && *schema.Format == "sha256" {
		schema.WithPattern("^[0-9a-f]{64}$")
	}
	return schema
}

// nullable makes the schema accept null if is is true: for a pointer or a member with the tag nullable. Otherwise it makes
// the schema refuse null, because an empty list is [], not null.
func nullable(schema *jsonschema.Schema, is bool) {
	if is && schema.Ref != nil {
		definition := jsonschema.Schema{Ref: schema.Ref}
		null := (&jsonschema.Schema{}).WithType(jsonschema.Null.Type())
		schema.Ref = nil
		schema.WithAnyOf(definition.ToSchemaOrBool(), null.ToSchemaOrBool())
	}
	if is && schema.Enum != nil && !slices.Contains(schema.Enum, nil) {
		schema.Enum = append(schema.Enum, nil)
	}
	if is || schema.Type == nil || schema.Type.SliceOfSimpleTypeValues == nil {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(schema.Type.SliceOfSimpleTypeValues), func(name jsonschema.SimpleType) bool { return name == jsonschema.Null })
	schema.Type = &jsonschema.Type{SliceOfSimpleTypeValues: kept} // a copy, because the reflector uses one Type for several members
	if len(kept) == 1 {
		schema.WithType(kept[0].Type())
	}
}

func (s *schemas) content(of reflect.Type, body bool, example string) (object, error) {
	schema, err := s.reflect(of, body)
	if err != nil {
		return nil, err
	}
	media := object{{"schema", schema}}
	if example != "" {
		value, err := ordered(json.RawMessage(example))
		if err != nil {
			return nil, fmt.Errorf("example: %w", err)
		}
		media = append(media, entry{"example", value})
	}
	return object{{"application/json", media}}, nil
}

// parametersOf returns the parameters that a struct declares with the tags path, query and header.
func (s *schemas) parametersOf(of reflect.Type) ([]any, error) {
	var out []any
	for _, field := range reflect.VisibleFields(of) {
		var in, name string
		for _, in = range []string{"path", "query", "header"} {
			if name = field.Tag.Get(in); name != "" {
				break
			}
		}
		if name == "" {
			continue
		}
		kind := field.Type
		if kind.Kind() == reflect.Pointer { // the parameter may be absent, but never null
			kind = kind.Elem()
		}
		one := reflect.StructOf([]reflect.StructField{{Name: "Parameter", Type: kind, Tag: reflect.StructTag(`json:"parameter" `) + field.Tag}})
		schema, err := s.reflector.Reflect(reflect.New(one).Elem().Interface(), jsonschema.InlineRefs)
		if err != nil {
			return nil, err
		}
		described, err := ordered(withFormat(schema.Properties["parameter"].TypeObject))
		if err != nil {
			return nil, err
		}
		parameter := object{{"name", name}, {"in", in}}
		if in == "path" || field.Tag.Get("required") == "true" {
			parameter = append(parameter, entry{"required", true})
		}
		kept := yaml.MapSlice{}
		for _, item := range described.(yaml.MapSlice) {
			if item.Key == "description" {
				parameter = append(parameter, entry{"description", item.Value})
			} else {
				kept = append(kept, item)
			}
		}
		out = append(out, append(parameter, entry{"schema", kept}))
	}
	return out, nil
}

// errorSchema adds the schema of an error and returns a reference to the schema.
func (s *schemas) errorSchema() object {
	return s.define("Error", object{
		{"type", "object"}, {"required", []any{"error"}}, {"properties", object{{"error", object{{"type", "string"}}}}},
	})
}

// define adds a schema that does not come from a Go type, and returns a reference to the schema.
func (s *schemas) define(name string, schema object) object {
	s.written = s.written.set(name, schema)
	return ref("schemas", name)
}

// all returns all definitions: first those that define added, and then those of Go types in the order of their names.
func (s *schemas) all() (object, error) {
	out := slices.Clone(s.written)
	definitions, err := ordered(s.definitions)
	if err != nil {
		return nil, err
	}
	for _, definition := range definitions.(yaml.MapSlice) {
		out = append(out, entry{definition.Key.(string), definition.Value})
	}
	return out, nil
}

// mapMembers searches the type and the types of its members for types with the method Element, such as optional.Value[T]. It
// gives each of them the schema of its element type T, because a schema does not describe absence.
func (s *schemas) mapMembers(of reflect.Type) {
	if s.mapped[of] {
		return
	}
	s.mapped[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		s.mapMembers(of.Elem())
	case reflect.Struct:
		if member, is := reflect.Zero(of).Interface().(interface{ Element() any }); is {
			s.reflector.AddTypeMapping(reflect.Zero(of).Interface(), member.Element())
			s.mapMembers(reflect.TypeOf(member.Element()))
			return
		}
		for field := range of.Fields() {
			s.mapMembers(field.Type)
		}
	}
}

// atLeastOneMember makes the definition of a body refuse an object that has only the required members.
func (s *schemas) atLeastOneMember(of reflect.Type) {
	name := s.name(of, "")
	definition := s.definitions[name]
	definition.WithMinProperties(int64(len(definition.Required)) + 1)
	s.definitions[name] = definition
}

// name returns the name of a type's definition: the name of the type without the suffix View. If two types have
// the same definition name, it sets conflict.
func (s *schemas) name(of reflect.Type, _ string) string {
	name := []rune(strings.TrimSuffix(of.Name(), "View"))
	if len(name) == 0 {
		return ""
	}
	name[0] = unicode.ToUpper(name[0])
	if other, taken := s.types[string(name)]; taken && other != of {
		s.conflict = fmt.Errorf("%v and %v would both be the schema %s; rename one", of, other, string(name))
	}
	s.types[string(name)] = of
	return string(name)
}

// ordered converts value to YAML and keeps the order of its members. Marshal writes JSON on one line, which is also
// YAML.
func ordered(value any) (out any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	err = yaml.UnmarshalWithOptions(text, &out, yaml.UseOrderedMap())
	return out, err
}
