package site

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

//go:embed embed_banner.js
var embedSource string

// embedSettings is the data about the dashboard that the script of the banner gets.
type embedSettings struct {
	Name    string            `json:"name"`
	Page    string            `json:"page"`
	Status  string            `json:"status"` // the address of status.json
	Lang    string            `json:"lang"`
	Colon   string            `json:"colon"` // between a name and its state
	Close   string            `json:"close"`
	Details string            `json:"details"`
	Words   map[string]string `json:"words"`  // texts of the banner, by the description in status.json
	Colors  map[string]string `json:"colors"` // by the indicator in status.json; there is no banner for other indicators
}

// embedJS returns embed.js, which shows a banner on other sites while the indicator of the dashboard is not none.
func embedJS(s *edition.Snapshot, word wording) (File, error) {
	settings, err := json.Marshal(embedSettings{ // Marshal escapes < and >, so the script may also be inside HTML
		Name: richtext.Line(s.Dashboard.Name), Page: s.URL + "/", Status: s.URL + "/api/v2/status.json", Lang: s.Dashboard.Locale,
		Colon: word("format.colon"), Close: word("embed.close"), Details: word("embed.details"),
		Words: map[string]string{
			"Partially Degraded Service": word("state.degraded_performance"),
			"Minor Service Outage":       word("state.incident"),
			"Partial System Outage":      word("state.partial_outage"),
			"Major System Outage":        word("state.major_outage"),
			"Service Under Maintenance":  word("state.under_maintenance"),
		},
		Colors: map[string]string{
			"minor": badgeColor(catalog.Degraded), "major": badgeColor(catalog.PartialOutage),
			"critical": badgeColor(catalog.MajorOutage), "maintenance": badgeColor(catalog.UnderMaintenance),
		},
	})
	body := strings.TrimSpace(withoutComments(embedSource)) + "(" + string(settings) + ");\n"
	return File{Body: []byte(body)}, err
}
