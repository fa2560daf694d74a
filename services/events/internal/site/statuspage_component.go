package site

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
	"github.com/bellbuoy/bellbuoy/services/events/internal/uptime"
	"github.com/google/uuid"
)

// statusComponent is a component, or a group of components.
type statusComponent struct {
	ID                 string         `json:"id"`
	Name               string         `json:"name"`
	Status             catalog.Impact `json:"status"`
	CreatedAt          *string        `json:"created_at"`
	UpdatedAt          *string        `json:"updated_at"`
	Position           *int           `json:"position"` // position within the page or the group, beginning with 1
	Description        *string        `json:"description"`
	Showcase           bool           `json:"showcase"`   // whether the page shows the uptime
	StartDate          *string        `json:"start_date"` // the first measured day
	GroupID            *string        `json:"group_id"`
	PageID             string         `json:"page_id"`
	Group              bool           `json:"group"`
	OnlyShowIfDegraded bool           `json:"only_show_if_degraded"`
	Components         []string       `json:"components,omitempty"` // ids of the components of a group; only in a group

	record string // the platform's id of a component
}

// groupID returns the id of a group. Groups are not stored as records. The id of a group without a public id is computed
// from the id of the dashboard and the name of the group.
func groupID(s *edition.Snapshot, name string) string {
	if id := s.Dashboard.GroupPublicIDs[name]; id != "" {
		return id
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(s.Dashboard.ID+"/groups/"+name)).String()
}

// statusComponentsOf returns the components and groups in the order of the page. A group is where its first component
// is on the page. All components of the group follow the group.
func statusComponentsOf(s *edition.Snapshot) []statusComponent {
	members := map[string][]*edition.ShownComponent{}
	for i := range s.Components {
		component := &s.Components[i]
		members[component.Group] = append(members[component.Group], component)
	}
	zone := s.Dashboard.Zone()
	list, position := []statusComponent{}, 0
	for i := range s.Components {
		component := &s.Components[i]
		switch of := members[component.Group]; {
		case component.Group == "":
			position++
			list = append(list, statusComponentOf(s, component, position, zone))
		case of[0] == component:
			position++
			list = append(list, statusGroupOf(s, of, position, zone))
			for j, member := range of {
				list = append(list, statusComponentOf(s, member, j+1, zone))
			}
		}
	}
	return list
}

func statusComponentOf(s *edition.Snapshot, c *edition.ShownComponent, position int, zone *time.Location) statusComponent {
	component := statusComponent{
		record: c.ID, ID: catalog.ShownID(c.PublicID, c.ID), Name: richtext.Line(c.Name), Status: worst(c.State), CreatedAt: stamp(&c.Since), UpdatedAt: stamp(&c.UpdatedAt),
		Position: &position, Showcase: s.Dashboard.Content.Modules.UptimeHistory, StartDate: startDate(c.Since, zone),
		PageID: pageID(s), Description: optional.OrNull(richtext.Text(c.Description)),
	}
	if c.Group != "" {
		component.GroupID = new(groupID(s, c.Group))
	}
	return component
}

// statusGroupOf returns the group with the given members. CreatedAt is the earliest Since of the members, and UpdatedAt
// is their latest UpdatedAt.
func statusGroupOf(s *edition.Snapshot, members []*edition.ShownComponent, position int, zone *time.Location) statusComponent {
	name := members[0].Group
	since, updated := members[0].Since, members[0].UpdatedAt
	var ids []string
	var states []catalog.Impact
	for _, member := range members {
		ids, states = append(ids, catalog.ShownID(member.PublicID, member.ID)), append(states, member.State)
		since, updated = uptime.Earlier(since, member.Since), uptime.Later(updated, member.UpdatedAt)
	}
	return statusComponent{
		ID: groupID(s, name), Name: richtext.Line(name), Status: worst(states...), CreatedAt: stamp(&since), UpdatedAt: stamp(&updated),
		Position: &position, StartDate: startDate(since, zone), PageID: pageID(s), Group: true, Components: ids,
	}
}

// startDate returns the date of a time in a zone. It returns nil for the zero time.
func startDate(t time.Time, zone *time.Location) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.In(zone).Format(time.DateOnly))
}

// componentsByID returns the components by the platform's id, without groups.
func componentsByID(s *edition.Snapshot) map[string]statusComponent {
	byID := map[string]statusComponent{}
	for _, component := range statusComponentsOf(s) {
		if !component.Group {
			byID[component.record] = component
		}
	}
	return byID
}
