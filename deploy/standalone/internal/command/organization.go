package command

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
)

type organizationCommands struct {
	List   listOrganizations  `cmd:"" help:"List all organizations, oldest first."`
	Show   showOrganization   `cmd:"" help:"Show an organization with its limits."`
	Create createOrganization `cmd:"" help:"Create an organization with its first dashboard."`
	Change changeOrganization `cmd:"" help:"Change an organization. The change takes effect for the next request."`
}

type organization struct {
	ID     string
	Name   string
	Plan   string
	Limits struct{ LegacyPerHour, AppPerMinute, UniqueEndpoints, MaxDashboards int }

	EnabledFeatures struct{ API, Integrations bool }
	Capabilities    struct{ UptimeReports bool }
}

type listOrganizations struct{ connection }

// Run gets all pages and then prints them.
func (c *listOrganizations) Run(ctx context.Context) error {
	whole := struct {
		Organizations []json.RawMessage `json:"organizations"`
	}{[]json.RawMessage{}}
	rows := [][]string{{"ID", "NAME", "PLAN"}}
	for token := ""; ; {
		query := url.Values{"limit": {"100"}}
		if token != "" {
			query.Set("nextToken", token)
		}
		var page struct {
			Organizations []json.RawMessage
			NextToken     string
		}
		if _, err := c.call(ctx, http.MethodGet, address("organizations")+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for _, raw := range page.Organizations {
			var o organization
			if err := json.Unmarshal(raw, &o); err != nil {
				return err
			}
			rows = append(rows, []string{o.ID, o.Name, o.Plan})
		}
		whole.Organizations = append(whole.Organizations, page.Organizations...)
		if token = page.NextToken; token == "" {
			break
		}
	}
	if !c.JSON {
		return printTable(rows)
	}
	content, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	return printBody(content)
}

type showOrganization struct {
	connection
	ID string `arg:"" help:"Id of the organization."`
}

// Run shows the organization.
func (c *showOrganization) Run(ctx context.Context) error {
	return c.organization(ctx, http.MethodGet, address("organizations", c.ID), nil)
}

type createOrganization struct {
	connection
	Name string `arg:"" help:"Name of the organization."`
	Plan string `name:"plan" enum:"free,team,enterprise" default:"team" help:"free, team or enterprise."`
}

// Run creates the organization and shows it.
func (c *createOrganization) Run(ctx context.Context) error {
	return c.organization(ctx, http.MethodPost, address("organizations"), map[string]any{"name": c.Name, "plan": c.Plan})
}

type changeOrganization struct {
	connection
	ID              string `arg:"" help:"Id of the organization."`
	Name            string `name:"name" help:"New name."`
	Plan            string `name:"plan" enum:"free,team,enterprise," default:"" help:"free, team or enterprise."`
	LegacyPerHour   string `name:"legacy-per-hour" placeholder:"N|plan" help:"Calls of a user to /api/v1 in an hour, or plan: the plan's again. The same holds for the other limits and features."`
	AppPerMinute    string `name:"app-per-minute" placeholder:"N|plan" help:"Calls to /app in a minute."`
	UniqueEndpoints string `name:"unique-endpoints" placeholder:"N|plan" help:"Number of different endpoint URLs."`
	MaxDashboards   string `name:"max-dashboards" placeholder:"N|plan" help:"Number of dashboards."`
	API             string `name:"api" enum:"true,false,plan," default:"" placeholder:"true|false|plan" help:"Whether the interfaces are enabled."`
	Integrations    string `name:"integrations" enum:"true,false,plan," default:"" placeholder:"true|false|plan" help:"Whether integrations are enabled."`
	UptimeReports   string `name:"uptime-reports" enum:"true,false,plan," default:"" placeholder:"true|false|plan" help:"Whether uptime reports are available."`
}

// Run changes the organization and shows it.
func (c *changeOrganization) Run(ctx context.Context) error {
	patch := map[string]any{}
	set := func(group, member, text string) error {
		if text == "" {
			return nil
		}
		value, err := orPlan(text)
		if err != nil {
			return err
		}
		if patch[group] == nil {
			patch[group] = map[string]any{}
		}
		patch[group].(map[string]any)[member] = value
		return nil
	}
	if err := errors.Join(
		set("limits", "legacyPerHour", c.LegacyPerHour), set("limits", "appPerMinute", c.AppPerMinute),
		set("limits", "uniqueEndpoints", c.UniqueEndpoints), set("limits", "maxDashboards", c.MaxDashboards),
		set("enabledFeatures", "api", c.API), set("enabledFeatures", "integrations", c.Integrations), set("capabilities", "uptimeReports", c.UptimeReports),
	); err != nil {
		return err
	}
	for member, text := range map[string]string{"name": c.Name, "plan": c.Plan} {
		if text != "" {
			patch[member] = text
		}
	}
	if len(patch) == 0 {
		return errors.New("nothing to change: give at least one of the flags (see -h)")
	}
	return c.organization(ctx, http.MethodPatch, address("organizations", c.ID), patch)
}

// orPlan parses the value of a limit or feature. It returns nil for the text plan: the value of the plan then applies.
func orPlan(text string) (any, error) {
	if text == "plan" {
		return nil, nil
	}
	if text == "true" || text == "false" {
		return text == "true", nil
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return nil, errors.New("a limit must be a whole number or plan, not " + strconv.Quote(text))
	}
	return number, nil
}

// organization sends a request and prints the organization in the response.
func (c connection) organization(ctx context.Context, method, path string, in any) error {
	var out struct {
		Organization organization
		Dashboard    struct{ ID, Slug string }
	}
	return c.show(ctx, method, path, in, &out, func() [][]string {
		o := out.Organization
		return [][]string{
			{"id", o.ID}, {"name", o.Name}, {"plan", o.Plan},
			{"legacy calls per hour", strconv.Itoa(o.Limits.LegacyPerHour)}, {"app calls per minute", strconv.Itoa(o.Limits.AppPerMinute)},
			{"unique endpoints", strconv.Itoa(o.Limits.UniqueEndpoints)}, {"dashboards", strconv.Itoa(o.Limits.MaxDashboards)},
			{"api", strconv.FormatBool(o.EnabledFeatures.API)}, {"integrations", strconv.FormatBool(o.EnabledFeatures.Integrations)},
			{"uptime reports", strconv.FormatBool(o.Capabilities.UptimeReports)},
			{"dashboard", out.Dashboard.Slug + " " + out.Dashboard.ID},
		}
	})
}
