package store_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/document/documenttest"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/audience"
	"github.com/bellbuoy/bellbuoy/services/subscribers/internal/store"
)

func TestAFieldThatComputesOtherValuesHasANewRevision(t *testing.T) {
	documenttest.Fields(t, func(db *document.Database) { store.New(db, nil) },
		audience.Confirmed, audience.Unconfirmed, audience.Paused, audience.Suppressed,
		audience.FromApp, audience.FromLegacy, audience.FromImport, audience.FromPublic,
		audience.Bounce, audience.Complaint, audience.Unusable, audience.OptedOut)
}

func TestEachCollectionDeclaresItsShardKey(t *testing.T) {
	documenttest.Shards(t, func(db *document.Database) { store.New(db, nil) })
}
