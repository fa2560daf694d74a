package store

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// filled returns a row that can be in a block. Its columns all have values, also those that are declared later.
func filled(t *testing.T, seed int64) *deliverylog.Delivery {
	t.Helper()
	began := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		seed++
		switch {
		case v.Type() == reflect.TypeFor[time.Time]():
			v.Set(reflect.ValueOf(began.Add(time.Duration(seed) * time.Millisecond)))
		case v.Kind() == reflect.String:
			v.SetString(fmt.Sprint("text ", seed, " ü\x00"))
		case v.CanInt():
			v.SetInt(seed)
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.Kind() == reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		default:
			t.Fatalf("the test cannot fill a column of the kind %s", v.Kind())
		}
	}
	var d deliverylog.Delivery
	fill(reflect.ValueOf(&d).Elem())
	// The columns that have one value in all members: those of the change, and those of a delivery that succeeded at once.
	d.Organization, d.EventID, d.EventKind, d.Sequence = "o", "e", topic.IncidentCreated, 7
	ended := d.SentAt.Add(time.Millisecond)
	d.Attempts[0].At, d.Attempts[0].ErrorCode, d.Attempts[0].NextAttemptAt = d.SentAt, "", nil
	d.ErrorCode, d.NextAttemptAt, d.SendingAt, d.Trace, d.MovedTo = "", nil, nil, "", ""
	d.ChangeID, d.Channel, d.Service, d.Partition, d.URLHash = "c", topic.Webhook, topic.Integrations, 3, "hash"
	d.ID, d.Log, d.ReplayOf, d.Status, d.EndedAt = topic.DeliveryID(d.ChangeID, d.Recipient), 0, "", deliverylog.StatusDelivered, &ended
	return &d
}

func TestTheStoreKeepsEveryColumnOfTheDeliveryLog(t *testing.T) {
	other := filled(t, 100)
	alike := *other
	alike.Recipient = "another"
	alike.ID = topic.DeliveryID(alike.ChangeID, alike.Recipient)
	for name, rows := range map[string][]*deliverylog.Delivery{
		"one": {filled(t, 0)}, "different": {filled(t, 0), other}, "alike": {other, &alike},
	} {
		db, err := document.Open(apitest.Documents(t), "delivery", document.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		s := New(db)
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		blocks := deliverylog.BlocksOf(rows)
		if len(blocks) != 1 {
			t.Fatalf("%s: %d blocks", name, len(blocks))
		}
		if err := s.InsertBlocks(t.Context(), blocks); err != nil {
			t.Fatal(err)
		}
		row := *rows[0]
		row.ID = "row"
		if _, err := s.Insert(t.Context(), []deliverylog.Delivery{row}); err != nil {
			t.Fatal(err)
		}
		page, err := s.Logs(t.Context(), deliverylog.Query{Organization: row.Organization, Channel: row.Channel, Limit: 10,
			Filter: deliverylog.Filter{From: row.SentAt.Add(-time.Hour), To: row.SentAt.Add(time.Hour)}})
		if err != nil || len(page.Items) != len(rows)+1 {
			t.Fatalf("%s: %d logs, %v", name, len(page.Items), err)
		}
		for _, want := range append([]*deliverylog.Delivery{&row}, rows...) {
			if !slices.ContainsFunc(page.Items, func(got deliverylog.Delivery) bool { return reflect.DeepEqual(got, *want) }) {
				t.Errorf("%s:\n%+v\nis not in\n%+v", name, *want, page.Items)
			}
		}
	}
}
