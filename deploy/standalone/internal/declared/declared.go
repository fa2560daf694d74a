// Package declared lists the operations and legacy resources of all services, and the public operations of the gateway. The
// generator of the documents and tests of the platform use these lists. Every list has the order of the documents.
package declared

import (
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/legacy"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery"
	"github.com/bellbuoy/bellbuoy/services/events"
	"github.com/bellbuoy/bellbuoy/services/identity"
	"github.com/bellbuoy/bellbuoy/services/integrations"
	"github.com/bellbuoy/bellbuoy/services/subscribers"
)

// Operation is a declared operation with the service that serves it.
type Operation struct {
	web.Operation
	Service string
}

// Operations returns the operations of the App and the operator interface.
func Operations() []Operation {
	var all []Operation
	add := func(service string, operations []web.Operation) {
		for _, operation := range operations {
			all = append(all, Operation{operation, service})
		}
	}
	add("identity", identity.Operations())
	add("events", events.Operations())
	add("subscribers", subscribers.Operations())
	add("integrations", integrations.Operations())
	add("delivery", delivery.Operations())
	return all
}

// Resources returns the resources of the legacy interface, in the order of their names.
func Resources() []Resource {
	var all []Resource
	add := func(service string, resources []legacy.Declared) {
		for _, resource := range resources {
			all = append(all, Resource{resource.Describe(), service})
		}
	}
	add("identity", identity.Legacy())
	add("events", events.Legacy())
	add("subscribers", subscribers.Legacy())
	slices.SortFunc(all, func(a, b Resource) int { return strings.Compare(a.Resource, b.Resource) })
	return all
}

// Resource is a resource of the legacy interface with the service that serves it.
type Resource struct {
	legacy.Description
	Service string
}

// Public returns the operations of the public interface. Service is empty for an operation that the gateway serves.
func Public() []PublicOperation {
	var all []PublicOperation
	add := func(service string, operations []web.Public) {
		for _, operation := range operations {
			all = append(all, PublicOperation{operation, service})
		}
	}
	add("events", events.Public())
	add("subscribers", subscribers.Public())
	add("integrations", integrations.Public())
	add("", gateway.Public())
	return all
}

// PublicOperation is an operation of the public interface with the service that serves it.
type PublicOperation struct {
	web.Public
	Service string
}
