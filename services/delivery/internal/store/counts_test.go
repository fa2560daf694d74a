package store

import (
	"strconv"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// Each delivery counts once, by how it ended since the time: rows with one and with several attempts, and the members of
// blocks. A delivery that waits counts at any age. Nothing of other channels and organizations counts. The database
// refuses a query that no index serves.
func TestEachDeliveryCountsOnceByHowItEnded(t *testing.T) {
	db, err := document.Open(apitest.Documents(t), "delivery", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := New(db)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	since := now.Add(-24 * time.Hour)
	old := since.Add(-time.Second)
	var rows []deliverylog.Delivery
	var quick []*deliverylog.Delivery
	add := func(organization string, channel topic.Channel, at time.Time, status deliverylog.Status, retries int) {
		d := deliverylog.Delivery{
			ID: topic.DeliveryID(topic.NewID(), "r"), Organization: organization, Channel: channel, Recipient: "r", EventID: "e", ChangeID: "c" + strconv.Itoa(len(quick)),
			Logged: deliverylog.Logged{SentAt: at}, Status: status, EndedAt: &at,
		}
		if status == deliverylog.StatusRetrying {
			d.EndedAt, d.NextAttemptAt = nil, &now
		}
		for range retries {
			d.Attempts = append(d.Attempts, deliverylog.Attempt{At: at, ErrorCode: deliverylog.CodeTimeout, NextAttemptAt: &at})
		}
		switch status {
		case deliverylog.StatusDelivered:
			d.Attempts = append(d.Attempts, deliverylog.Attempt{At: at})
		case deliverylog.StatusFailed:
			d.Attempts = append(d.Attempts, deliverylog.Attempt{At: at, ErrorCode: deliverylog.CodeGone})
		}
		if d.InBlock() {
			quick = append(quick, &d)
			return
		}
		rows = append(rows, d)
		for number := 1; number < len(d.Attempts); number++ {
			rows = append(rows, d.AsLog(number))
		}
	}
	for _, at := range []time.Time{since, now, old} {
		add("o", topic.Webhook, at, deliverylog.StatusDelivered, 0)
		add("o", topic.Webhook, at, deliverylog.StatusDelivered, 2)
		add("o", topic.Webhook, at, deliverylog.StatusFailed, 1)
		add("o", topic.Webhook, at, deliverylog.StatusSkipped, 0)
		add("o", topic.Webhook, at, deliverylog.StatusSuppressed, 0)
		add("o", topic.Webhook, at, deliverylog.StatusRetrying, 1)
		add("o", topic.Email, at, deliverylog.StatusFailed, 0)
		add("other", topic.Webhook, at, deliverylog.StatusFailed, 0)
		add("other", topic.Webhook, at, deliverylog.StatusDelivered, 0)
	}
	if _, err := s.Insert(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	if err := s.InsertBlocks(t.Context(), deliverylog.BlocksOf(quick)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Counts(t.Context(), "o", topic.Webhook, since)
	want := deliverylog.Counts{Delivered: 4, Failed: 2, Skipped: 2, Suppressed: 2, Retrying: 3}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
