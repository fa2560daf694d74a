package store_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/document/documenttest"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

func TestAFieldThatComputesOtherValuesHasANewRevision(t *testing.T) {
	var values []any
	for _, status := range deliverylog.Statuses() {
		values = append(values, status)
	}
	documenttest.Fields(t, func(db *document.Database) { store.New(db) }, values...)
}

func TestEachCollectionDeclaresItsShardKey(t *testing.T) {
	documenttest.Shards(t, func(db *document.Database) { store.New(db) })
}
