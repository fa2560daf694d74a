package site

// wording returns our word for a key in the dashboard's locale. englishWords has the keys that the files of this
// package other than pages use.
type wording func(key string) string

func english(key string) string { return englishWords()[key] }

func englishWords() map[string]string {
	return map[string]string{
		"status.investigating": "Investigating",
		"status.identified":    "Identified",
		"status.monitoring":    "Monitoring",
		"status.resolved":      "Resolved",
		"status.planning":      "Planned",
		"status.started":       "Started",
		"status.inprogress":    "In progress",
		"status.verifying":     "Verifying",
		"status.completed":     "Completed",
		"status.update":        "Update",

		"state.operational":          "Operational",
		"state.under_maintenance":    "Under maintenance",
		"state.degraded_performance": "Degraded performance",
		"state.partial_outage":       "Partial outage",
		"state.major_outage":         "Major outage",
		"state.incident":             "Incident", // an incident is open, and no component is impaired

		"feed.history":      "Incidents and maintenance",
		"calendar.planned":  "Planned maintenance",
		"calendar.affected": "Affected",
		"embed.close":       "Close",
		"embed.details":     "Details",
	}
}
