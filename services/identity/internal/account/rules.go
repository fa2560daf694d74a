package account

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Maximum lengths in characters. maxLimit and maxKeys are other limits.
const (
	maxOrganizationName = 100
	maxUsername         = 150
	maxEmail            = 254 // RFC 5321, 4.5.3.1.3, without the angle brackets
	maxPersonName       = 100
	maxKeyName          = 80
	maxLimit            = 1_000_000
	maxKeys             = 50 // active App keys of one user
)

// Role is a role of a user (specification, "Roles seen"). The role API is for the legacy interface.
type Role string

const (
	Admin      Role = "admin"
	Event      Role = "event"
	Subscriber Role = "subscriber"
	API        Role = "api"
)

// roles returns all roles in the order in which they are stored and shown.
func roles() []Role { return []Role{Admin, Event, Subscriber, API} }

// Enum returns the values of a role, for the OpenAPI documents.
func (Role) Enum() []any { return []any{Admin, Event, Subscriber, API} }

// checkRoles returns the sent roles without duplicates, in the order of the function roles. It returns an error for an
// unknown role and for an empty list.
func checkRoles(sent []Role) ([]Role, error) {
	for _, role := range sent {
		if !slices.Contains(roles(), role) {
			return nil, fault.Field("roles", "must be a list of %s, %s, %s and %s", Admin, Event, Subscriber, API)
		}
	}
	if len(sent) == 0 {
		return nil, fault.Field("roles", "must name at least one role")
	}
	return slices.DeleteFunc(roles(), func(role Role) bool { return !slices.Contains(sent, role) }), nil
}

// checkLine returns an error if the text has a control character, has more characters than the parameter most, or is
// required and blank.
func checkLine(field, text string, required bool, most int) error {
	switch {
	case utf8.RuneCountInString(text) > most:
		return fault.Field(field, "must be at most %d characters", most)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fault.Field(field, "must not contain control characters")
	case required && strings.TrimSpace(text) == "":
		return fault.Field(field, "must not be blank")
	}
	return nil
}

// checkUsername returns an error if the name is blank or too long, or has a colon, white space or invisible characters.
// Clients send "<username>:<key>" in a header.
func checkUsername(name string) error {
	if err := checkLine(FieldUsername, name, true, maxUsername); err != nil {
		return err
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r == ':' || unicode.IsSpace(r) }) {
		return fault.Field(FieldUsername, "must not contain a colon or white space")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) { // with them, two different names could look the same
		return fault.Field(FieldUsername, "must not contain invisible characters")
	}
	return nil
}

func checkEmail(email string) error {
	if err := checkLine(FieldEmail, email, true, maxEmail); err != nil {
		return err
	}
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email || address.Name != "" {
		return fault.Field(FieldEmail, "must be an email address")
	}
	return nil
}

// Address returns a mail address in lower case. Users are found by an address in this form.
func Address(email string) string { return strings.ToLower(email) }
