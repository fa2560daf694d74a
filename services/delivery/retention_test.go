package delivery_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/store"
)

// Logs and changes that are older than 30 days are deleted, in any number, also the later logs of a delivery. Younger ones
// stay, and requests stay as long as a log can show them.
func TestLogsAndChangesAreDeletedAfter30Days(t *testing.T) {
	w := newWorld(t)
	db, err := document.Open(w.config().DocumentsURL, "delivery", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	kept := store.New(db)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	old, young := change(newEvent(), 1), change(newEvent(), 1)
	old.OccurredAt, young.OccurredAt = time.Now().Add(-31*day), time.Now().Add(-29*day)
	var ids []string
	for _, told := range []struct {
		change topic.EventChange
		rows   int
	}{{old, 1100}, {young, 2}} { // more than two slices
		if err := kept.SaveContent(t.Context(), dispatch.Content{EventChange: &told.change}); err != nil {
			t.Fatal(err)
		}
		rows := make([]deliverylog.Delivery, told.rows)
		for i := range rows {
			at := told.change.OccurredAt.UTC().Truncate(time.Millisecond)
			rows[i] = deliverylog.Delivery{
				ID: newEvent(), Organization: organization, Channel: topic.Webhook, Recipient: "r", ChangeID: told.change.ID,
				EventID: told.change.Event.ID, EventKind: told.change.Kind, Status: deliverylog.StatusDelivered, Logged: deliverylog.Logged{SentAt: at}, EndedAt: &at,
			}
			if i%10 == 9 {
				rows[i].ID, rows[i].Log = topic.LogID(rows[i-1].ID, 7), 7
			}
			ids = append(ids, rows[i].ID)
		}
		if _, err := kept.Insert(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		at := told.change.OccurredAt
		var members []*deliverylog.Delivery
		for i := range 500 {
			members = append(members, success(told.change, "member"+strconv.Itoa(i)))
			members[i].URLHash = urlHash(i) // in many blocks
		}
		if err := kept.InsertBlocks(t.Context(), deliverylog.BlocksOf(members)); err != nil {
			t.Fatal(err)
		}
		requests := []deliverylog.Request{{ID: told.change.ID, StoredAt: at}, {ID: told.change.ID + "-much-older", StoredAt: at.Add(-30 * day)}}
		if err := kept.SaveRequests(t.Context(), requests); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.rows(ids...)); n != len(ids) {
		t.Fatalf("%d rows of %d before", n, len(ids))
	}
	w.start(w.config())
	youngest := ids[len(ids)-2:]
	for old := range slices.Chunk(ids[:len(ids)-len(youngest)], 500) {
		apitest.Eventually(t, "the old rows to go", func() bool { return len(w.rows(old...)) == 0 })
	}
	for _, row := range w.rows(ids...) {
		if !slices.Contains(youngest, row.ID) {
			t.Errorf("of %v", row.SentAt)
		}
	}
	if n := len(w.rows(youngest...)); n != len(youngest) {
		t.Errorf("%d young rows are left", n)
	}
	apitest.Eventually(t, "the old blocks to go", func() bool {
		return len(w.rows(topic.DeliveryID(old.ID, "member1"), topic.DeliveryID(old.ID, "member499"))) == 0
	})
	if n := len(w.rows(topic.DeliveryID(young.ID, "member1"), topic.DeliveryID(young.ID, "member499"))); n != 2 {
		t.Errorf("%d members of young blocks are left", n)
	}
	apitest.Eventually(t, "the old change to go", func() bool {
		_, err := kept.Content(t.Context(), old.ID)
		return fault.Is(err, fault.NotFound)
	})
	if _, err := kept.Content(t.Context(), young.ID); err != nil {
		t.Errorf("the young change: %v", err)
	}
	apitest.Eventually(t, "the old request to go", func() bool {
		_, err := kept.Request(t.Context(), old.ID+"-much-older")
		return fault.Is(err, fault.NotFound)
	})
	for _, id := range []string{old.ID, young.ID, young.ID + "-much-older"} {
		if _, err := kept.Request(t.Context(), id); err != nil {
			t.Errorf("request %s: %v", id, err)
		}
	}
}
