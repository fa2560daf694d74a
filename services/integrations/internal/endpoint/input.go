package endpoint

import (
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

const maxEmail = 254 // characters (specification, "Limits")

// ParseID reads a UUID in its one written form, upper case allowed.
func ParseID(field, text string) (string, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.UUID{}.String()) {
		return "", fault.Field(field, "must be a UUID")
	}
	return id.String(), nil
}

// ParseURLHash reads the identifier of an endpoint's URL.
func ParseURLHash(field, text string) (string, error) {
	if len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return "", fault.Field(field, "must be 64 lower-case hexadecimal digits")
	}
	return text, nil
}

// componentSet reads component ids, each once, in the order given.
func componentSet(ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, fault.Field("componentIds", "must name at least one component")
	}
	var set unique
	for _, text := range ids {
		id, err := ParseID("componentIds", text)
		if err != nil {
			return nil, err
		}
		set.add(id)
	}
	return set.list, nil
}

// kindSet reads event kinds, each once, in the order of the documentation; nil is all.
func kindSet(kinds []topic.Kind) ([]topic.Kind, error) {
	if kinds == nil {
		return nil, nil
	}
	if len(kinds) == 0 {
		return nil, fault.Field("eventKinds", "must name at least one kind")
	}
	all := topic.Kinds()
	for _, kind := range kinds {
		if !slices.Contains(all, kind) {
			return nil, fault.Field("eventKinds", "%q is not an event kind", kind)
		}
	}
	return slices.DeleteFunc(all, func(kind topic.Kind) bool { return !slices.Contains(kinds, kind) }), nil
}

// checkEmail takes a bare address, without a name or quoting.
func checkEmail(text string) error {
	const field = "managementEmail"
	if text == "" {
		return fault.Field(field, "is required")
	}
	if utf8.RuneCountInString(text) > maxEmail {
		return fault.Field(field, "must have at most %d characters", maxEmail)
	}
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || address.Name != "" || strings.ContainsAny(text, "\"<>()[],;:\\ \t\r\n") {
		return fault.Field(field, "must be an email address")
	}
	return nil
}
