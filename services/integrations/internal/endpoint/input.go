package endpoint

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/google/uuid"
)

const maxEmail = 254 // characters (specification, "Limits")

// componentSet checks the ids. It returns them in lower case and without duplicates, in the same order.
func componentSet(ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, fault.Field("componentIds", "must name at least one component")
	}
	set := make([]string, len(ids))
	for i, text := range ids {
		id, err := uuid.Parse(text)
		if set[i] = id.String(); err != nil || len(text) != len(set[i]) {
			return nil, fault.Field("componentIds", "must be a list of UUIDs")
		}
	}
	return distinct(set), nil
}

// kindSet checks the event kinds. It returns them without duplicates, in the same order. nil means all kinds.
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
			return nil, fault.Field("eventKinds", "must be event kinds, which %q is not", kind)
		}
	}
	return distinct(kinds), nil
}

// CheckEmail returns an error unless the text is an address without a name and without quoting, whose domain has a dot.
// Mail to a domain without a dot would be delivered on the mail server itself.
func CheckEmail(text string) error {
	const field = "managementEmail"
	if text == "" {
		return fault.Field(field, "is required")
	}
	if utf8.RuneCountInString(text) > maxEmail {
		return fault.Field(field, "must be at most %d characters", maxEmail)
	}
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || address.Name != "" || strings.ContainsAny(text, "\"<>()[],;:\\") || strings.ContainsFunc(text, isInvisible) {
		return fault.Field(field, "must be an email address")
	}
	if !strings.Contains(text[strings.LastIndexByte(text, '@'):], ".") {
		return fault.Field(field, "must be an email address whose domain has a dot")
	}
	return nil
}

// isInvisible reports whether c is white space or an invisible character.
func isInvisible(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
}

func onDashboard(dashboard topic.DashboardRecord, components []string) error {
	for _, id := range components {
		if !dashboard.Has(id) {
			return fault.Field("componentIds", "must be components of the dashboard, which %s is not", id)
		}
	}
	return nil
}
