package document

import (
	"bufio"
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// encode returns item as BSON, with the names in its JSON struct tags. Both engines store this form, so both return the
// same record: times lose fractions of a millisecond, and an empty list differs from a missing list.
func encode(item any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := bson.NewEncoder(bson.NewDocumentWriter(&buffer))
	encoder.UseJSONStructTags()
	if err := encoder.Encode(item); err != nil {
		return nil, fmt.Errorf("encode %T: %w", item, err)
	}
	return buffer.Bytes(), nil
}

func decode(body []byte, item any) error { return newDecoder().decode(body, item) }

// decoder decodes many bodies with one buffer. NewDocumentReader would allocate a buffer for each body.
type decoder struct {
	body   bytes.Reader
	buffer *bufio.Reader
}

func newDecoder() *decoder {
	d := &decoder{}
	d.buffer = bufio.NewReader(&d.body)
	return d
}

func (d *decoder) decode(body []byte, item any) error {
	d.body.Reset(body)
	d.buffer.Reset(&d.body)
	decoder := bson.NewDecoder(bson.NewDocumentReader(d.buffer))
	decoder.UseJSONStructTags()
	if err := decoder.Decode(item); err != nil {
		return fmt.Errorf("decode %T: %w", item, err)
	}
	return nil
}
