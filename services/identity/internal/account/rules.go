package account

import (
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Bounds, in characters but for maxLimit and maxKeys.
const (
	maxOrganizationName = 100
	maxUsername         = 150
	maxEmail            = 254 // RFC 5321, 4.5.3.1.3, without the angle brackets
	maxPersonName       = 100
	maxKeyName          = 80
	maxLimit            = 1_000_000
	maxKeys             = 50 // active App keys of one user
)

// Role names what a user may do (specification, "Roles seen"; API is the legacy interface's).
type Role string

const (
	Admin      Role = "admin"
	Event      Role = "event"
	Subscriber Role = "subscriber"
	API        Role = "api"
)

// roles in the order in which they are kept and shown.
func roles() []Role { return []Role{Admin, Event, Subscriber, API} }

// checkRoles returns the roles once each, in their order.
func checkRoles(sent []Role) ([]Role, error) {
	for _, role := range sent {
		if !slices.Contains(roles(), role) {
			return nil, fault.Field("roles", "may hold %s, %s, %s and %s only", Admin, Event, Subscriber, API)
		}
	}
	if len(sent) == 0 {
		return nil, fault.Field("roles", "must hold at least one role")
	}
	return slices.DeleteFunc(roles(), func(role Role) bool { return !slices.Contains(sent, role) }), nil
}

// checkLine checks one line of text by its number of characters.
func checkLine(field, text string, least, most int) error {
	if n := utf8.RuneCountInString(text); n < least || n > most {
		return fault.Field(field, "must have %d to %d characters", least, most)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fault.Field(field, "must not hold control characters")
	}
	if least > 0 && strings.TrimSpace(text) == "" {
		return fault.Field(field, "must not be blank")
	}
	return nil
}

// checkUsername keeps out what could not be sent in "Authorization: ApiKey <username>:<key>".
func checkUsername(name string) error {
	if err := checkLine("username", name, 1, maxUsername); err != nil {
		return err
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r == ':' || unicode.IsSpace(r) }) {
		return fault.Field("username", "must not hold a colon or white space")
	}
	return nil
}

func checkEmail(email string) error {
	if err := checkLine("email", email, 3, maxEmail); err != nil {
		return err
	}
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email || address.Name != "" {
		return fault.Field("email", "must be a valid email address")
	}
	return nil
}
