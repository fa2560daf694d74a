package store_test

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/document/documenttest"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/store"
)

func TestAFieldThatComputesOtherValuesHasANewRevision(t *testing.T) {
	documenttest.Fields(t, func(db *document.Database) { store.Declare(db) },
		catalog.Incident, catalog.Maintenance,
		catalog.Investigating, catalog.Identified, catalog.Monitoring, catalog.Resolved,
		catalog.Planning, catalog.Started, catalog.InProgress, catalog.Verifying, catalog.Completed, catalog.StatusUpdate)
}

func TestEachCollectionDeclaresItsShardKey(t *testing.T) {
	documenttest.Shards(t, func(db *document.Database) { store.Declare(db) })
}
