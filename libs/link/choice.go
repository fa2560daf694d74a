package link

import "github.com/bellbuoy/bellbuoy/libs/topic"

// Choice is a component that a visitor can choose.
type Choice struct {
	ID, Name string
	Chosen   bool
}

// Choices returns the components that the page of the dashboard shows, and which of them are chosen.
func Choices(dashboard topic.DashboardRecord, chosen func(id string) bool) []Choice {
	var choices []Choice
	for _, component := range dashboard.Visible().Components {
		choices = append(choices, Choice{component.ID, component.Name, chosen(component.ID)})
	}
	return choices
}
