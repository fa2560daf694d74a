package account

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// askedAudit notes the query of a list.
type askedAudit struct {
	AuditLog
	asked string
}

func (a *askedAudit) Find(_ context.Context, query find.Query) (page find.Page[topic.AuditEntry], err error) {
	a.asked = fmt.Sprint(query)
	return page, nil
}

func TestEachFieldOfTheAuditFilterChangesTheQueryOfTheList(t *testing.T) {
	asks := func(filter AuditFilter) string {
		log := &askedAudit{asked: "nothing"}
		a := Accounts{Options: Options{Store: Store{Audit: log}}}
		if _, err := a.AuditEntries(t.Context(), "o", filter, 10, ""); err != nil {
			t.Fatalf("%+v: %v", filter, err)
		}
		return log.asked
	}
	for _, beside := range []AuditFilter{{}, {Action: "user.create"}} {
		all := asks(beside)
		for field, filter := range apitest.WithEachField[AuditFilter](t) {
			if field == "Action" && beside.Action != "" {
				continue
			}
			filter.Action = cmp.Or(beside.Action, filter.Action)
			if asks(filter) == all {
				t.Errorf("a list of %+v with %s reads what it reads without: %s", beside, field, all)
			}
		}
	}
}
