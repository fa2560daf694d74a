package catalog

import "strings"

// The fields that several packages name. The other fields have the names that the records have as JSON.
const (
	FieldOrganization = "organization"
	FieldID           = "id"
	FieldLegacyID     = "legacyId"
	FieldVersion      = "version" // version of a dashboard
	FieldSlug         = "slug"
	FieldPlace        = "place"        // place of a dashboard in its organization
	FieldHosts        = "hosts"        // multi-valued
	FieldComponents   = "components"   // multi-valued
	FieldExternalRefs = "externalRefs" // multi-valued

	FieldLinks   = "links"   // multi-valued: legacy ids
	FieldUpdated = "updated" // absent for an event without timeline
	FieldOpen    = "open"    // absent for a closed event
	FieldDueAt   = "dueAt"   // absent for an event that the scheduler leaves alone
	FieldListed  = "listed"  // multi-valued: Event.ListKeys
	FieldStart   = "start"
	FieldUntil   = "until"  // Event.Until
	FieldSearch  = "search" // Event.SearchText
	// FieldExternalID is absent for a closed event.
	FieldExternalID  = "externalId"
	FieldCorrelation = "correlation" // the external id, also of a closed event
	FieldInbound     = "inbound"     // multi-valued: Event.InboundIDs

	FieldType     = "type"
	FieldStatus   = "status"
	FieldSeverity = "severity"
	FieldAuthor   = "author"

	FieldEvent     = "event" // event id of a row; with FactField: the prefix
	FieldComponent = "component"
)

// The indexes, by the fields behind the organization.
const (
	IndexOrganization  = "org"
	IndexLegacyID      = "org_legacy"
	IndexID            = "org_id"
	IndexPlaced        = "org_component" // dashboards: components
	IndexPlace         = "org_place"
	IndexExternalRef   = "org_external_ref"
	IndexGroup         = "org_group_legacy"
	IndexName          = "org_name_legacy"
	IndexType          = "org_type_legacy"
	IndexStatus        = "org_status_legacy"
	IndexTypeStatus    = "org_type_status_legacy"
	IndexComponent     = "org_component_legacy"
	IndexLink          = "org_link_legacy"
	IndexEventLegacyID = "org_event_legacy" // rows: the event's legacy id
	IndexOpen          = "org_open"
	IndexListed        = "org_listed_start"
	IndexStart         = "org_start"
	IndexExternalID    = "org_external"
	IndexCorrelation   = "org_correlation_until"
	IndexInbound       = "org_inbound"

	// The indexes over all organizations.
	IndexSlug  = "slug"
	IndexHost  = "host"
	IndexDue   = "due"
	IndexEvent = "event" // rows: the event's id
)

// FactField returns the name of a field of an event: as it is for a query of events (empty prefix), and with the
// prefix for a query of rows that hold a copy of it.
func FactField(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + strings.ToUpper(name[:1]) + name[1:]
}

// OfEvent returns the name of a field of the event in rows of its children.
func OfEvent(field string) string { return FactField(FieldEvent, field) }
