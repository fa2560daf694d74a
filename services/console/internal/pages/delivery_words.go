package pages

import "strings"

// kindOfMessage returns the kind of a message in words: "Incident created", or "Account mail: password" for a mail to a
// member.
func kindOfMessage(kind string) string {
	if about, is := strings.CutPrefix(kind, "member."); is {
		return "Account mail: " + strings.ReplaceAll(about, "_", " ")
	}
	return words(strings.NewReplacer(".", " ", "_", " ").Replace(kind))
}

// reasonOf returns why an attempt or a delivery did not succeed. It returns an unknown code unchanged.
func reasonOf(code string) string {
	if known := map[string]string{
		"":        "",
		"timeout": "The receiver did not respond in time.", "dns": "The host has no address.", "connect": "No connection could be made.",
		"tls": "The certificate of the receiver was refused.", "blocked_address": "The host has an address to which nothing is sent, such as a private one.",
		"http_3xx": "The receiver redirects. Redirects are not followed.", "http_4xx": "The receiver refuses the request.", "http_5xx": "The receiver has an error.",
		"rate_limited": "The receiver gets too many messages.", "gone": "The receiver says that the address no longer exists. It is suppressed.",
		"bounce": "The mail server of the recipient refuses all mail to the address.", "opted_out": "The recipient has asked the provider to send nothing more.",
		"ambiguous": "The message may have been sent. It is not repeated, because that costs money.",
		"smtp_4xx":  "The mail server could not take the mail for now.", "smtp_5xx": "The mail server refuses the mail.", "smtp_session": "The mail server refuses the account or the sender.",
		"channel_unavailable": "This version of Bellbuoy has no such channel.", "no_integration": "Nobody stores recipients of this channel.",
		"unwritten": "The message could not be written to a file.", "unsendable": "The message could not be made.",
		"paused": "The recipient is paused.", "suppressed": "The recipient is suppressed, after failures or because the address is gone.",
		"recipient_gone": "The recipient was deleted, or has not confirmed.", "not_concerned": "The recipient has chosen none of the components.",
		"replaced": "A newer message about the same event replaced it.", "event_withdrawn": "The event was deleted or became a draft while the message waited.",
		"expired": "The message was too old.", "held": "It waits, because the receiver is slow or asked for a pause.",
	}[code]; known != "" {
		return known
	}
	return code
}
