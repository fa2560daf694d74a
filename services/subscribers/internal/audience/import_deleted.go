package audience

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// DeletedImport records that the owner of an address or a member has deleted a subscriber, or given it another address. So no
// import creates the subscriber again, unless it is forced to. Its key is a digest, so that the address of a deleted subscriber
// is not stored.
type DeletedImport struct {
	ID        string    `json:"id"`
	DeletedAt time.Time `json:"deletedAt"`
}

func deletedImportKey(d DeletedImport) string { return d.ID }

func (s Subscriber) deletedImportID() string {
	return deletedImportID(s.OrganizationID, s.Channel, s.DashboardID, s.Address.Normal)
}

func deletedImportID(organization string, channel topic.Channel, dashboard, normal string) string {
	sum := sha256.Sum256([]byte("deleted import/" + organization + "/" + string(channel) + "/" + dashboard + "/" + normal))
	return hex.EncodeToString(sum[:])
}

// rememberDeletion stores a DeletedImport. It is called before a subscriber is deleted or loses an entry or its address, so
// that the record is not lost if the process dies in between. While the subscriber exists, the record has no effect.
func (a *Audience) rememberDeletion(ctx context.Context, s Subscriber) error {
	return a.Store.DeletedImports.UpsertMany(ctx, []DeletedImport{{ID: s.deletedImportID(), DeletedAt: a.Now()}})
}

// deleteAgain deletes those subscribers of the import that were deleted after the import began. ImportWritten has
// stored them again, for example because an earlier call had stored them before they were deleted. Only for a forced
// import, the times of the DeletedImport and the import are compared. When any other import began, its subscribers had
// no DeletedImport, so each DeletedImport is newer, also if the process that has stored it has a slow clock.
func (a *Audience) deleteAgain(ctx context.Context, record Import) error {
	marks, err := find.ByKey(ctx, a.Store.DeletedImports, find.Values(record.Subscribers, Subscriber.deletedImportID), deletedImportKey)
	if err != nil {
		return err
	}
	for _, s := range record.Subscribers {
		mark, marked := marks[s.deletedImportID()]
		if !marked || !record.Unforced && !mark.DeletedAt.After(record.CreatedAt) {
			continue
		}
		err := a.Store.Subscribers.Delete(ctx, s.ID, func(current *Subscriber) ([]topic.Message, error) {
			if current.ImportID != record.ID { // the address has subscribed again
				return nil, fault.ErrUnchanged
			}
			return nil, nil
		})
		if fault.UnlessMissing(err) != nil {
			return err
		}
	}
	return nil
}

// setDeletedAside refuses the lines whose subscribers have a DeletedImport and are not stored. It returns the other
// lines, and sets line.again of those whose subscribers have a DeletedImport.
func (i *importing) setDeletedAside(ctx context.Context, organization string, lines []*line) ([]*line, error) {
	idOf := func(l *line) string { return deletedImportID(organization, i.channel, l.dashboard, l.normal) }
	marks, err := find.ByKey(ctx, i.a.Store.DeletedImports, find.Values(lines, idOf), deletedImportKey)
	if err != nil || len(marks) == 0 {
		return lines, err
	}
	marked := slices.DeleteFunc(slices.Clone(lines), func(l *line) bool { return marks[idOf(l)].ID == "" })
	if _, err := i.find(ctx, organization, marked); err != nil {
		return nil, err
	}
	stored := slices.DeleteFunc(slices.Clone(marked), func(l *line) bool { return l.address.ID == "" })
	known, err := i.known(ctx, stored)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(lines, func(l *line) bool {
		if !slices.Contains(marked, l) {
			return false
		}
		if l.address.ID != "" {
			s, is := known[l.subscriber()]
			if l.again = is && !s.Gone(); l.again {
				return false
			}
		}
		i.results[l.at] = Result{Status: Refused, Error: fault.New(fault.Invalid, "The owner or a member has deleted this subscriber here, or changed its address. Add the subscriber alone.").Error()}
		return true
	}), nil
}
