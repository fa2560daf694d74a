package channel

import (
	"context"
	"errors"
	"net/textproto"
	"strings"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Codes of mail servers, besides deliverylog.CodeGone and deliverylog.CodeBounce, which suppress the address.
const (
	codeMailLater   = deliverylog.Code("smtp_4xx")
	codeMailRefused = deliverylog.Code("smtp_5xx") // the mail, and not the address
	// codeNoSession means that the server refused the connection, the credentials or the sender. The cause is
	// the server or the settings, so the mail waits for its next attempt.
	codeNoSession = deliverylog.Code("smtp_session")
)

// refusedRecipient is the error of a server's reply to the recipient.
type refusedRecipient struct{ error }

// Unwrap returns the reply.
func (r refusedRecipient) Unwrap() error { return r.error }

// replyCode returns the code of a server's reply to a mail (RFC 5321, 4.2.1), and "" for success. A final refusal of the
// address suppresses it. A refusal of the account, the sender or the mail does not.
func replyCode(ctx context.Context, err error) deliverylog.Code {
	var reply *textproto.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &reply):
		return codeOf(ctx, err)
	case reply.Code < 500:
		return codeMailLater
	case refusesAccount(reply.Code):
		return codeNoSession
	}
	if code, known := statusCode(reply.Msg); known {
		return code
	}
	var recipient refusedRecipient
	if errors.As(err, &recipient) && refusesMailbox(reply.Code) {
		return deliverylog.CodeBounce
	}
	return codeMailRefused
}

// refusesAccount reports whether a reply is about the login (RFC 4954, 6).
func refusesAccount(code int) bool { return code == 530 || code == 534 || code == 535 || code == 538 }

// refusesMailbox reports whether a reply without an enhanced status, to the recipient, is about the mailbox: it is
// unavailable, elsewhere, or has a name that is not allowed (RFC 5321, 4.2.3).
func refusesMailbox(code int) bool { return code == 550 || code == 551 || code == 553 }

// statusCode returns the code of an enhanced status (RFC 3463), and false without one and for "undefined".
func statusCode(text string) (deliverylog.Code, bool) {
	status, _, _ := strings.Cut(text, " ")
	class, rest, found := strings.Cut(status, ".")
	subject, detail, both := strings.Cut(rest, ".")
	if !found || !both || class != "5" || subject == "0" {
		return "", false
	}
	switch {
	case subject == "1" && (detail == "7" || detail == "8"): // 3.2: the sender's address
		return codeNoSession, true
	case subject == "1": // 3.2: the recipient's address
		return deliverylog.CodeGone, true
	case subject == "2" && detail != "2" && detail != "3": // 3.3: the mailbox, unless it is full or the mail too long
		return deliverylog.CodeBounce, true
	}
	return codeMailRefused, true // 3.4 to 3.8: systems, routes, protocol, content, and policy
}
