package endpoint

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// askedEndpoints notes the query of a list and returns an error, which ends the list.
type askedEndpoints struct {
	find.Collection[Endpoint]
	asked string
	end   error
}

func (a *askedEndpoints) Find(_ context.Context, query find.Query) (find.Page[Endpoint], error) {
	a.asked = fmt.Sprint(query)
	return find.Page[Endpoint]{}, a.end
}

func (a *askedEndpoints) Keys(_ context.Context, query find.Query, _ ...string) ([]find.Row, error) {
	a.asked = "keys " + fmt.Sprint(query)
	return nil, a.end
}

type anyDashboard struct{ Services }

func (anyDashboard) Dashboard(_ context.Context, _, id string) (topic.DashboardRecord, error) {
	return topic.DashboardRecord{ID: id}, nil
}

func TestEachFieldOfTheFilterChangesTheQueryOfTheList(t *testing.T) {
	asks := func(filter Filter) string {
		endpoints := &askedEndpoints{end: errors.New("the end")}
		s := Endpoints{Store: Store{Endpoints: endpoints}, Services: anyDashboard{}}
		if _, _, err := s.List(t.Context(), "o", Kind{Channel: topic.Webhook}, filter); !errors.Is(err, endpoints.end) {
			t.Fatalf("%+v: %v", filter, err)
		}
		return endpoints.asked
	}
	all := asks(Filter{})
	for field, filter := range apitest.WithEachField[Filter](t) {
		if asks(filter) == all {
			t.Errorf("a list with %s reads what a list without a filter reads: %s", field, all)
		}
	}
}
