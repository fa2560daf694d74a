package channel

import (
	"cmp"
	"errors"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/locale"
)

// errMember is the error if a mail to a member has no known kind, or lacks a link that it needs or the end of this link.
var errMember = errors.New("a mail to a member needs a known kind, and its link if it is about the link")

// memberWords are the texts of one kind of mail to a member. {user} is the user name, {organization} the name of the
// organization, {name} the name in the report, {time} the time of the change and {until} the end of the link.
type memberWords struct {
	title, lead string
	link        string // title of the link; empty: the mail has no link
	next        []string
}

const (
	memberHelp = "If this was not you, choose a new password at once, and ask an admin of {organization} for help."
	memberOnce = "The link works once, until {until}. Whoever has the link can sign in as you, so do not forward it."
)

// memberWordsOf returns the texts for a kind, and false if there is no mail of that kind to a member.
func memberWordsOf(kind topic.Kind) (memberWords, bool) {
	changed := func(title, lead string) (memberWords, bool) {
		return memberWords{title: title, lead: lead, next: []string{memberHelp}}, true
	}
	switch kind {
	case topic.MemberInvitation:
		return memberWords{
			"Your invitation", "You are invited to {organization}. Choose a password. Then you can sign in with the user name {user}.", "Accept the invitation",
			[]string{memberOnce, "If you did not expect this invitation, ignore this email."},
		}, true
	case topic.MemberForgotten:
		return memberWords{
			"Choose a new password", "Somebody asked for a new password for the user name {user}.", "Choose a new password",
			[]string{memberOnce, "If this was not you, ignore this email. Your password stays as it is."},
		}, true
	case topic.MemberPassword:
		return changed("Your password was changed", "The password of {user} was changed on {time}. All other sessions have ended.")
	case topic.MemberAddress:
		return changed("Your email address was changed", "The email address of {user} was changed on {time}. Later emails go to the new address only.")
	case topic.MemberKey:
		return changed("A new API key was created", "{user} got the API key {name} on {time}.")
	case topic.MemberTOTPAdded:
		return changed("An authenticator app was added", "Since {time}, {user} signs in with the password and a code of an authenticator app.")
	case topic.MemberTOTPRemoved:
		return changed("The authenticator app was removed", "Since {time}, {user} signs in without a code of an authenticator app.")
	case topic.MemberRecoveryCodes:
		return changed("There are new recovery codes", "{user} got new recovery codes on {time}. The former recovery codes no longer work.")
	case topic.MemberPasskeyAdded:
		return changed("A passkey was added", "{user} can sign in with the passkey {name} since {time}.")
	case topic.MemberPasskeyRemoved:
		return changed("A passkey was removed", "{user} can no longer sign in with the passkey {name} since {time}.")
	case topic.MemberReset:
		return changed("Your second factors were removed", "An admin removed the authenticator app, the recovery codes and the passkeys of {user} on {time}.")
	case topic.MemberTest:
		return memberWords{
			title: "Your mail works", lead: "{user} asked for this test message on {time}. Mail from {organization} arrives at this address.",
			next: []string{"Nothing else happens. If you did not ask for it, ask an admin of {organization}."},
		}, true
	case topic.MemberSignOn:
		return changed("You can sign in with {name}", "Since {time}, {user} can sign in with {name}.")
	}
	return memberWords{}, false
}

// memberOf returns the data for the templates of a mail to a member.
func memberOf(l *locale.Locale, message dispatch.Message) (locale.Member, error) {
	notice, to := message.Change.Notice, message.To
	words, known := memberWordsOf(message.Change.Kind)
	if !known || words.link != "" && (to.Link == "" || notice.Member.Until == nil) {
		return locale.Member{}, errMember
	}
	organization, zone := locale.OneLine(to.Dashboard.Name), to.Dashboard.Timezone
	fill := strings.NewReplacer(
		"{user}", locale.OneLine(strings.Join(to.Names, " ")), "{organization}", organization, "{name}", cmp.Or(locale.OneLine(notice.Member.Name), "without a name"),
		"{time}", l.Time(&message.Change.OccurredAt, zone), "{until}", l.Time(notice.Member.Until, zone),
	).Replace
	page := locale.Member{Kind: string(message.Change.Kind), Organization: organization, Title: fill(words.title), Lead: fill(words.lead)}
	if words.link != "" {
		page.Link, page.LinkTitle = to.Link, fill(words.link)
	}
	for _, text := range words.next {
		page.Next = append(page.Next, fill(text))
	}
	return page, nil
}

// The words of a test message to a phone.
const (
	testStatus = "Test message"
	testTitle  = "Messages arrive at this number."
)

// testText returns the text of a test message to a phone, in one segment. It shortens or omits the name of the
// organization.
func testText(message dispatch.Message) string {
	text, ok := fitted(plain(locale.OneLine(message.To.Dashboard.Name)), leastName, 1, func(name string) string {
		return plain(name + ": " + testStatus + ". " + testTitle)
	})
	if !ok {
		return plain(testStatus + ". " + testTitle)
	}
	return text
}
