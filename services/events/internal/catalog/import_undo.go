package catalog

import (
	"context"
	"errors"

	"github.com/bellbuoy/bellbuoy/libs/audit"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// UndoneImport is the result of UndoImport.
type UndoneImport struct {
	Deleted   int   // events that this call has deleted
	Kept      int64 // events of the run that a member has changed
	Remaining int64 // events of the run that the next calls can delete
}

// UndoImport deletes up to MaxImported events that a run created and no member has changed. A later import creates them again.
func (c *Catalog) UndoImport(ctx context.Context, command Command, runID string) (UndoneImport, error) {
	var out UndoneImport
	of := func(changed bool) find.Query {
		return owned(command.Organization, find.Query{Where: []find.Condition{find.Eq(FieldImportRun, runID), find.Eq(FieldImportChanged, changed)}})
	}
	query := of(false)
	query.Limit = MaxImported
	rows, err := c.store.Events.Keys(ctx, query)
	if err == nil && len(rows) > 0 {
		out.Deleted, err = c.deleteImported(ctx, command, runID, find.Values(rows, func(row find.Row) string { return row.Key }))
	}
	if err != nil {
		return out, err
	}
	return out, together(
		func() (err error) { out.Kept, err = c.store.Events.Count(ctx, of(true)); return err },
		func() (err error) { out.Remaining, err = c.store.Events.Count(ctx, of(false)); return err },
	)
}

// deleteImported deletes events of a run, and the DeletedImports of the same events. It returns the number of deleted
// events. It starts over if another write was faster. The first deletion includes the audit entry, which names all events.
// So the entry may name an event that is not deleted because another write changed it at the same moment.
func (c *Catalog) deleteImported(ctx context.Context, command Command, runID string, ids []string) (int, error) {
	earlier := map[string]bool{} // ids of the events in former tries that deleted only some of their events
	for try := 1; ; try++ {
		var chosen []string
		deleted := 0
		err := c.store.Events.WriteMany(ctx, ids, func(stored map[string]*Event) ([]find.Write[Event], error) {
			record := importRecord{OrganizationID: command.Organization, RunID: runID, Created: []string{}, Updated: []string{}, Deleted: []string{}}
			var writes []find.Write[Event]
			var again []string
			for _, id := range ids {
				switch event := stored[id]; {
				case event == nil && earlier[id]:
					deleted++
				case event != nil && event.OrganizationID == command.Organization && event.Import != nil && !event.Import.Changed:
					writes = append(writes, find.Write[Event]{Key: id})
					record.Deleted = append(record.Deleted, id)
					again = append(again, deletedImportID(command.Organization, event.Import.Key))
				}
			}
			if len(writes) == 0 {
				return nil, nil
			}
			if chosen = record.Deleted; len(earlier) == 0 {
				writes[0].Messages = audit.Entry(audit.From(ctx), ActionImportDelete, c.now(), &record, nil)
			}
			// If this function runs again, or its writes fail, the marks are missing without harm: the events still exist.
			_, err := c.store.DeletedImports.DeleteMany(ctx, find.Query{Where: []find.Condition{find.In(FieldID, again...)}})
			return writes, err
		})
		if err == nil || !fault.Is(err, fault.Conflict) || try == importTries {
			return deleted + len(chosen), err
		}
		if errors.Is(err, find.ErrPartlyWritten) {
			for _, id := range chosen {
				earlier[id] = true
			}
		}
	}
}

// rememberDeletion records that a member deletes an imported event. It stores the record before the event is deleted, so
// that the record is not lost if the process dies in between. While the event exists, the record has no effect.
func (c *Catalog) rememberDeletion(ctx context.Context, command Command, id string) error {
	event, err := c.store.EventOf(ctx, command.Organization, id)
	if err != nil || event.Import == nil {
		return err
	}
	return c.store.DeletedImports.UpsertMany(ctx, []DeletedImport{{OrganizationID: command.Organization, Key: event.Import.Key, DeletedAt: c.now()}})
}
