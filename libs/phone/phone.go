// Package phone checks phone numbers. The numbers of subscribers and those of test messages have the same rules.
package phone

import (
	"regexp"

	"github.com/nyaruka/phonenumbers"
)

// Wanted is the error message for a text that Possible does not accept.
const Wanted = "must be a possible phone number: a plus sign, the country code and the number"

// number matches a plus sign and 8 to 15 digits. E.164 allows at most 15. A few numbers in use have 7 digits, such as those of
// Niue, and are refused.
var number = regexp.MustCompile(`^\+[0-9]{8,15}$`)

// written matches a number as people write it, with blanks, parentheses, dots, slashes and hyphens.
var written = regexp.MustCompile(`^\+[0-9][0-9 ()./-]{6,38}$`)

// IsNumber reports whether the text is a plus sign and 8 to 15 digits.
func IsNumber(text string) bool { return number.MatchString(text) }

// Possible returns the E.164 form of a number. It returns false if the text is no phone number, if IsNumber
// refuses it, or if the country does not have numbers of this length.
func Possible(text string) (string, bool) {
	if !written.MatchString(text) {
		return "", false
	}
	parsed, err := phonenumbers.Parse(text, phonenumbers.UNKNOWN_REGION)
	if err != nil || phonenumbers.IsPossibleNumberWithReason(parsed) != phonenumbers.IS_POSSIBLE {
		return "", false
	}
	normal := phonenumbers.Format(parsed, phonenumbers.E164)
	return normal, IsNumber(normal)
}
