package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Template is a prepared text for an event or a timeline entry. A client fills a form with the template. An event does not
// name the template from which it was made.
type Template struct {
	ID             string       `json:"id" audit:"id"`
	OrganizationID string       `json:"organizationId"`
	Place          int64        `json:"place"` // a number that is unique in the organization, see freePlace
	Kind           TemplateKind `json:"kind" audit:"kind"`
	Name           string       `json:"name" audit:"name"`
	Status         Status       `json:"status" audit:"status,null"` // empty: none
	Title          string       `json:"title" audit:"title,null"`   // empty: none
	Message        Rich         `json:"message" audit:"message"`
	Severity       string       `json:"severity" audit:"severity,null"` // empty: none
	ComponentIDs   []string     `json:"componentIds" audit:"componentIds"`
	Impact         Impact       `json:"impact" audit:"impact,null"` // impact on each of the components; empty: the default of the event
	CreatedAt      time.Time    `json:"createdAt" audit:"createdAt"`
	UpdatedAt      time.Time    `json:"updatedAt" audit:"updatedAt,quiet"`
	Version        int64        `json:"version" audit:"version,quiet"`
}

// TemplateKind is what a template is for: a new incident, a new maintenance, or an entry of a timeline.
type TemplateKind string

const (
	IncidentTemplate    TemplateKind = "incident"
	MaintenanceTemplate TemplateKind = "maintenance"
	UpdateTemplate      TemplateKind = "update"
)

const (
	maxTemplates    = 100 // templates of an organization
	maxTemplateName = 100
)

// allows reports whether a template of the kind may have the status.
func (k TemplateKind) allows(s Status) bool {
	if k == UpdateTemplate {
		return s == StatusUpdate || Incident.allows(s) || Maintenance.allows(s)
	}
	return EventType(k).allows(s)
}

// check returns an Invalid fault that names the first wrong field. It also removes duplicate components. former is the
// template before the change, or empty.
func (t *Template) check(former *Template) error {
	switch {
	case !slices.Contains([]TemplateKind{IncidentTemplate, MaintenanceTemplate, UpdateTemplate}, t.Kind):
		return fault.Field("kind", alternativesFormat, "incident, maintenance, update")
	case blank(t.Name) || utf8.RuneCountInString(t.Name) > maxTemplateName:
		return fault.Field("name", "must be 1 to %d characters, not only white space", maxTemplateName)
	case t.Status != "" && !t.Kind.allows(t.Status):
		return fault.Field("status", "must be a status of the kind %s", t.Kind)
	case t.Kind == UpdateTemplate && t.Title != "":
		return fault.Field("title", "is for the kinds incident and maintenance only")
	case t.Kind == UpdateTemplate && t.Severity != "":
		return fault.Field("severity", "is for the kinds incident and maintenance only")
	case t.Title != "" && blank(t.Title) || utf8.RuneCountInString(t.Title) > maxTitle:
		return fault.Field("title", "must be at most %d characters and not only white space", maxTitle)
	case t.Message.Text != "" && blank(t.Message.Text):
		return fault.Field("message", "must not be only white space")
	case t.Message.Text != "" && t.Message.blank():
		return checkShown("message", t.Message)
	}
	if err := cmp.Or(checkChangedLine("name", t.Name, former.Name), checkChangedLine("title", t.Title, former.Title)); err != nil {
		return err
	}
	t.ComponentIDs = withoutRepeats(t.ComponentIDs)
	if len(t.ComponentIDs) > maxAffected {
		return fault.Field("componentIds", "must be at most %d components", maxAffected)
	}
	return checkChangedText("message", t.Message, former.Message, maxText)
}

// checkComponents returns a fault for the first component of the template that the map there lacks.
func (t *Template) checkComponents(there map[string]Component) error {
	for i, id := range t.ComponentIDs {
		if _, exists := there[id]; !exists {
			return fault.Field("componentIds["+strconv.Itoa(i)+"]", "must be a component of the organization")
		}
	}
	return nil
}

// only removes from the template the components that the map there lacks. A component may have been deleted while the
// template was written.
func (t *Template) only(there map[string]Component) {
	t.ComponentIDs = slices.DeleteFunc(slices.Clone(t.ComponentIDs), func(id string) bool { _, exists := there[id]; return !exists })
}

func (t *Template) touch(now time.Time) {
	t.UpdatedAt = now
	t.Version++
}

func withoutRepeats(ids []string) []string {
	out, known := []string{}, map[string]bool{}
	for _, id := range ids {
		if !known[id] {
			out = append(out, id)
		}
		known[id] = true
	}
	return out
}

func componentsOfTemplates(templates []Template) (ids []string) {
	for _, componentIDs := range find.Values(templates, func(t Template) []string { return t.ComponentIDs }) {
		ids = append(ids, componentIDs...)
	}
	return ids
}
