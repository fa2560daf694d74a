package legacy

import "slices"

// Named is one value of a lookup, with its permanent id.
type Named struct {
	ID   int64
	Name string
}

// Statuses serves status/: the ten values of the status of an event or an update.
func Statuses() Declared { return lookup("status", statusNames()) }

// Severities serves severity/.
func Severities() Declared { return lookup("severity", severityNames()) }

// Types serves type/: the two types of events.
func Types() Declared { return lookup("type", typeNames()) }

// StatusRelation, SeverityRelation and TypeRelation refer to the lookups. Their keys are the names, so the Find of such
// a field has the name. A body may send the name by value, and filters like status__status__in need no further query.
func StatusRelation() *Relation { return lookupRelation("status", statusNames()) }

// SeverityRelation: see StatusRelation.
func SeverityRelation() *Relation { return lookupRelation("severity", severityNames()) }

// TypeRelation: see StatusRelation.
func TypeRelation() *Relation { return lookupRelation("type", typeNames()) }

// StatusView is a nested status: {"resource_uri": ..., "status": ...}.
type StatusView struct {
	ResourceURI string `json:"resource_uri"`
	Status      string `json:"status"`
}

// SeverityView is a nested severity.
type SeverityView struct {
	ResourceURI string `json:"resource_uri"`
	Severity    string `json:"severity"`
}

// TypeView is a nested type.
type TypeView struct {
	ResourceURI string `json:"resource_uri"`
	Type        string `json:"type"`
}

// ViewStatus returns the view of a status.
func ViewStatus(name string) StatusView {
	return StatusView{ResourceURI: lookupURI("status", statusNames(), name), Status: name}
}

// ViewSeverity returns the view of a severity, and nil for none.
func ViewSeverity(name string) *SeverityView {
	if name == "" {
		return nil
	}
	return &SeverityView{ResourceURI: lookupURI("severity", severityNames(), name), Severity: name}
}

// ViewType returns the view of a type.
func ViewType(name string) TypeView {
	return TypeView{ResourceURI: lookupURI("type", typeNames(), name), Type: name}
}

func statusNames() []Named {
	return number("planning", "investigating", "resolved", "started", "completed",
		"inprogress", "verifying", "update", "identified", "monitoring")
}

func severityNames() []Named {
	return number("minor_performance", "major_performance", "minor_outage", "major_outage")
}

func typeNames() []Named { return number("incident", "maintenance") }

func number(names ...string) []Named {
	out := make([]Named, len(names))
	for i, name := range names {
		out[i] = Named{ID: int64(i + 1), Name: name}
	}
	return out
}

func lookupURI(resource string, all []Named, name string) string {
	one, _ := namedBy(all, func(one Named) bool { return one.Name == name })
	if one.ID == 0 {
		return ""
	}
	return URI(resource, one.ID)
}

func namedBy(all []Named, is func(Named) bool) (Named, bool) {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return Named{}, false
	}
	return all[i], true
}
