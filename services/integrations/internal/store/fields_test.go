package store_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/document/documenttest"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/store"
)

func TestAFieldThatComputesOtherValuesHasANewRevision(t *testing.T) {
	documenttest.Fields(t, func(db *document.Database) {
		store.New(db)
		store.NewInbound(db)
	}, endpoint.ReasonFailures, endpoint.ReasonGone)
}

func TestEachCollectionDeclaresItsShardKey(t *testing.T) {
	documenttest.Shards(t, func(db *document.Database) {
		store.New(db)
		store.NewInbound(db)
	})
}
