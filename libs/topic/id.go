package topic

import (
	"crypto/sha256"

	"github.com/google/uuid"
)

// NewID returns a UUID v7 (RFC 9562, 5.7). Its first bits are the time, so new ids are inserted at the end of an
// index.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// DeliveryID returns the id of the delivery of a change or notice to a recipient. The id stays the same if the
// delivery is planned, tried or published again. Its last byte is 0, so that LogID can number the logs of the
// delivery.
func DeliveryID(change, recipient string) string {
	return LogID(DeriveID(change, "delivery", recipient), 0)
}

// ChannelDeliveryID returns the id of the delivery row that says why a channel was skipped for the change.
func ChannelDeliveryID(change string, channel Channel) string {
	return LogID(DeriveID(change, "channel", string(channel)), 0)
}

// LogID returns the id of a log of a delivery: the delivery's id with number as its last byte. The numbers begin at
// 0, so the first log has the same id as the delivery.
func LogID(delivery string, number uint8) string {
	const digits = "0123456789abcdef"
	return delivery[:len(delivery)-2] + string([]byte{digits[number>>4], digits[number&0xf]})
}

// DeriveID returns a UUID v8 (RFC 9562, 5.8): the first 48 bits of the change's id, which are its time, then a hash
// of the change's id and the parts. So the ids of one change are neighbours in an index, and new ids are at its end.
// Ids that consist only of a hash would be spread over all rows of a month.
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
