package deliverylog

import (
	"cmp"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const maxSuccesses = 512 // maximum number of Successes in one topic.Outcome

// Outcome returns the message for the service that stores the recipient, and nil if the delivery has not ended or has
// no recipient.
func (d *Delivery) Outcome() *topic.Outcome {
	if d.Recipient == "" || d.EndedAt == nil {
		return nil
	}
	outcome := &topic.Outcome{
		Bucket: d.Partition, DeliveryID: d.ID, Organization: d.Organization, Channel: d.Channel, Recipient: d.Recipient, URLHash: cmp.Or(d.MovedTo, d.URLHash),
		EventID: d.EventID, EventKind: d.EventKind, Result: topic.Result(d.Status), Attempts: len(d.Attempts), ErrorCode: string(d.ErrorCode),
		Gone: d.ErrorCode == CodeGone || d.ErrorCode == CodeOptedOut, At: *d.EndedAt,
	}
	if n := len(d.Attempts); n > 0 {
		outcome.HTTPStatus = d.Attempts[n-1].HTTPStatus
	}
	return outcome
}

// Outcomes returns the outcomes of the rows. Deliveries of one change, channel, service and bucket that succeeded at the
// first attempt share an outcome. Rows without a recipient, and rows that have not ended, have no outcome.
func Outcomes(rows []*Delivery) []topic.Outcome {
	var out []topic.Outcome
	groups := make(map[blockKey]int) // index in out
	for _, d := range rows {
		if d.Recipient == "" || d.EndedAt == nil || d.Status != StatusDelivered || len(d.Attempts) != 1 {
			if one := d.Outcome(); one != nil {
				out = append(out, *one)
			}
			continue
		}
		key := blockKey{change: d.ChangeID, channel: d.Channel, service: d.Service, partition: d.Partition}
		at, grouped := groups[key]
		if !grouped || len(out[at].Successes) == maxSuccesses {
			at = len(out)
			groups[key], out = at, append(out, *d.Outcome())
			out[at].DeliveryID, out[at].Recipient, out[at].URLHash, out[at].HTTPStatus, out[at].At = "", "", "", 0, time.Time{}
		}
		out[at].Successes = append(out[at].Successes, topic.Success{
			DeliveryID: d.ID, Recipient: d.Recipient, URLHash: cmp.Or(d.MovedTo, d.URLHash), HTTPStatus: d.Attempts[0].HTTPStatus, At: *d.EndedAt,
		})
	}
	return out
}
