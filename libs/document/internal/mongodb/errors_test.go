package mongodb

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Errors are classified as temporary, as conflicts or as mistakes.
func TestMongoErrors(t *testing.T) {
	taken := mongo.WriteError{Code: 11000, Message: "E11000 duplicate key error collection: a.b index: org_legacy.unique dup key: {}"}
	unconfirmed := &mongo.WriteConcernError{Code: 64, Message: "waiting for replication timed out"}
	for name, test := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"not the primary":            {mongo.CommandError{Code: 10107}, fault.Unavailable},
		"an index is being built":    {mongo.CommandError{Code: 12587}, fault.Unavailable},
		"may be tried again":         {mongo.CommandError{Code: 262, Labels: []string{"RetryableWriteError"}}, fault.Unavailable},
		"no majority":                {mongo.WriteException{WriteConcernError: unconfirmed}, fault.Unavailable},
		"no majority of a bulk":      {mongo.BulkWriteException{WriteConcernError: unconfirmed}, fault.Unavailable},
		"no majority of a violation": {mongo.WriteException{WriteErrors: mongo.WriteErrors{taken}, WriteConcernError: unconfirmed}, fault.Unavailable},
		"a violation":                {mongo.WriteException{WriteErrors: mongo.WriteErrors{taken}}, fault.Conflict},
		"a mistake":                  {mongo.CommandError{Code: 2}, fault.Internal},
		"another mistake":            {errors.New("no document"), fault.Internal},
	} {
		if err := engine.Opaque(classified(test.err), "test"); !fault.Is(err, test.want) {
			t.Errorf("%s: %v, not %v", name, err, test.want)
		}
	}
}

// A server may name the violated index by its key pattern, its key value or its text.
func TestViolatedIndexOfMongoErrors(t *testing.T) {
	raw := func(part, key string) bson.Raw {
		out, err := bson.Marshal(bson.D{{Key: "code", Value: 11000}, {Key: part, Value: bson.D{{Key: key, Value: 1}}}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	write := func(message string, raw bson.Raw) error {
		return mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 11000, Message: message, Raw: raw}}}
	}
	bulk := func(raw bson.Raw) error {
		return mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: mongo.WriteError{Code: 11000, Message: "Duplicate key violation", Raw: raw}}}}
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"key pattern":            {write("Duplicate key violation", raw("keyPattern", "u.org_legacy")), "org_legacy"},
		"key value":              {write("Duplicate key violation", raw("keyValue", "u.org_legacy")), "org_legacy"},
		"pattern of the key":     {write("Duplicate key violation", raw("keyPattern", "_id")), ""},
		"pattern in a bulk":      {bulk(raw("keyPattern", "u.slug")), "slug"},
		"pattern of a bulk item": {mongo.WriteError{Code: 11000, Raw: raw("keyPattern", "u.slug")}, "slug"},
		"text":                   {write("E11000 duplicate key error collection: a.b index: org_legacy.unique dup key: {}", nil), "org_legacy"},
		"text of the key":        {write("E11000 duplicate key error collection: a.b index: _id_ dup key: {}", nil), ""},
		"text before 4.2":        {write("E11000 duplicate key error index: a.b.$slug.unique dup key: {}", nil), "slug"},
		"neither":                {write("Duplicate key violation", nil), ""},
	} {
		if got, is := errors.AsType[*engine.ConflictError](classified(test.err)); !is || got.Index != test.want {
			t.Errorf("%s: %v, want %q", name, got, test.want)
		}
	}
}
