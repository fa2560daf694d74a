package catalog

import "strings"

// The names of the fields in queries, as far as several packages use them. Most fields that are not listed here have the
// name of the JSON member of their record.
const (
	FieldOrganization = "organization"
	FieldID           = "id"
	FieldLegacyID     = "legacyId"
	FieldVersion      = "version"  // version of a dashboard
	FieldPublicID     = "publicId" // absent for a record without a public id
	FieldGroupIDs     = "groupIds" // multi-valued: Dashboard.GroupIDs
	FieldSlug         = "slug"
	FieldPlace        = "place"      // place of a dashboard or template in its organization
	FieldKind         = "kind"       // kind of a template
	FieldOverridden   = "overridden" // absent for a component without a state by hand
	fieldName         = "name"
	FieldHosts        = "hosts"        // multi-valued
	FieldComponents   = "components"   // multi-valued
	FieldExternalRefs = "externalRefs" // multi-valued

	FieldLinks   = "links"   // multi-valued: legacy ids of the links
	FieldUpdated = "updated" // absent for an event without timeline
	FieldOpen    = "open"    // absent for a closed event
	FieldDueAt   = "dueAt"   // time of the next step of a scheduler; absent for a record without a next step
	FieldListed  = "listed"  // multi-valued: Event.ListKeys
	FieldStart   = "start"
	FieldUntil   = "until"  // Event.Until
	FieldSearch  = "search" // Event.SearchText
	// FieldExternalID is absent for a closed event and for an event without an external id.
	FieldExternalID  = "externalId"
	FieldCorrelation = "correlation" // the external id of an open or closed event; absent for an event without an external id
	FieldInbound     = "inbound"     // multi-valued: Event.InboundIDs
	// The fields of ImportMark are absent for an event that was not imported.
	FieldImportKey     = "importKey"
	FieldImportRun     = "importRun"
	FieldImportChanged = "importChanged"

	FieldType     = "type"
	FieldStatus   = "status"
	FieldSeverity = "severity"
	FieldAuthor   = "author"

	FieldEvent     = "event" // event id in a row or an alias; also the prefix for FactField
	FieldComponent = "component"

	FieldDashboard = "dashboard" // dashboard id of an alias
	FieldPath      = "path"
	FieldPresent   = "present" // Alias.Present
)

// The first field of the indexes down to IndexImportRun is the organization, except for IndexID of deleted imports. The
// name of an index says which fields follow.
const (
	IndexOrganization  = "org"
	IndexLegacyID      = "org_legacy"
	IndexID            = "org_id"
	IndexPublicID      = "org_public_id"
	IndexGroupIDs      = "org_group_ids"
	IndexPlaced        = "org_component" // index of dashboards and templates over their components
	IndexKind          = "org_kind"
	IndexOverridden    = "org_overridden"
	IndexPlace         = "org_place"
	IndexExternalRef   = "org_external_ref"
	IndexGroup         = "org_group_legacy"
	IndexName          = "org_name_legacy"
	IndexType          = "org_type_legacy"
	IndexStatus        = "org_status_legacy"
	IndexTypeStatus    = "org_type_status_legacy"
	IndexComponent     = "org_component_legacy"
	IndexLink          = "org_link_legacy"
	IndexEventLegacyID = "org_event_legacy" // index of rows over the legacy id of their event
	IndexOpen          = "org_open"
	IndexListed        = "org_listed_start"
	IndexStart         = "org_start"
	IndexExternalID    = "org_external"
	IndexCorrelation   = "org_correlation_until"
	IndexInbound       = "org_inbound"
	IndexImportKey     = "org_import_key"
	IndexImportRun     = "org_import_run"

	// The organization is not the first field of the following indexes.
	IndexSlug  = "slug"
	IndexHost  = "host"
	IndexDue   = "due"
	IndexEvent = "event" // index of rows and aliases over the id of the event

	IndexPath           = "dashboard_path"
	IndexAliasComponent = "component" // index of aliases over the id of the component
)

// FactField returns the name by which a query finds a field of an event. In a query of events, prefix is empty, and the
// result is the name. In a query of rows, which have copies of the event's fields, the result is prefix and the name with
// a capital first letter.
func FactField(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + strings.ToUpper(name[:1]) + name[1:]
}

// OfEvent returns the name that a field of the event has in the rows of its links and updates.
func OfEvent(field string) string { return FactField(FieldEvent, field) }
