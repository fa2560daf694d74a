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
	Entries        []Entry          `json:"entries"` // empty: the subscriber counts as deleted
	Paused         bool             `json:"paused"`
	Locked         bool             `json:"locked"`           // the owner of the address cannot subscribe again, confirm or change the subscriber, but can delete it
	Locale         string           `json:"locale,omitempty"` // BCP 47; empty: the dashboard's
	Source         SubscriberSource `json:"source"`
	Request        *Request         `json:"request,omitempty"`      // nil: no confirmation is pending
	OwnConfirmed   bool             `json:"ownConfirmed,omitempty"` // the owner of the address has confirmed a Request
	ImportID       string           `json:"importId,omitempty"`
	CreatedAt      time.Time        `json:"createdAt"`
	UpdatedAt      time.Time        `json:"updatedAt"`
}

// AddressCopy is a subscriber's copy of its Address. With it, a page of recipients needs only one query.
type AddressCopy struct {
	Text        string       `json:"text"`
	Normal      string       `json:"normal"`
	Suppression *Suppression `json:"suppression,omitempty"`
	Edition     int64        `json:"edition,omitempty"`
	Removed     bool         `json:"removed,omitempty"`
}

// Entry is one component to which a subscriber has subscribed, or all components of its dashboard, including future
// ones. On the legacy interface, an entry with a component is a subscription.
type Entry struct {
	ID          string     `json:"id"` // key of its Subscription
	LegacyID    int64      `json:"legacyId" audit:"legacyId"`
	ComponentID string     `json:"componentId" audit:"componentId"` // empty: all components
	Confirmed   bool       `json:"confirmed" audit:"confirmed"`     // no message is sent for an unconfirmed entry
	ConfirmedAt *time.Time `json:"confirmedAt,omitempty" audit:"confirmedAt"`
	CreatedAt   time.Time  `json:"createdAt" audit:"createdAt"`
	Move        *Move      `json:"move,omitempty"` // not nil: the entry must move, and no request changes it before
	// Anywhere means that the entry was created on the legacy interface. This interface has no dashboards, so the
	// component need not be on the dashboard.
	Anywhere bool `json:"anywhere,omitempty"`
	// Deleted means that the component was deleted and the subscriber had no other component. The entry remains, so
	// that the subscriber and its confirmation are not lost. No list shows the entry, and no message is sent for it.
	Deleted bool `json:"deleted,omitempty"`
}

// SubscriberSource is the interface or the import that created a subscriber.
type SubscriberSource string

const (
	FromApp    SubscriberSource = "app"
	FromLegacy SubscriberSource = "legacy"
	FromImport SubscriberSource = "import"
	FromPublic SubscriberSource = "public" // a visitor
)

// Request is a request that the owner of the address has not confirmed yet. A later request replaces it.
type Request struct {
	Nonce string    `json:"nonce"` // random; the link and the code to confirm are derived from it
	At    time.Time `json:"at"`
	// Entries are added to the subscriber by the confirmation. If Entries is empty, the confirmation confirms all
	// entries of the subscriber.
	Entries []Entry `json:"entries,omitempty"`
	Wrong   int     `json:"wrong,omitempty"` // number of wrong codes and of tries in progress
}

// State is a value of the filter of subscribers. A subscriber is in one or more states.
type State string

const (
	Confirmed   State = "confirmed"
	Unconfirmed State = "unconfirmed"
	Paused      State = "paused"
	Suppressed  State = "suppressed"
	// Unsubscribed is also Suppressed: the reason is OptedOut.
	Unsubscribed State = "unsubscribed"
)

// SubscriberID returns the id of the subscriber of an address on a dashboard. It is a UUID v7 with the time of the
// address's id. Instead of random bits it has a digest of both ids.
func SubscriberID(dashboard, address string) string {
	sum := sha256.Sum256([]byte("subscriber/" + dashboard + "/" + address))
	id, of := uuid.UUID(sum[:16]), uuid.MustParse(address)
	copy(id[:6], of[:6])
	id[6], id[8] = 0x70|id[6]&0x0f, 0x80|id[8]&0x3f
	return id.String()
}

func subscriberKey(s Subscriber) string { return s.ID }

// copyOf returns the copy of the address for its subscribers.
func copyOf(a Address) AddressCopy {
	return AddressCopy{Text: a.Text, Normal: a.Normal, Suppression: a.Suppression, Edition: a.Edition(), Removed: a.Removed}
}

// equal reports whether the two copies have the same values. It ignores Suppression.ImportID.
func (c AddressCopy) equal(other AddressCopy) bool {
	one, two := c.Suppression, other.Suppression
	c.Suppression, other.Suppression = nil, nil
	if c != other || (one == nil) != (two == nil) {
		return false
	}
	return one == nil || one.Reason == two.Reason && one.At.Equal(two.At)
}

// Gone reports whether the subscriber has no entries. It counts as deleted, although its record is still stored.
func (s Subscriber) Gone() bool { return len(s.Entries) == 0 }

// All reports whether the subscriber has subscribed to all components, including future ones.
func (s Subscriber) All() bool { return len(s.Entries) == 1 && s.Entries[0].ComponentID == "" }

// Confirmed reports whether all entries are confirmed.
func (s Subscriber) Confirmed() bool {
	return !slices.ContainsFunc(s.Entries, func(e Entry) bool { return !e.Confirmed })
}

// PartlyConfirmed reports whether some entries are confirmed, and others are not.
func (s Subscriber) PartlyConfirmed() bool {
	return !s.Confirmed() && slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Confirmed })
}

// ConfirmedAt returns the time of the last confirmation of an entry. It returns nil if not all entries are confirmed, or
// if no time is known.
func (s Subscriber) ConfirmedAt() (last *time.Time) {
	if !s.Confirmed() {
		return nil
	}
	for _, e := range s.Entries {
		if e.ConfirmedAt != nil && (last == nil || e.ConfirmedAt.After(*last)) {
			last = e.ConfirmedAt
		}
	}
	return last
}

// ComponentIDs returns the components of the entries that are not Deleted, or nil for all components.
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

// Parts returns the words for the parts of the address, as Filter.Text searches it.
func (s Subscriber) Parts() []string {
	if s.Gone() || s.Address.Removed {
		return nil
	}
	return parts(s.OrganizationID, s.Channel, s.Searched())
}

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
	if s.Address.Suppression.isOptOut() {
		states = append(states, Unsubscribed)
	}
	return states
}

// allOf is the value of FieldSubscribed and FieldConcerned for all components of a dashboard.
func allOf(dashboard string) string { return "*" + dashboard }

// shownOn is the value of FieldConcerned for a component while the dashboard shows it. For an Entry that is valid
// Anywhere, dashboard is empty.
func shownOn(component, dashboard string) string { return component + "@" + dashboard }

// anyOf is the value of FieldConcerned for a subscriber to some components of a dashboard. A subscriber to all of them has
// allOf instead.
func anyOf(dashboard string) string { return shownOn("", dashboard) }

// Subscribed returns the values of FieldSubscribed.
func (s Subscriber) Subscribed() []string {
	if s.All() {
		return []string{allOf(s.DashboardID)}
	}
	return s.ComponentIDs()
}

// Concerned returns the values of FieldConcerned. They name the changes about which a message is sent to the subscriber
// if the address is not suppressed. Concerned returns nil if no message is sent.
func (s Subscriber) Concerned() []string {
	if s.Paused || s.Address.Removed {
		return nil
	}
	var values []string
	for _, e := range s.Entries {
		switch {
		case !e.counts():
		case e.ComponentID == "":
			return []string{allOf(s.DashboardID)}
		case e.Anywhere:
			values = append(values, shownOn(e.ComponentID, ""))
		default:
			values = append(values, shownOn(e.ComponentID, s.DashboardID))
		}
	}
	if values != nil {
		values = append(values, anyOf(s.DashboardID))
	}
	return values
}

// Edition returns a number that links for the subscriber contain. It changes when the subscriber is deleted and created
// again, and when Normal of its Address changes.
func (s Subscriber) Edition() int64 { return max(s.CreatedAt.UnixMilli(), s.Address.Edition) }

// counts reports whether messages may be sent for the entry.
func (e Entry) counts() bool { return e.Confirmed && !e.Deleted }

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

// confirm sets Confirmed and ConfirmedAt of an entry, unless Confirmed already has the value.
func (e *Entry) confirm(confirmed bool, now time.Time) {
	if e.Confirmed == confirmed {
		return
	}
	e.Confirmed, e.ConfirmedAt = confirmed, nil
	if confirmed {
		e.ConfirmedAt = &now
	}
}

// confirm sets Confirmed and ConfirmedAt of all entries, see Entry.confirm.
func (s *Subscriber) confirm(confirmed bool, now time.Time) {
	s.Entries = slices.Clone(s.Entries)
	for i := range s.Entries {
		s.Entries[i].confirm(confirmed, now)
	}
}

// fulfil confirms the Request of the subscriber. If the Request has no entries, all entries of the subscriber are
// confirmed. If the Request is for all components, its entry replaces all entries. If it is for some components, fulfil
// adds or confirms their entries, and removes Deleted entries and an unconfirmed entry for all components. It changes
// no entry if the subscriber already has a confirmed entry for all components and the Request has entries.
func (s *Subscriber) fulfil(now time.Time) {
	wanted := s.Request.Entries
	s.Request, s.OwnConfirmed, s.UpdatedAt = nil, true, now
	if len(wanted) == 0 {
		s.confirm(true, now)
		return
	}
	if s.All() && s.Entries[0].Confirmed {
		return // the subscriber has all components already
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

// moving returns errMoving if one of the entries has a Move.
func (s Subscriber) moving() error {
	if slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Move != nil }) {
		return errMoving
	}
	return nil
}

func noSubscriber() error { return fault.New(fault.NotFound, "There is no such subscriber.") }

// ask sets the Request of the subscriber for the entries. If entries is empty, the Request is for all entries of the
// subscriber. ask returns the message that asks the owner of the address to confirm. It returns no message if the
// address is suppressed or the subscriber is locked.
func (s *Subscriber) ask(entries []Entry, now time.Time) []topic.Message {
	notices := s.askByWish(entries, now)
	if s.Address.Suppression != nil {
		return nil
	}
	return notices
}

// askByWish is like ask, for a Request that the owner of the address has made. It also returns the message if the
// address is suppressed because the owner unsubscribed on a former page (OptedOut).
func (s *Subscriber) askByWish(entries []Entry, now time.Time) []topic.Message {
	s.Request = &Request{Nonce: rand.Text(), At: now, Entries: entries}
	if s.Address.Suppression.refusesOwner() || s.Locked {
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
