package seal

import (
	"strconv"
	"time"
)

// Tickets issues values that open something for a limited time, such as a cookie. Nobody can make or prolong one
// without the platform's secret.
type Tickets struct {
	box Box
	now func() time.Time
}

// NewTickets returns the tickets of a purpose.
func NewTickets(secret, purpose string, now func() time.Time) Tickets {
	return Tickets{NewBox(secret, purpose), now}
}

// Issue returns a ticket of an owner, for example of the id of a record, which is valid for life.
func (t Tickets) Issue(owner string, life time.Duration) string {
	return t.box.Seal(strconv.FormatInt(t.now().Add(life).Unix(), 10), owner)
}

// Valid reports whether ticket is one of the owner and has not expired.
func (t Tickets) Valid(ticket, owner string) bool {
	until, err := t.box.Open(ticket, owner)
	if err != nil {
		return false
	}
	seconds, err := strconv.ParseInt(until, 10, 64)
	return err == nil && t.now().Unix() < seconds
}
