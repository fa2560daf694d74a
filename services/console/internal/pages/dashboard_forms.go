package pages

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	locales "github.com/bellbuoy/bellbuoy/libs/words"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// maxLink is the maximum number of characters of an address.
const maxLink = 2048

// ticked returns the values of a Tick: "on" if it is ticked, and none otherwise.
func ticked(is bool) []string {
	if is {
		return []string{"on"}
	}
	return nil
}

func lookForm(d dashboardRecord) *forms.Form {
	languages := []forms.Option{}
	for _, tag := range locales.Tags() {
		languages = append(languages, forms.Option{Value: tag, Label: tag})
	}
	form := forms.New("", "",
		&forms.Field{Kind: forms.Text, Name: "name", Label: "Name", Required: true, Max: 100, Values: []string{d.Name}},
		&forms.Field{Kind: forms.Area, Name: "description", Label: "Description", Max: 1000, Values: []string{d.Description}},
		&forms.Field{Kind: forms.URL, Name: "logoUrl", Label: "Address of the logo", Max: maxLink, Members: []string{"branding.logoUrl"}, Values: []string{string(d.Branding.LogoURL)}},
		&forms.Field{Kind: forms.URL, Name: "faviconUrl", Label: "Address of the favicon", Max: maxLink, Members: []string{"branding.faviconUrl"}, Values: []string{string(d.Branding.FaviconURL)}},
		&forms.Field{Kind: forms.Text, Name: "primaryColor", Label: "Colour", Max: 7, Hint: "Such as #1a73e8.", Members: []string{"branding.primaryColor"}, Values: []string{string(d.Branding.PrimaryColor)}},
		&forms.Field{Kind: forms.Segments, Name: "theme", Label: "Theme", Members: []string{"branding.theme"}, Values: []string{d.Branding.Theme}, Options: []forms.Option{{Value: "auto", Label: "As the visitor's device"}, {Value: "light", Label: "Light"}, {Value: "dark", Label: "Dark"}}},
		&forms.Field{Kind: forms.Select, Name: "locale", Label: "Language", Plain: true, Options: languages, Values: []string{d.Locale}},
		&forms.Field{Kind: forms.Text, Name: "timezone", Label: "Time zone", Required: true, Hint: "A name such as Europe/Berlin.", Values: []string{d.Timezone}},
		&forms.Field{Kind: forms.URL, Name: "homepageUrl", Label: "Address of your home page", Max: maxLink, Members: []string{"links.homepageUrl"}, Values: []string{string(d.Links.HomepageURL)}},
		&forms.Field{Kind: forms.Text, Name: "supportUrl", Label: "Address for support", Max: maxLink, Hint: "https: or mailto:", Members: []string{"links.supportUrl"}, Values: []string{string(d.Links.SupportURL)}},
		&forms.Field{Kind: forms.Area, Name: "navigation", Label: "Links at the top", Max: 9000, Hint: "One on each line: text, blank, address. At most 4.", Members: []string{"links"}, Values: []string{writeLinks(d.Links.Navigation)}})
	return form
}

// writeLinks returns links as lines. A line has the text of a link, a blank and the address.
func writeLinks(links []app.NavigationLink) string {
	lines := []string{}
	for _, link := range links {
		lines = append(lines, link.Text+" "+link.Href)
	}
	return strings.Join(lines, "\n")
}

// readLinks returns the links in lines as writeLinks writes them. A line without a blank is an address without a text.
func readLinks(text string) []app.NavigationLink {
	links := []app.NavigationLink{}
	for _, line := range linesOf(text) {
		at := strings.LastIndex(line, " ")
		links = append(links, app.NavigationLink{Text: strings.TrimSpace(line[:max(at, 0)]), Href: line[at+1:]})
	}
	return links
}

// linesOf returns the lines that are not empty, without blanks at their ends.
func linesOf(text string) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func lookChange(form *forms.Form, _ dashboardRecord) app.Preview {
	text := func(name string) *string { return new(form.Value(name)) }
	link := func(name string) app.Nullable { return app.Nullable(form.Value(name)) }
	return app.Preview{Dashboard: &app.DashboardChange{
		Name: text("name"), Description: text("description"), Timezone: text("timezone"), Locale: text("locale"),
		Branding: &app.Branding{LogoURL: link("logoUrl"), FaviconURL: link("faviconUrl"), PrimaryColor: link("primaryColor"), Theme: form.Value("theme")},
		Links:    &app.Links{HomepageURL: link("homepageUrl"), SupportURL: link("supportUrl"), Navigation: readLinks(form.Value("navigation"))},
	}}
}

// moduleLabel returns the name of a module for members.
func moduleLabel(name string) string {
	return map[string]string{
		"announcement": "Announcement", "overallStatus": "Overall status", "activeIncidents": "Open incidents", "activeMaintenance": "Maintenance in progress", "components": "Components",
		"uptimeHistory": "Uptime", "upcomingMaintenance": "Upcoming maintenance", "eventHistory": "Past events", "subscribe": "Subscribe", "about": "About",
	}[name]
}

// flags returns pointers to the fields of Modules, by the name of the module.
func flags(m *app.Modules) map[string]*bool {
	return map[string]*bool{
		"announcement": &m.Announcement, "overallStatus": &m.OverallStatus, "activeIncidents": &m.ActiveIncidents, "activeMaintenance": &m.ActiveMaintenance, "components": &m.Components,
		"uptimeHistory": &m.UptimeHistory, "upcomingMaintenance": &m.UpcomingMaintenance, "eventHistory": &m.EventHistory, "subscribe": &m.Subscribe, "about": &m.About,
	}
}

func numbers(unit string, values ...int) (options []forms.Option) {
	for _, value := range values {
		options = append(options, forms.Option{Value: strconv.Itoa(value), Label: strings.TrimSpace(strconv.Itoa(value) + " " + unit)})
	}
	return options
}

func contentForm(d dashboardRecord) *forms.Form {
	announcement := &forms.Field{Kind: forms.Area, Name: "announcement", Label: "Announcement", Max: 20_000, Hint: notation, Values: []string{typedText(string(d.Content.Announcement))}}
	order := &forms.Field{Kind: forms.Order, Name: "order", Label: "Order", Values: d.Content.Order, Max: 50}
	modules := &forms.Field{Kind: forms.Ticks, Name: "modules", Label: "Shown"}
	shown := flags(&d.Content.Modules)
	for _, name := range d.Content.Order {
		order.Options = append(order.Options, forms.Option{Value: name, Label: moduleLabel(name)})
		if is := shown[name]; is != nil && *is {
			modules.Values = append(modules.Values, name)
		}
	}
	modules.Options = order.Options
	u := d.Content.Uptime
	number := func(n int) []string { return []string{strconv.Itoa(n)} }
	return forms.New("", "", announcement, order, modules, &forms.Field{Kind: forms.Hidden, Name: "move"},
		&forms.Field{Kind: forms.Select, Name: "windowDays", Label: "Days of the uptime", Plain: true, Options: numbers("days", 30, 60, 90), Values: number(u.WindowDays), Members: []string{"uptime.windowDays"}},
		&forms.Field{Kind: forms.Tick, Name: "showPercentage", Label: "Show the uptime as a percentage", Values: ticked(u.ShowPercentage)},
		&forms.Field{Kind: forms.Select, Name: "precision", Label: "Decimal places of the percentage", Plain: true, Options: numbers("", 0, 1, 2, 3), Values: number(u.Precision), Members: []string{"uptime.precision"}},
		&forms.Field{Kind: forms.Text, Name: "partialOutageWeight", Label: "Weight of a partial outage", Required: true, Max: 8, Hint: "From 0 (does not count) to 1 (counts as an outage).", Values: []string{strconv.FormatFloat(u.PartialOutageWeight, 'f', -1, 64)}, Members: []string{"uptime"}},
		&forms.Field{Kind: forms.Select, Name: "historyDays", Label: "Days of past events", Plain: true, Options: numbers("days", 7, 14, 30, 90), Values: number(u.HistoryDays), Members: []string{"uptime.historyDays"}})
}

func contentChange(form *forms.Form, d dashboardRecord) app.Preview {
	number := func(name string) int { n, _ := strconv.Atoi(form.Value(name)); return n } // Read has checked the options
	content := app.Content{Order: form.Field("order").Values, Announcement: app.Nullable(richText(form.Value("announcement"), string(d.Content.Announcement)))}
	for name, is := range flags(&content.Modules) {
		*is = form.Field("modules").Has(name)
	}
	weight, err := strconv.ParseFloat(strings.Replace(form.Value("partialOutageWeight"), ",", ".", 1), 64)
	if _, failed := json.Marshal(weight); err != nil || failed != nil {
		weight = -1 // the App interface refuses the value at its field
	}
	content.Uptime = app.Uptime{WindowDays: number("windowDays"), ShowPercentage: form.Ticked("showPercentage"), Precision: number("precision"), PartialOutageWeight: weight, HistoryDays: number("historyDays")}
	return app.Preview{Content: &content}
}

func placementForm(d dashboardRecord) *forms.Form {
	components := &forms.Field{Kind: forms.Order, Name: "components", Label: "Components", Max: 36}
	groups := &forms.Field{Kind: forms.Order, Name: "groups", Label: "Groups", Max: 100}
	add := &forms.Field{Kind: forms.Ticks, Name: "add", Label: "Add components"}
	for _, placed := range d.Dashboard.Components {
		components.Values, groups.Values = append(components.Values, placed.ComponentID), append(groups.Values, placed.GroupName)
	}
	for _, c := range d.Known {
		components.Options = append(components.Options, forms.Option{Value: c.ID, Label: c.Name})
	}
	add.Options = components.Options
	return forms.New("", "", components, groups, add, &forms.Field{Kind: forms.Hidden, Name: "move", Max: maxLink},
		&forms.Field{Kind: forms.Hidden, Name: "find"}, &forms.Field{Kind: forms.Hidden, Name: "after", Max: maxLink})
}

func placementChange(form *forms.Form, _ dashboardRecord) app.Preview {
	placed, groups := []app.Placement{}, form.Field("groups").Values
	for i, id := range form.Field("components").Values {
		one := app.Placement{ComponentID: id}
		if i < len(groups) {
			one.GroupName = groups[i]
		}
		placed = append(placed, one)
	}
	return app.Preview{Components: &placed}
}

func accessForm(d dashboardRecord) *forms.Form {
	password := &forms.Field{Kind: forms.Password, Name: "password", Label: "Password for visitors", Max: 128, Autocomplete: "new-password", Plain: true, Hint: "8 to 128 characters, for the access with a password.", Members: []string{"access.password"}}
	if d.Access.PasswordSet {
		password.Hint = "Enter the password again, or a new one. The present one cannot be shown."
	}
	forget := &forms.Field{Kind: forms.Hidden, Name: "forget"}
	if d.Access.PasswordSet {
		forget = &forms.Field{Kind: forms.Tick, Name: "forget", Label: "Delete the stored password", Hint: "Any other access than with a password deletes it, and nobody can read it afterwards. If you change back later, you set a new password."}
	}
	return forms.New("", "",
		&forms.Field{Kind: forms.Tick, Name: "enabled", Label: "Published", Hint: "Without this tick, visitors find nothing at the address.", Values: ticked(d.Enabled)},
		&forms.Field{Kind: forms.Tick, Name: "searchIndexing", Label: "Search engines may list it", Values: ticked(d.SearchIndexing)},
		&forms.Field{Kind: forms.Segments, Name: "mode", Label: "Who may read it", Required: true, Members: []string{"access.mode"}, Values: []string{d.Access.Mode}, Options: []forms.Option{{Value: "public", Label: "Everybody", Icon: "people"}, {Value: "password", Label: "With a password", Icon: "lock"}, {Value: "ipAllowlist", Label: "From some addresses", Icon: "shield"}}},
		password, forget,
		&forms.Field{Kind: forms.Area, Name: "allowedIps", Label: "IP addresses", Max: 10_000, Hint: "One on each line, such as 192.0.2.7 or 192.0.2.0/24. The list stays while another access is chosen.", Members: []string{"access"}, Values: []string{strings.Join(d.Access.AllowedIPs, "\n")}})
}

func accessChange(form *forms.Form, d dashboardRecord) app.Preview {
	change := app.DashboardChange{Enabled: new(form.Ticked("enabled")), SearchIndexing: new(form.Ticked("searchIndexing"))}
	mode, ips := form.Value("mode"), linesOf(form.Value("allowedIps"))
	typed := form.Value("password")
	switch {
	case mode == "password" && d.Access.PasswordSet && form.Ticked("forget"):
		form.Field("forget").Problem = "Choose another access to delete the password."
	case mode != "password" && typed != "":
		form.Field("password").Problem = "A password is used only with the access “With a password”. Choose that, or leave this field empty."
	}
	// Without a typed password, the stored one stays as long as the access is with a password.
	if mode == "password" && d.Access.Mode == mode && typed == "" {
		if !slices.Equal(ips, d.Access.AllowedIPs) {
			form.Field("password").Problem = "Enter the password, too. The list of addresses cannot be changed without it."
		}
		return app.Preview{Dashboard: &change}
	}
	change.Access = &app.NewAccess{Mode: mode, AllowedIPs: &ips}
	if mode == "password" {
		change.Access.Password = typed
	} else if d.Access.PasswordSet && !form.Ticked("forget") {
		form.Field("forget").Problem = "Tick this box to change the access. The stored password is deleted then."
	}
	return app.Preview{Dashboard: &change}
}

func domainsForm(d dashboardRecord) *forms.Form {
	return forms.New("", "",
		&forms.Field{Kind: forms.Text, Name: "slug", Label: "Name in the address", Required: true, Max: 63, Hint: "Links to the former address stop working.", Values: []string{d.Slug}},
		&forms.Field{Kind: forms.Area, Name: "customDomains", Label: "Custom domains", Max: 1500, Hint: "One on each line, such as status.example.com. At most 5.", Values: []string{strings.Join(d.CustomDomains, "\n")}},
		&forms.Field{Kind: forms.Text, Name: "publicId", Label: "Id on a former page", Max: 64, Hint: "Programs that read api/v2 of the dashboard, and webhooks as of Statuspage, get this id.", Values: []string{string(d.PublicID)}},
		&forms.Field{Kind: forms.Area, Name: "groupPublicIds", Label: "Ids of groups on a former page", Max: 100_000, Hint: "One on each line: name of the group, blank, id. A group that is not named here has an id of its own.", Values: []string{writeGroupIDs(d.GroupPublicIDs)}})
}

// writeGroupIDs returns the ids of groups as lines, in the order of the names.
func writeGroupIDs(ids map[string]string) string {
	lines := []string{}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		lines = append(lines, name+" "+ids[name])
	}
	return strings.Join(lines, "\n")
}

// readGroupIDs returns the ids of groups by name, or a text about the first wrong line.
func readGroupIDs(text string) (ids map[string]string, wrong string) {
	ids = map[string]string{}
	for _, line := range linesOf(text) {
		at := strings.LastIndexAny(line, " \t")
		if at < 0 {
			return nil, "Write each line as “Payments 4hlkm5xd7zrw”. This line is not like that: " + line
		}
		name := strings.TrimSpace(line[:at])
		if ids[name] != "" {
			return nil, "Two lines name the group “" + name + "”. Remove one of them."
		}
		ids[name] = line[at+1:]
	}
	return ids, ""
}

// atGroup adds the name of the group to an error about the id of a group, and sets the Field of the error to groupPublicIds.
// It returns any other error unchanged.
func atGroup(err error) error {
	failed := app.As(err)
	if failed == nil {
		return err
	}
	quoted, is := strings.CutPrefix(strings.TrimSuffix(failed.Field, "]"), "groupPublicIds[")
	if name, wrong := strconv.Unquote(quoted); is && wrong == nil {
		failed.Field, failed.Message = "groupPublicIds", "The id of “"+isolate(name)+"” "+strings.TrimSuffix(failed.Message, ".")+"."
	}
	return err
}

func domainsChange(form *forms.Form, _ dashboardRecord) app.Preview {
	groups := form.Field("groupPublicIds")
	ids, wrong := readGroupIDs(groups.Value())
	if wrong != "" {
		groups.Problem = wrong
	}
	return app.Preview{Dashboard: &app.DashboardChange{Slug: new(form.Value("slug")), CustomDomains: new(linesOf(form.Value("customDomains"))), PublicID: new(app.Nullable(form.Value("publicId"))), GroupPublicIDs: &ids}}
}

func subscriptionsForm(d dashboardRecord) *forms.Form {
	field := &forms.Field{Kind: forms.Ticks, Name: "channels", Label: "Visitors may subscribe by", Options: channels(), Members: []string{"subscriptions"}}
	on := channelFlags(&d.Subscriptions)
	for _, option := range field.Options {
		if *on[option.Value] {
			field.Values = append(field.Values, option.Value)
		}
	}
	return forms.New("", "", field)
}

// channelFlags returns pointers to the fields of Subscriptions, by channel.
func channelFlags(s *app.Subscriptions) map[string]*bool {
	return map[string]*bool{"email": &s.Email, "sms": &s.SMS, "whatsapp": &s.WhatsApp, "webhook": &s.Webhook, "teams": &s.Teams, "gchat": &s.GChat, "slack": &s.Slack, "discord": &s.Discord}
}

func subscriptionsChange(form *forms.Form, _ dashboardRecord) app.Preview {
	var out app.Subscriptions
	for channel, on := range channelFlags(&out) {
		*on = slices.Contains(form.Field("channels").Values, channel)
	}
	return app.Preview{Dashboard: &app.DashboardChange{Subscriptions: &out}}
}
