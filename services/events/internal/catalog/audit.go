package catalog

import "github.com/bellbuoy/bellbuoy/libs/audit"

// The actions of the audit log other than create, update and delete.
const (
	ActionTimelineCreate = "event.timeline.create"
	ActionTimelineUpdate = "event.timeline.update"
	ActionTimelineDelete = "event.timeline.delete"
	ActionReopen         = "event.reopen"

	ActionNoteCreate       = "event.note.create"
	ActionNoteUpdate       = "event.note.update"
	ActionNoteDelete       = "event.note.delete"
	ActionPostMortemUpdate = "event.post_mortem.update"
	ActionPostMortemDelete = "event.post_mortem.delete"
	ActionImport           = "event.import"
	ActionImportDelete     = "event.import.delete"
	ActionContentUpdate    = "dashboard.content.update"
	ActionComponentsUpdate = "dashboard.components.update"
	ActionAliasesUpdate    = "dashboard.aliases.update"
)

// AuditEntity implements audit.Record.
func (e Event) AuditEntity() audit.Entity {
	return audit.Entity{Organization: e.OrganizationID, Type: "event", ID: e.ID, Name: e.Title}
}

// AuditEntity implements audit.Record.
func (d Dashboard) AuditEntity() audit.Entity {
	return audit.Entity{Organization: d.OrganizationID, Type: "dashboard", ID: d.ID, Name: d.Name}
}

// AuditEntity implements audit.Record.
func (t Template) AuditEntity() audit.Entity {
	return audit.Entity{Organization: t.OrganizationID, Type: "template", ID: t.ID, Name: t.Name}
}

// AuditEntity implements audit.Record.
func (c Component) AuditEntity() audit.Entity {
	return audit.Entity{Organization: c.OrganizationID, Type: "component", ID: c.ID, Name: c.Name}
}
