package audience

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// askedSubscribers notes the query of a list, and returns an error, which ends the list.
type askedSubscribers struct {
	find.Collection[Subscriber]
	asked string
	found int64 // the result of Count
	end   error
}

func (a *askedSubscribers) Keys(_ context.Context, query find.Query, _ ...string) ([]find.Row, error) {
	a.asked = fmt.Sprint(query)
	return nil, a.end
}

func (a *askedSubscribers) Count(context.Context, find.Query) (int64, error) { return a.found, nil }

type noComponents struct{ Events }

func (noComponents) ComponentsByID(context.Context, string, []string) (map[string]topic.ComponentRecord, error) {
	return nil, nil
}

// askedOf returns the query of a list when a count of subscribers returns found.
func askedOf(t *testing.T, filter Filter, found int64) string {
	t.Helper()
	subscribers := &askedSubscribers{found: found, end: errors.New("the end")}
	a := Audience{Store: Store{Subscribers: subscribers}, Events: noComponents{}}
	if _, err := a.List(t.Context(), "o", topic.Email, filter); !errors.Is(err, subscribers.end) {
		t.Fatalf("%+v: %v", filter, err)
	}
	return subscribers.asked
}

func TestEachFieldOfTheFilterChangesTheQueryOfTheList(t *testing.T) {
	asks := func(filter Filter) string {
		return askedOf(t, filter, 0)
	}
	all := asks(Filter{})
	for field, filter := range apitest.WithEachField[Filter](t) {
		if asks(filter) == all {
			t.Errorf("a list with %s reads what a list without a filter reads: %s", field, all)
		}
	}
}

func TestAListReadsTheIndexOfPartsIfTheTextIsRareAndNotShort(t *testing.T) {
	for _, test := range []struct {
		text  string
		found int64
		want  bool
	}{{"ann", 0, true}, {"ann", manyFound - 1, true}, {"ann", manyFound, false}, {"an", 0, false}, {"äö", 0, false}, {"äöü", 0, true}, {"", 0, false}} {
		asked := askedOf(t, Filter{Text: test.text, State: Paused}, test.found)
		if got := strings.Contains(asked, "{"+FieldParts+" "); got != test.want || got != strings.HasSuffix(asked, " "+IndexParts+"}") {
			t.Errorf("%q, found in %d: %s", test.text, test.found, asked)
		}
	}
}
