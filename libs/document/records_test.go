package document_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

func TestRecordsKeepTheirContent(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		_, c := fleet(t, address)
		sunk := launch.Add(time.Hour)
		want := boat{ID: "a/1", Owner: "a", Number: 7, Name: "Æquor ☸", Length: 7.25, Afloat: true, Built: launch, Sunk: &sunk,
			Harbours: []string{"Kiel", "Oslo"}, Log: []logLine{{At: launch, Tags: map[string]string{"wind.force": "9", "$x": ""}}}}
		must(t, c.Insert(ctx, want))
		got, err := c.Get(ctx, "a/1")
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		plain := boat{ID: "a/2", Owner: "a"}
		must(t, c.Insert(ctx, plain))
		got, err = c.Get(ctx, "a/2")
		must(t, err)
		if !reflect.DeepEqual(got, plain) || !got.Built.IsZero() {
			t.Errorf("got %#v\nwant %#v", got, plain)
		}
		many, err := c.GetMany(ctx, []string{"a/2", "none", "a/1", "a/2"})
		must(t, err)
		if len(many) != 3 || many[0].ID != "a/2" || many[1].ID != "a/1" || many[2].ID != "a/2" {
			t.Errorf("GetMany returned %+v", many)
		}
	})
}

func TestRecordsSayWhatIsWrong(t *testing.T) {
	onEach(t, func(t *testing.T, address string) {
		ctx := t.Context()
		_, c := fleet(t, address)
		if _, err := c.Get(ctx, "none"); !fault.Is(err, fault.NotFound) {
			t.Errorf("Get of nothing: %v", err)
		}
		if _, err := c.Update(ctx, "none", func(*boat) ([]topic.Message, error) { return nil, nil }); !fault.Is(err, fault.NotFound) {
			t.Errorf("Update of nothing: %v", err)
		}
		if err := c.Delete(ctx, "none", nil); !fault.Is(err, fault.NotFound) {
			t.Errorf("Delete of nothing: %v", err)
		}
		must(t, c.Insert(ctx, vessel("a", 1)))
		err := c.Insert(ctx, vessel("a", 1))
		if !fault.Is(err, fault.Conflict) || document.ViolatedIndex(err) != "" && document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("Insert of a taken key: %v", err)
		}
		other := vessel("a", 1)
		other.ID = "a/other"
		err = c.Insert(ctx, other)
		if !fault.Is(err, fault.Conflict) || document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("Insert of a taken number: %v, index %q", err, document.ViolatedIndex(err))
		}
		must(t, c.Insert(ctx, vessel("a", 2)))
		_, err = c.Update(ctx, "a/0002", func(b *boat) ([]topic.Message, error) { b.Number = 1; return nil, nil })
		if !fault.Is(err, fault.Conflict) || document.ViolatedIndex(err) != "owner_number" {
			t.Errorf("Update to a taken number: %v, index %q", err, document.ViolatedIndex(err))
		}
		veto := errors.New("no")
		if _, err := c.Update(ctx, "a/0002", func(b *boat) ([]topic.Message, error) { b.Name = "x"; return nil, veto }); !errors.Is(err, veto) {
			t.Errorf("a vetoed Update: %v", err)
		}
		if err := c.Delete(ctx, "a/0002", func(*boat) ([]topic.Message, error) { return nil, veto }); !errors.Is(err, veto) {
			t.Errorf("a vetoed Delete: %v", err)
		}
		got, err := c.Update(ctx, "a/0002", func(b *boat) ([]topic.Message, error) { return nil, fault.ErrUnchanged })
		if err != nil || got.Name != "Boat 2" {
			t.Errorf("an Update that changes nothing: %v, %+v", err, got)
		}
		must(t, c.Delete(ctx, "a/0002", nil))
		if n, err := c.Count(ctx, find.Query{}); err != nil || n != 1 {
			t.Errorf("%d records are left, %v", n, err)
		}
		must(t, c.Insert(ctx, vessel("a", 2)))
	})
}
