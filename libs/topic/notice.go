package topic

import "time"

// Notice asks delivery to send one message to one recipient without a change of an event: the test of an endpoint, a
// message about a subscription, a mail about an endpoint or a signing key, or a message to a member. It contains no
// address and no link. Delivery asks Service for the address and the link right before it sends.
type Notice struct {
	ID           string           `json:"id"` // UUID v7, the same for every publication
	Kind         Kind             `json:"kind"`
	Organization string           `json:"organization"`
	OccurredAt   time.Time        `json:"occurredAt"`
	Channel      Channel          `json:"channel"`
	Service      RecipientService `json:"keeper"`    // the service that resolves Recipient
	Recipient    string           `json:"recipient"` // id of an endpoint, a subscriber or a signing key, or the id that identity returns for a member
	// Destination is a digest of the URL or address (see Recipient.Destination).
	Destination string          `json:"destination"`
	Event       *Event          `json:"event,omitempty"`    // example of an event, for EndpointTest
	Endpoint    *EndpointReport `json:"endpoint,omitempty"` // report for mail about an endpoint
	Member      *MemberReport   `json:"member,omitempty"`   // report for mail to a member
	Inbound     *InboundReport  `json:"inbound,omitempty"`  // report for mail about a signing key
}

// MemberReport has the data for a mail to a member.
type MemberReport struct {
	Name  string     `json:"name,omitempty"`  // name of the key, the passkey or the provider of single sign-on
	Until *time.Time `json:"until,omitempty"` // when the link in the mail expires
}

// EndpointReport is the state of an endpoint that a mail describes.
type EndpointReport struct {
	Channel    Channel    `json:"channel"`
	URLDisplay string     `json:"urlDisplay"`
	Failures   int        `json:"failures"`             // number of consecutive failures
	Since      *time.Time `json:"since,omitempty"`      // time of the first of these failures
	HTTPStatus int        `json:"httpStatus,omitempty"` // status of the last failure
	ErrorCode  string     `json:"errorCode,omitempty"`  // code of the last failure
}

// InboundReport is the state of a signing key that a mail describes.
type InboundReport struct {
	KeyName string    `json:"keyName"`
	Since   time.Time `json:"since"` // time of the last request
}

// Topic implements topic.Message.
func (Notice) Topic() string { return Notices }

// Key returns the recipient, so that the notices to one recipient are consumed in order.
func (n Notice) Key() string { return n.Recipient }
