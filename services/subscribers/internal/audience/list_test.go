package audience

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// askedSubscribers notes the query of a list and returns an error, which ends the list.
type askedSubscribers struct {
	find.Collection[Subscriber]
	asked string
	end   error
}

func (a *askedSubscribers) Keys(_ context.Context, query find.Query, _ ...string) ([]find.Row, error) {
	a.asked = fmt.Sprint(query)
	return nil, a.end
}

type noComponents struct{ Events }

func (noComponents) ComponentsByID(context.Context, string, []string) (map[string]topic.ComponentRecord, error) {
	return nil, nil
}

func TestEachFieldOfTheFilterChangesTheQueryOfTheList(t *testing.T) {
	asks := func(filter Filter) string {
		subscribers := &askedSubscribers{end: errors.New("the end")}
		a := Audience{Store: Store{Subscribers: subscribers}, Events: noComponents{}}
		if _, err := a.List(t.Context(), "o", topic.Email, filter); !errors.Is(err, subscribers.end) {
			t.Fatalf("%+v: %v", filter, err)
		}
		return subscribers.asked
	}
	all := asks(Filter{})
	for field, filter := range apitest.WithEachField[Filter](t) {
		if asks(filter) == all {
			t.Errorf("a list with %s reads what a list without a filter reads: %s", field, all)
		}
	}
}
