package legacy

// Named is one value of a lookup, with the id that is fixed for ever.
type Named struct {
	ID   int64
	Name string
}

// Statuses serves status/: the ten values an event or an update may have.
func Statuses() Declared { return lookup("status", "status", statusNames()) }

// Severities serves severity/.
func Severities() Declared { return lookup("severity", "severity", severityNames()) }

// Types serves type/: the two types of events.
func Types() Declared { return lookup("type", "type", typeNames()) }

// StatusRelation, SeverityRelation and TypeRelation refer to the lookups; keys are the
// names, so a field of the type is declared with a Find that holds the name. The name
// may be given by value, and filters like status__status__in need no further query.
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

// ViewStatus shows the status of the name.
func ViewStatus(name string) StatusView {
	return StatusView{ResourceURI: lookupURI("status", statusNames(), name), Status: name}
}

// ViewSeverity shows the severity of the name; nil for none.
func ViewSeverity(name string) *SeverityView {
	if name == "" {
		return nil
	}
	return &SeverityView{ResourceURI: lookupURI("severity", severityNames(), name), Severity: name}
}

// ViewType shows the type of the name.
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
	for _, one := range all {
		if one.Name == name {
			return URI(resource, one.ID)
		}
	}
	return ""
}
