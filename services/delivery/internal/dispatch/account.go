package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Account is a Channel that sends through an account at a provider. The provider's limits apply to all requests of the
// account together. A message costs money and cannot be recalled, and the API has no idempotency key.
//
// So all deliveries of the account are in one bucket: one process sends them, and Hold applies to all requests. Before an
// attempt, the time at which it begins is stored in SendingAt of the row. If the process is killed during the attempt, the
// message may have been sent. The delivery then fails with CodeAmbiguous and is not repeated. If SendingAt is stored but the
// response of the store is lost, the write is repeated and finds its own SendingAt. Then the attempt is made.
type Account interface {
	Shared
	// Hold returns how long a request must wait because the provider asked for a pause. It returns 0 if there is no
	// pause. Each wait ends at a different time, so that the deliveries do not all wake together.
	Hold(now time.Time) time.Duration
}

// Shared is a Channel whose destinations can all share a limit. Bucket returns the text from which the bucket of all its
// deliveries is derived, so that one process sends them. If Bucket returns "", the destinations share no limit, and each has
// its own bucket.
type Shared interface {
	Bucket() string
}

// destination returns the text from which the recipient's bucket is derived: the result of Shared.Bucket, or digest if the
// channel is not Shared or the result is "".
func (p *Parts) destination(channel topic.Channel, digest string) string {
	if shared, is := p.Channels[channel].(Shared); is {
		return cmp.Or(shared.Bucket(), digest)
	}
	return digest
}

// held schedules a retry of the row and returns true if the channel is an Account whose provider asked for a pause that has
// not ended.
func (s *Sender) held(m *member, row *deliverylog.Delivery) bool {
	account, is := s.Channels[m.shard.channel].(Account)
	if !is {
		return false
	}
	now := s.Now()
	wait := account.Hold(now)
	if wait > 0 {
		s.retryAt(m, row, deliverylog.CodeHeld, now.Add(wait))
	}
	return wait > 0
}

// begin stores that m's attempt begins, if the channel is an Account. It returns errStored if another copy of the shard has
// stored the row. It returns errInterrupted if another process has changed the row, the stored rows cannot be read, or the
// sender was interrupted.
func (s *Sender) begin(m *member, row *deliverylog.Delivery) error {
	if _, is := s.Channels[m.shard.channel].(Account); !is {
		return nil
	}
	now := s.Now()
	until := now.Add(s.Timeout + leaseMargin)
	if m.row != nil {
		return s.beginAgain(m, now, until)
	}
	mark := *row
	s.retryAt(m, &mark, deliverylog.CodeHeld, until)
	mark.SendingAt = &now
	var stored []deliverylog.Delivery
	failed := false
	err := s.writer.persist(s.work, "An attempt cannot be stored yet.", func() (err error) {
		stored, err = s.Store.Insert(s.work, []deliverylog.Delivery{mark})
		if err == nil && len(stored) == 0 && failed { // the failed insert may have stored the mark
			stored, err = s.Store.Deliveries(s.work, []string{mark.ID})
			stored = slices.DeleteFunc(stored, func(d deliverylog.Delivery) bool { return !began(&d, now) })
		}
		failed = failed || err != nil
		return err
	})
	switch {
	case err != nil:
		return errInterrupted
	case len(stored) == 0:
		again := m.alone()
		if s.withoutStored([]*opened{again}); again.err != nil {
			return errInterrupted
		}
		return errStored
	}
	m.row, m.leased = &mark, true
	return nil
}

// beginAgain stores that an attempt for a leased row begins. It returns errInterrupted if another process has changed the row,
// or if the sender was interrupted.
func (s *Sender) beginAgain(m *member, now, until time.Time) error {
	leased := false
	row, err := s.writer.amend(s.work, m.id, func(d *deliverylog.Delivery) bool {
		if leased = d.Status == deliverylog.StatusRetrying && (d.NextAttemptAt.Equal(*m.row.NextAttemptAt) || began(d, now)); leased {
			d.NextAttemptAt, d.SendingAt = &until, &now
		}
		return leased
	})
	if err != nil || !leased {
		return errInterrupted
	}
	*m.row = row
	return nil
}

// began reports whether the stored row d contains the begin of this attempt. now is the time at which the attempt began.
func began(d *deliverylog.Delivery, now time.Time) bool {
	return d.SendingAt != nil && d.SendingAt.Equal(now)
}

// ambiguous returns the ended row of a delivery whose last attempt began but has no result, because the process was
// killed.
func (s *Sender) ambiguous(m *member) *deliverylog.Delivery {
	row := *m.row
	at, count := *row.SendingAt, len(row.Attempts)
	row.SentAt, row.MaxAttempts, row.Request, row.Response = at, count+1, 0, nil
	row.Attempts = append(row.Attempts[:count:count], deliverylog.Attempt{At: at, ErrorCode: deliverylog.CodeAmbiguous})
	row.Finish(deliverylog.StatusFailed, deliverylog.CodeAmbiguous, s.Now())
	return &row
}
