package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

func TestEachFieldOfTheFilterSelectsOtherLogs(t *testing.T) {
	query := func(filter deliverylog.Filter) *deliverylog.Query {
		return &deliverylog.Query{Organization: "o", Channel: topic.Webhook, Filter: filter}
	}
	rowsOf := func(filter deliverylog.Filter) string { return fmt.Sprint(logsWhere(*query(filter))) }
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before, after := filled(t, 0), filled(t, 0)
	before.SentAt, before.EndedAt = at, new(at.Add(time.Millisecond))
	after.SentAt = at.AddDate(200, 0, 0)
	after.EndedAt = new(after.SentAt.Add(time.Millisecond))
	blocks := deliverylog.BlocksOf([]*deliverylog.Delivery{before, after})
	all := rowsOf(deliverylog.Filter{})
	for field, filter := range apitest.WithEachField[deliverylog.Filter](t) {
		if rowsOf(filter) == all {
			t.Errorf("a list with %s reads the rows that a list without a filter reads: %s", field, all)
		}
		s := &Store{}
		if s.blocksOf(query(filter)) == nil {
			continue
		}
		if found, err := members(blocks, query(filter)); err != nil || len(found) == 2 {
			t.Errorf("a list with %s has all members of blocks (%v)", field, err)
		}
	}
	if found, err := members(blocks, query(deliverylog.Filter{})); err != nil || len(found) != 2 {
		t.Errorf("a list without a filter has %d members (%v)", len(found), err)
	}
}
