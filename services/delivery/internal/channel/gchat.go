package channel

import (
	"net/url"
	"strings"
	"time"
)

// gchatGap is the minimum time between two messages to a space. A space accepts 60 messages a minute from all senders
// together. The 20 ms above one second allow for different transmission times.
const gchatGap = 1020 * time.Millisecond

// chatURL returns an endpoint's URL with messageReplyOption and requestId. messageReplyOption makes the message a reply in
// the thread that the body names, or starts this thread. Google posts only one message for each requestId, and all retries of
// a delivery use the same requestId. chatURL removes the parameters for which ownParameter returns true from the URL, and
// does not change any other parameter.
func chatURL(address, delivery string) string {
	if address == "" {
		return ""
	}
	path, query, _ := strings.Cut(address, "?")
	var parameters []string
	for parameter := range strings.SplitSeq(query, "&") {
		if parameter != "" && !ownParameter(parameter) {
			parameters = append(parameters, parameter)
		}
	}
	parameters = append(parameters, "messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD", "requestId="+url.QueryEscape(delivery))
	return path + "?" + strings.Join(parameters, "&")
}

// ownParameter reports whether the parameter sets the thread, the reply option or the request id, which only Bellbuoy may
// set. Google also accepts names such as request_id.
func ownParameter(parameter string) bool {
	name, _, _ := strings.Cut(parameter, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "threadkey", "messagereplyoption", "requestid":
		return true
	}
	return false
}
