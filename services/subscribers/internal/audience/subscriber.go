package audience

import (
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Subscriber is the subscription of one address to one dashboard.
type Subscriber struct {
	ID             string           `json:"id"` // SubscriberID
	OrganizationID string           `json:"organizationId"`
	Channel        topic.Channel    `json:"channel"` // a channel of topic.Subscribers
	DashboardID    string           `json:"dashboardId"`
	AddressID      string           `json:"addressId"`
	Address        AddressCopy      `json:"address"`
	Entries        []Entry          `json:"entries"` // none: the subscriber does not exist
	Paused         bool             `json:"paused"`
	Locked         bool             `json:"locked"`           // its owner cannot subscribe again or manage it
	Locale         string           `json:"locale,omitempty"` // BCP 47; empty: the dashboard's
	Source         SubscriberSource `json:"source"`
	Request        *Request         `json:"request,omitempty"` // nil: nothing waits for a confirmation
	ImportID       string           `json:"importId,omitempty"`
	MadeAddress    bool             `json:"madeAddress,omitempty"` // a visitor made the subscriber, and its address did not exist before
	CreatedAt      time.Time        `json:"createdAt"`
	UpdatedAt      time.Time        `json:"updatedAt"`
}

// AddressCopy is what a subscriber repeats of its Address, so that a page of recipients is one query.
type AddressCopy struct {
	Text        string       `json:"text"`
	Normal      string       `json:"normal"`
	Suppression *Suppression `json:"suppression,omitempty"`
	Edition     int64        `json:"edition,omitempty"`
	Removed     bool         `json:"removed,omitempty"`
}

// Entry is one component of a subscriber, or all components of its dashboard, also future ones. The legacy interface
// calls an entry with a component a subscription.
type Entry struct {
	ID          string     `json:"id"` // key of its Subscription
	LegacyID    int64      `json:"legacyId" audit:"legacyId"`
	ComponentID string     `json:"componentId" audit:"componentId"` // empty: all components
	Confirmed   bool       `json:"confirmed" audit:"confirmed"`     // no message is sent for an unconfirmed entry
	ConfirmedAt *time.Time `json:"confirmedAt,omitempty" audit:"confirmedAt"`
	CreatedAt   time.Time  `json:"createdAt" audit:"createdAt"`
	Move        *Move      `json:"move,omitempty"` // set: no write changes the entry until the entry has moved
	// Anywhere: made on the legacy interface, which has no dashboards, so the dashboard need not have the component.
	Anywhere bool `json:"anywhere,omitempty"`
	// Deleted: the component was deleted, and the subscriber had no other. The entry keeps the subscriber and its
	// confirmation. No list shows it, and no message is sent for it.
	Deleted bool `json:"deleted,omitempty"`
}

// SubscriberSource says who created a subscriber.
type SubscriberSource string

const (
	FromApp    SubscriberSource = "app"
	FromLegacy SubscriberSource = "legacy"
	FromImport SubscriberSource = "import"
	FromPublic SubscriberSource = "public" // a visitor
)

// Request waits for the owner of the address to confirm it. A later request replaces it.
type Request struct {
	Nonce string    `json:"nonce"` // random; the link and the code that confirm are made of it
	At    time.Time `json:"at"`
	// Entries are what the confirmation adds, of a subscriber that had others before. None: it confirms all entries.
	Entries []Entry `json:"entries,omitempty"`
	Wrong   int     `json:"wrong,omitempty"` // wrong codes, and tries under way
}

// State is a value of the filter of subscribers. A subscriber is in one or more states.
type State string

const (
	Confirmed   State = "confirmed"
	Unconfirmed State = "unconfirmed"
	Paused      State = "paused"
	Suppressed  State = "suppressed"
)

// States returns all states.
func States() []State { return []State{Confirmed, Unconfirmed, Paused, Suppressed} }

// SubscriberID returns the id of the one subscriber of an address on a dashboard: a UUID v7 with the time of the address's
// id, in which a digest of both ids takes the place of random bits.
func SubscriberID(dashboard, address string) string {
	sum := sha256.Sum256([]byte("subscriber/" + dashboard + "/" + address))
	id, of := uuid.UUID(sum[:16]), uuid.MustParse(address)
	copy(id[:6], of[:6])
	id[6], id[8] = 0x70|id[6]&0x0f, 0x80|id[8]&0x3f
	return id.String()
}

func subscriberKey(s Subscriber) string { return s.ID }

// copyOf returns what a subscriber repeats of the address.
func copyOf(a Address) AddressCopy {
	return AddressCopy{Text: a.Text, Normal: a.Normal, Suppression: a.Suppression, Edition: a.Edition(), Removed: a.Removed}
}

// equal reports whether two copies are of the same state of the address.
func (c AddressCopy) equal(other AddressCopy) bool {
	one, two := c.Suppression, other.Suppression
	c.Suppression, other.Suppression = nil, nil
	if c != other || (one == nil) != (two == nil) {
		return false
	}
	return one == nil || one.Reason == two.Reason && one.At.Equal(two.At)
}

// Gone reports whether the subscriber does not exist, although its record is still stored.
func (s Subscriber) Gone() bool { return len(s.Entries) == 0 }

// All reports whether the subscriber has subscribed to all components, also future ones.
func (s Subscriber) All() bool { return len(s.Entries) == 1 && s.Entries[0].ComponentID == "" }

// Confirmed reports whether all entries are confirmed.
func (s Subscriber) Confirmed() bool {
	return !slices.ContainsFunc(s.Entries, func(e Entry) bool { return !e.Confirmed })
}

// ConfirmedAt returns the last confirmation of an entry, or nil unless all are confirmed.
func (s Subscriber) ConfirmedAt() *time.Time {
	if s.Gone() || !s.Confirmed() {
		return nil
	}
	var last time.Time
	for _, e := range s.Entries {
		if e.ConfirmedAt.After(last) {
			last = *e.ConfirmedAt
		}
	}
	return &last
}

// ComponentIDs returns the components of the entries, or nil for all components.
func (s Subscriber) ComponentIDs() []string {
	if s.All() {
		return nil
	}
	ids := make([]string, 0, len(s.Entries))
	for _, e := range s.Entries {
		if !e.Deleted {
			ids = append(ids, e.ComponentID)
		}
	}
	return ids
}

// Searched returns the address in the form that Filter.Text searches.
func (s Subscriber) Searched() string { return kindOf(s.Channel).searched(s.Address.Text) }

// States returns the states of the subscriber.
func (s Subscriber) States() []State {
	if s.Gone() {
		return nil
	}
	states := []State{Unconfirmed}
	if s.Confirmed() {
		states[0] = Confirmed
	}
	if s.Paused {
		states = append(states, Paused)
	}
	if s.Address.Suppression != nil {
		states = append(states, Suppressed)
	}
	return states
}

// Everything is a value of FieldConcerned of each subscriber of all components.
const Everything = "*"

// allOf is the value of FieldSubscribed for all components of a dashboard.
func allOf(dashboard string) string { return "*" + dashboard }

// Subscribed returns the values of FieldSubscribed.
func (s Subscriber) Subscribed() []string {
	if s.All() {
		return []string{allOf(s.DashboardID)}
	}
	return s.ComponentIDs()
}

// Concerned returns the values of FieldConcerned: nil if no change concerns the subscriber.
func (s Subscriber) Concerned() []string {
	if s.Paused || s.Address.Removed {
		return nil
	}
	if s.All() && s.Entries[0].Confirmed {
		return []string{Everything, allOf(s.DashboardID)}
	}
	var ids []string
	for _, e := range s.Entries {
		if e.Confirmed && !e.Deleted {
			ids = append(ids, e.ComponentID)
		}
	}
	return ids
}

// Edition returns a number that is in the links to the subscriber. It differs after the subscriber was deleted and
// created again, and after its address became another one.
func (s Subscriber) Edition() int64 { return max(s.CreatedAt.UnixMilli(), s.Address.Edition) }

// entry returns the position of the entry with the component, or -1.
func (s Subscriber) entry(component string) int {
	return slices.IndexFunc(s.Entries, func(e Entry) bool { return e.ComponentID == component })
}

// entryWithID returns the position of the entry with the id, or -1.
func (s Subscriber) entryWithID(id string) int {
	return slices.IndexFunc(s.Entries, func(e Entry) bool { return e.ID == id })
}

// drop removes the entries that match and reports whether there were any.
func (s *Subscriber) drop(matches func(Entry) bool) bool {
	before := len(s.Entries)
	s.Entries = slices.DeleteFunc(slices.Clone(s.Entries), matches)
	return len(s.Entries) < before
}

// confirm sets the confirmation of an entry.
func (e *Entry) confirm(confirmed bool, now time.Time) {
	if e.Confirmed == confirmed {
		return
	}
	e.Confirmed, e.ConfirmedAt = confirmed, nil
	if confirmed {
		e.ConfirmedAt = &now
	}
}

// confirm sets the confirmation of all entries.
func (s *Subscriber) confirm(confirmed bool, now time.Time) {
	s.Entries = slices.Clone(s.Entries)
	for i := range s.Entries {
		s.Entries[i].confirm(confirmed, now)
	}
}

// fulfil confirms the Request of the subscriber. Other entries stay as they are. An unconfirmed entry for all components
// goes, because its owner has chosen some.
func (s *Subscriber) fulfil(now time.Time) {
	wanted := s.Request.Entries
	s.Request, s.UpdatedAt = nil, now
	if len(wanted) == 0 {
		s.confirm(true, now)
		return
	}
	if s.All() && s.Entries[0].Confirmed {
		return // it has each of them
	}
	s.drop(func(e Entry) bool { return e.Deleted || e.ComponentID == "" })
	for _, e := range wanted {
		e.confirm(true, now)
		switch at := s.entry(e.ComponentID); {
		case e.ComponentID == "":
			s.Entries = []Entry{e}
			return
		case at >= 0:
			s.Entries[at].confirm(true, now)
		default:
			s.Entries = append(s.Entries, e)
		}
	}
}

// moving returns an error while one of the entries is about to move.
func (s Subscriber) moving() error {
	if slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Move != nil }) {
		return errMoving
	}
	return nil
}

func noSubscriber() error { return fault.New(fault.NotFound, "There is no such subscriber.") }

// ask adds a Request for the entries to the subscriber, or for all its entries if there are none. It returns the message that
// asks the owner of the address to confirm the Request. It returns no message if the address is suppressed, or if the
// subscriber is locked, because its owner cannot confirm it.
func (s *Subscriber) ask(entries []Entry, now time.Time) []topic.Message {
	s.Request = &Request{Nonce: rand.Text(), At: now, Entries: entries}
	if s.Address.Suppression != nil || s.Locked {
		return nil
	}
	return []topic.Message{s.notice(topic.SubscriberConfirm, now)}
}

func (s *Subscriber) notice(kind topic.Kind, now time.Time) topic.Notice {
	return topic.Notice{
		ID: topic.NewID(), Kind: kind, Organization: s.OrganizationID, OccurredAt: now,
		Channel: s.Channel, Service: topic.Subscribers, Recipient: s.ID, Destination: digest(s.Channel, s.AddressID),
	}
}
