package store_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/document/documenttest"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/store"
)

func TestAFieldThatComputesOtherValuesHasANewRevision(t *testing.T) {
	const email = ".email" // the address of a sample: in one of its variants it is proven
	documenttest.Fields(t, func(db *document.Database) { store.New(db) }, account.Pending, account.Ready, email)
}

func TestEachCollectionDeclaresItsShardKey(t *testing.T) {
	documenttest.Shards(t, func(db *document.Database) { store.New(db) })
}
