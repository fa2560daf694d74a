package document

import (
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// encode writes an aggregate as BSON under its JSON names; one codec for both engines, so that
// what one returns the other would too (times lose what is below a millisecond, empty lists stay
// apart from absent ones).
func encode(item any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := bson.NewEncoder(bson.NewDocumentWriter(&buffer))
	encoder.UseJSONStructTags()
	if err := encoder.Encode(item); err != nil {
		return nil, fmt.Errorf("encode %T: %w", item, err)
	}
	return buffer.Bytes(), nil
}

func decode(body []byte, item any) error {
	decoder := bson.NewDecoder(bson.NewDocumentReader(bytes.NewReader(body)))
	decoder.UseJSONStructTags()
	if err := decoder.Decode(item); err != nil {
		return fmt.Errorf("decode %T: %w", item, err)
	}
	return nil
}
