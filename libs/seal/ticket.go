package seal

import (
	"strconv"
	"time"
)

// Tickets issues tickets, such as the value of a cookie, that grant access for a limited time. Nobody can create or
// prolong a ticket without the platform secret.
type Tickets struct {
	box Box
	now func() time.Time
}

// NewTickets returns the Tickets for a purpose.
func NewTickets(secret, purpose string, now func() time.Time) Tickets {
	return Tickets{NewBox(secret, purpose), now}
}

// Issue returns a ticket for an owner, for example the id of a record. The ticket is valid for the duration life.
func (t Tickets) Issue(owner string, life time.Duration) string {
	return t.box.Seal(strconv.FormatInt(t.now().Add(life).Unix(), 10), owner)
}

// Valid reports whether Issue returned the ticket for the owner and the ticket has not expired.
func (t Tickets) Valid(ticket, owner string) bool {
	until, err := t.box.Open(ticket, owner)
	if err != nil {
		return false
	}
	seconds, err := strconv.ParseInt(until, 10, 64)
	return err == nil && t.now().Unix() < seconds
}
