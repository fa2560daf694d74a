package audience

import (
	"regexp"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/bellbuoy/bellbuoy/libs/phone"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Limits of SMTP in octets (RFC 5321, 4.5.3.1): maxLocal for a local part, maxEmail for a path without its brackets.
const (
	maxLocal = 64
	maxEmail = 254
)

// The parts of a mail address, in letters of any script (RFC 6531).
const (
	atom  = "[\\pL\\pM\\pN!#$%&'*+/=?^_`{|}~-]+"
	label = `[\pL\pN](?:[\pL\pM\pN-]{0,61}[\pL\pM\pN])?`
	top   = `\pL[\pL\pM\pN-]{0,61}[\pL\pM\pN]`
)

// email matches a local part without quotes and a domain name of at least two labels. It refuses quoted
// local parts, comments, address literals and invisible characters. The RFCs allow some of them, and
// net/mail accepts them, but here they are mistakes.
var email = regexp.MustCompile("^" + atom + `(?:\.` + atom + ")*@(?:" + label + `\.)+` + top + "$")

// kind has the rules for the addresses of one channel.
type kind struct {
	field  string // name of the address on the App interface
	needed string // the error message for a text that is no address
	// wanted is the error message for a text that strict does not accept, on the App interface.
	wanted string
	// normal returns the form in which two addresses are compared, and false if text is no address.
	normal func(text string) (string, bool)
	// strict returns the text to store on behalf of the App interface, and false if it is not an address.
	strict func(text string) (string, bool)
	// searched returns the form of an address, or of a part of an address, in which the App interface searches.
	searched func(text string) string
	// others returns other forms of a text to search, in their order. A form is searched only if no address contains the
	// text or one of the forms before.
	others func(text string) []string
}

// Normal returns the form in which addresses of the channel are compared, and false if the text is no address. A phone
// number may be as people write it.
func Normal(channel topic.Channel, text string) (string, bool) {
	kind := kindOf(channel)
	if normal, ok := kind.normal(text); ok {
		return normal, true
	}
	return kind.strict(text)
}

// kindOf returns the rules of a channel of topic.Subscribers.
func kindOf(channel topic.Channel) kind {
	numbers := kind{
		field: "phone", needed: "must be a plus sign, the country code and the number, with 8 to 15 digits",
		wanted: phone.Wanted,
		normal: normalNumber, strict: phone.Possible, searched: searchedNumber, others: otherNumbers,
	}
	return map[topic.Channel]kind{
		topic.Email: {
			field: "email", needed: "must be an email address", wanted: "must be an email address", normal: normalEmail,
			strict: func(text string) (string, bool) {
				_, ok := normalEmail(text)
				return text, ok
			},
			searched: searchedEmail, others: func(string) []string { return nil },
		},
		topic.SMS:      numbers,
		topic.WhatsApp: numbers,
	}[channel]
}

// normalEmail returns the address in lower case, in Unicode's composed form, and with the domain in ASCII. So a domain
// in Unicode and the same domain in ASCII are equal.
func normalEmail(text string) (string, bool) {
	at := strings.IndexByte(text, '@')
	if len(text) > maxEmail || at > maxLocal || !email.MatchString(text) {
		return "", false
	}
	domain, err := idna.Lookup.ToASCII(text[at+1:])
	if err != nil {
		return "", false
	}
	return strings.ToLower(norm.NFC.String(text[:at])) + "@" + domain, true
}

// searchedEmail returns the text in Unicode's composed form and with the domain in Unicode. A text without @ may be a part
// of a domain.
func searchedEmail(text string) string {
	text = norm.NFC.String(text)
	at := strings.IndexByte(text, '@') + 1
	if domain, err := idna.Punycode.ToUnicode(strings.ToLower(text[at:])); err == nil {
		return text[:at] + domain
	}
	return text
}

// searchedNumber returns the text without the characters that people write between the digits of a number.
func searchedNumber(text string) string {
	return strings.NewReplacer(" ", "", "(", "", ")", "", ".", "", "/", "", "-", "").Replace(text)
}

// otherNumbers returns the forms in which a number, or the first part of a number, may be stored: with 00 replaced by
// the plus sign, and without the 0 before the number within the country.
func otherNumbers(text string) (forms []string) {
	international := strings.TrimSpace(text)
	if after, is := strings.CutPrefix(searchedNumber(text), "00"); is {
		international = "+" + after
	}
	if number, ok := phone.Possible(international); ok {
		forms = append(forms, number)
	}
	short := searchedNumber(strings.Replace(international, "(0)", "", 1))
	return append(forms, strings.TrimPrefix(short, "0"))
}

// normalNumber returns the E.164 form of a number that is possible in its country. It returns every other number of 8
// to 15 digits unchanged, because the legacy interface accepts such numbers.
func normalNumber(text string) (string, bool) {
	if !phone.IsNumber(text) {
		return "", false
	}
	if possible, ok := phone.Possible(text); ok {
		return possible, true
	}
	return text, true
}
