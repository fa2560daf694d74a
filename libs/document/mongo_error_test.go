package document

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// What may succeed later is told apart from what is wrong, and from what is taken.
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
		if err := opaque(mongoError(test.err), "test"); !fault.Is(err, test.want) {
			t.Errorf("%s: %v, not %v", name, err, test.want)
		}
	}
}
