package inbound

import (
	"context"
	"fmt"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// askedLogs notes the query of a list.
type askedLogs struct {
	find.Collection[Log]
	asked string
}

func (a *askedLogs) Find(_ context.Context, query find.Query) (page find.Page[Log], err error) {
	a.asked = fmt.Sprint(query)
	return page, nil
}

func TestEachFieldOfTheFilterChangesTheQueryOfTheList(t *testing.T) {
	asks := func(filter LogFilter) string {
		logs := &askedLogs{}
		s := Inbound{Store: Store{Logs: logs}}
		if _, err := s.Logs(t.Context(), "o", filter, 10, ""); err != nil {
			t.Fatalf("%+v: %v", filter, err)
		}
		return logs.asked
	}
	all := asks(LogFilter{})
	for field, filter := range apitest.WithEachField[LogFilter](t) {
		if asks(filter) == all {
			t.Errorf("a list with %s reads what a list without a filter reads: %s", field, all)
		}
	}
}
