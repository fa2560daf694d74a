package api

import (
	"fmt"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// codeNotConfigured is the code of a message that was written to a file, because the operator has not set the channel up.
const codeNotConfigured = "not_configured"

// whyText returns the sentence for the code of a result.
func whyText(r *dispatch.WhyResult, on topic.Channel) string {
	subject, missing := "The subscription", "There is no subscriber with this address now"
	if on.RecipientService() == topic.Integrations {
		subject, missing = "The endpoint", "There is no endpoint with this URL now"
	}
	if r.Code == string(topic.RuleNotSubscribed) {
		return missing + ". No record says whether there was one when the message was sent."
	}
	failed := r.Status == dispatch.WhyStatus(deliverylog.StatusFailed) || r.Status == dispatch.WhyStatus(deliverylog.StatusRetrying)
	if text, known := whyTexts()[r.Code]; known && !failed {
		if r.Status == dispatch.WhyStatus(deliverylog.StatusSkipped) && r.Code == string(deliverylog.CodePaused) {
			return subject + " was paused when the message was to be sent."
		}
		if text[0] == ' ' {
			return subject + text
		}
		return text
	}
	attempts := 0
	if r.Delivery != nil {
		attempts = len(r.Delivery.Attempts)
	}
	switch {
	case r.Status == dispatch.WhyWaiting && r.Code == string(deliverylog.CodeUnavailable):
		return "The message waits for a process that has this channel."
	case attempts == 0: // it was never sent
	case r.Status == dispatch.WhyStatus(deliverylog.StatusRetrying):
		return fmt.Sprintf("Attempt %d failed: %s. Another attempt follows.", attempts, attemptText(r.Code))
	case r.Status == dispatch.WhyStatus(deliverylog.StatusFailed):
		return fmt.Sprintf("The last of %d attempts failed: %s.", attempts, attemptText(r.Code))
	}
	return "The message was not sent: " + attemptText(r.Code) + "."
}

// whyTexts returns the sentences of codes. A sentence that begins with a space needs its subject.
func whyTexts() map[string]string {
	return map[string]string{
		"delivered":          "The message was delivered.",
		codeNotConfigured:    "The message was written to a file, because the operator has not set this channel up.",
		"held":               "The message waits: the receiver is slow or asked for a pause.",
		"planning":           "The recipients of this message are not found yet.",
		"queued":             "The message waits for its first attempt.",
		"paused":             " is paused.",
		"suppressed":         "Messages to this recipient are suppressed, so this one was not sent.",
		"recipient_gone":     " was deleted or ended before the message was sent.",
		"not_concerned":      " or its dashboard had no component that the message was to name, or did not show the event any more.",
		"replaced":           "A newer message about the event replaced this one before it was sent.",
		"event_withdrawn":    "The event was deleted, became a draft, could name no component or left its dashboards before the message was sent.",
		"expired":            "The message is older than 30 days and no longer stored.",
		"other_dashboard":    " is for a dashboard that shows neither the event nor one of its components.",
		"unconfirmed":        " is not confirmed.",
		"unverified":         " is not verified.",
		"not_chosen":         " includes none of the components of the event.",
		"kind_not_chosen":    " did not choose messages of this kind.",
		"endpoint_not_named": "The message was only for other endpoints, which the request named.",
		"subscribed_later":   " was created after this message.",
		"chosen_later":       "The components of the event were chosen after this message. No record says what was chosen before.",
		"confirmed_later":    " was confirmed after this message.",
		"changed_since":      " would get this message today. When the message was sent, it was set otherwise, and no record says how.",
		"channel_off":        "Messages on this channel were switched off for this change.",
		"notify_off":         "Messages were switched off for this change.",
		"draft":              "The event was a draft.",
		"backdated":          "Nobody was notified, because the change is about a time more than one hour before.",
		"legacy":             "Nobody was notified, because the change came by the legacy interface without notifications.",
		"late_reminder":      "The reminder came after the planned start.",
		"components_hidden":  "All components of the event were hidden from notifications, or its dashboards were deleted.",
	}
}

// attemptText returns words for the error code of an attempt.
func attemptText(code string) string {
	words := map[deliverylog.Code]string{
		deliverylog.CodeTimeout: "the receiver did not respond in time", deliverylog.CodeDNS: "the name of the host is unknown",
		deliverylog.CodeConnect: "the connection failed", deliverylog.CodeTLS: "the certificate or the encryption is not valid",
		deliverylog.CodeBlocked: "the address is not allowed", deliverylog.CodeRedirect: "the receiver redirects",
		deliverylog.CodeClientError: "the receiver refused the message", deliverylog.CodeServerError: "the receiver had an error",
		deliverylog.CodeRateLimited: "the receiver asked for fewer messages", deliverylog.CodeGone: "the receiver is gone",
		deliverylog.CodeOptedOut: "the recipient asked the provider to send nothing more", deliverylog.CodeBounce: "the mail server refuses messages to the address",
		deliverylog.CodeUnavailable: "the service for messages does not have this channel",
		deliverylog.CodeAmbiguous:   "the message may have been sent, and is not sent twice",
	}
	if text, known := words[deliverylog.Code(code)]; known {
		return text
	}
	return code
}
