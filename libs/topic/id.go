package topic

import (
	"crypto/sha256"

	"github.com/google/uuid"
)

// DeliveryID returns the id of the delivery of a change or notice to a recipient. It is the same for every plan, retry
// and repetition.
func DeliveryID(change, recipient string) string { return DeriveID(change, "delivery", recipient) }

// ChannelDeliveryID returns the id of the row that says why the channel sent nothing.
func ChannelDeliveryID(change string, channel Channel) string {
	return DeriveID(change, "channel", string(channel))
}

// DeriveID returns a UUID v8 (RFC 9562, 5.8): the first 48 bits of the change's id, which are its time, then a
// hash of the change's id and the parts. So the ids of one change are close together in an index, and new ids
// are at its end. Ids from a hash alone would be spread over all rows of a month.
func DeriveID(change string, parts ...string) string {
	space, err := uuid.Parse(change)
	if err != nil {
		space = uuid.NewSHA1(uuid.Nil, []byte(change))
	}
	name := append(make([]byte, 0, 128), space[:]...)
	for _, part := range parts {
		name = append(append(name, part...), 0)
	}
	sum := sha256.Sum256(name)
	id := uuid.UUID(sum[:16])
	copy(id[:6], space[:6])
	id[6] = id[6]&0x0f | 0x80 // version 8
	id[8] = id[8]&0x3f | 0x80 // RFC 9562's variant
	return id.String()
}
