package catalog

import "time"

// EventFacts has Published and the fields of an event by which the legacy lists of links and updates can be filtered.
// Each row of a link or an update contains a copy of them, so that a filter needs only one query.
type EventFacts struct {
	LegacyID                int64      `json:"legacyId"`
	Type                    EventType  `json:"type"`
	Status                  Status     `json:"status"`
	Severity                string     `json:"severity"`
	Description             string     `json:"description"`
	DescriptionMarkdown     bool       `json:"descriptionMarkdown"`
	Impact                  string     `json:"impact"`
	ImpactMarkdown          bool       `json:"impactMarkdown"`
	Coordinator             string     `json:"coordinator"`
	CoordinatorMarkdown     bool       `json:"coordinatorMarkdown"`
	Start                   time.Time  `json:"start"`
	End                     *time.Time `json:"end"`
	Auto                    bool       `json:"auto"`
	HiddenFromDashboard     bool       `json:"hiddenFromDashboard"`
	HiddenFromUptimeReports bool       `json:"hiddenFromUptimeReports"`
	Author                  int64      `json:"author"`
	Published               bool       `json:"published"`
}

func (e *Event) Facts() EventFacts {
	return EventFacts{
		LegacyID: e.LegacyID, Type: e.Type, Status: e.Status, Severity: e.Severity,
		Description: e.BriefDescription(), DescriptionMarkdown: e.Description.IsMarkdown(),
		Impact: e.Impact.Brief(BriefExtra), ImpactMarkdown: e.Impact.IsMarkdown(),
		Coordinator: e.Coordinator.Brief(BriefExtra), CoordinatorMarkdown: e.Coordinator.IsMarkdown(),
		Start: e.StartAt, End: e.End(), Auto: e.AutoStart && e.AutoEnd, HiddenFromDashboard: e.HiddenFromDashboard,
		HiddenFromUptimeReports: e.HiddenFromUptimeReports, Author: e.CreatedBy.LegacyUserID, Published: e.Published,
	}
}

// LinkRow is a link of an event for the legacy list of links. Its key is EventID and ComponentID. An event with
// dashboards instead of components has one row, with DashboardIDs and without ComponentID. No list shows this row.
type LinkRow struct {
	LegacyID       int64      `json:"legacyId"`
	OrganizationID string     `json:"organizationId"`
	EventID        string     `json:"eventId"`
	ComponentID    string     `json:"componentId"`
	DashboardIDs   []string   `json:"dashboardIds"`
	Event          EventFacts `json:"event"`
}

// linkRows returns the rows of the event's links by legacy id. For an event with dashboards instead of components, it
// returns one row, which has the legacy id 0.
func (e *Event) linkRows() map[int64]LinkRow {
	rows := make(map[int64]LinkRow, len(e.Links))
	facts := e.Facts()
	for _, link := range e.Links {
		rows[link.LegacyID] = LinkRow{LegacyID: link.LegacyID, OrganizationID: e.OrganizationID, EventID: e.ID, ComponentID: link.ComponentID, Event: facts}
	}
	if len(e.Links) == 0 && len(e.DashboardIDs) > 0 {
		rows[0] = LinkRow{OrganizationID: e.OrganizationID, EventID: e.ID, DashboardIDs: e.DashboardIDs, Event: facts}
	}
	return rows
}

// updateRows returns the rows of the timeline by legacy id.
func (e *Event) updateRows() map[int64]UpdateRow {
	rows := make(map[int64]UpdateRow, len(e.Timeline))
	facts := e.Facts()
	for _, entry := range e.Timeline {
		rows[entry.LegacyID] = updateRowOf(e, entry, facts)
	}
	return rows
}

// UpdateRow is a timeline entry of an event for the legacy list of updates. Its key is StatusID.
type UpdateRow struct {
	StatusID       string     `json:"statusId"`
	LegacyID       int64      `json:"legacyId"`
	OrganizationID string     `json:"organizationId"`
	EventID        string     `json:"eventId"`
	Status         Status     `json:"status"`
	Text           string     `json:"text"`
	Markdown       bool       `json:"markdown"`
	Date           time.Time  `json:"date"`
	Author         int64      `json:"author"`
	Event          EventFacts `json:"event"`
}

func UpdateRowOf(e *Event, entry Entry) UpdateRow { return updateRowOf(e, entry, e.Facts()) }

func updateRowOf(e *Event, entry Entry, facts EventFacts) UpdateRow {
	return UpdateRow{
		StatusID: entry.StatusID, LegacyID: entry.LegacyID, OrganizationID: e.OrganizationID, EventID: e.ID,
		Status: entry.Status, Text: entry.Message.Brief(BriefText), Markdown: entry.Message.IsMarkdown(),
		Date: entry.Timestamp, Author: entry.Author.LegacyUserID, Event: facts,
	}
}
