// Package declared lists the operations of all services. The generator of the documents and
// the tests of roles read the same list.
package declared

import (
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/events"
	"github.com/bellbuoy/bellbuoy/services/identity"
	"github.com/bellbuoy/bellbuoy/services/integrations"
)

// Operation is a declared operation with the service that serves it.
type Operation struct {
	web.Operation
	Service string
}

// Operations returns all declared operations, in the order of the documents.
func Operations() []Operation {
	var all []Operation
	add := func(service string, operations []web.Operation) {
		for _, operation := range operations {
			all = append(all, Operation{operation, service})
		}
	}
	add("identity", identity.Operations())
	add("events", events.Operations())
	add("integrations", integrations.Operations())
	return all
}
