package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// The mapping of Statuspage. A status that is not in statuspageStatus has the same name in both products.
var (
	statuspageStatus = map[string]string{
		"scheduled": "planning", "in_progress": "inprogress", "postmortem": "resolved",
	}
	statuspageSeverity = map[string]string{
		"minor": "minor_performance", "major": "minor_outage", "critical": "major_outage", // none, maintenance: no severity
	}
	statuspageLost = []struct {
		member string
		of     func(statuspagePage) string
	}{
		{"logo", func(p statuspagePage) string { return p.Logo.URL }},
		{"hero_cover", func(p statuspagePage) string { return p.Cover.URL }},
		{"twitter_username", func(p statuspagePage) string { return p.Twitter }},
	}
)

type statuspagePage struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"page_description"`
	Subdomain   string `json:"subdomain"`
	Domain      string `json:"domain"`
	URL         string `json:"url"`
	SupportURL  string `json:"support_url"`
	Zone        string `json:"time_zone"`
	Addresses   string `json:"ip_restrictions"`
	MembersOnly bool   `json:"viewers_must_be_team_members"`
	Unindexed   bool   `json:"hidden_from_search"`
	Email       *bool  `json:"allow_email_subscribers"`
	SMS         *bool  `json:"allow_sms_subscribers"`
	Webhooks    *bool  `json:"allow_webhook_subscribers"`
	Logo        struct {
		URL string `json:"url"`
	} `json:"transactional_logo"`
	Cover struct {
		URL string `json:"url"`
	} `json:"hero_cover"`
	Twitter string `json:"twitter_username"`
}

type statuspageComponent struct {
	ID          string `json:"id"`
	GroupID     string `json:"group_id"`
	Group       bool   `json:"group"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Position    int    `json:"position"`
	Status      string `json:"status"`
	StartDate   string `json:"start_date"`
}

type statuspageGroup struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Components []string `json:"components"`
}

type statuspageIncident struct {
	ID          string                `json:"id"`
	Name        string                `json:"name"`
	Status      string                `json:"status"`
	Impact      string                `json:"impact"`
	Override    string                `json:"impact_override"`
	CreatedAt   string                `json:"created_at"`
	UpdatedAt   string                `json:"updated_at"`
	ResolvedAt  string                `json:"resolved_at"`
	From        string                `json:"scheduled_for"`
	Until       string                `json:"scheduled_until"`
	Remind      bool                  `json:"scheduled_remind_prior"`
	AutoStart   bool                  `json:"scheduled_auto_in_progress"`
	AutoEnd     bool                  `json:"scheduled_auto_completed"`
	TellAtStart bool                  `json:"auto_transition_deliver_notifications_at_start"`
	TellAtEnd   bool                  `json:"auto_transition_deliver_notifications_at_end"`
	Metadata    jsontext.Value        `json:"metadata"`
	PostMortem  string                `json:"postmortem_body"`
	PublishedAt string                `json:"postmortem_published_at"`
	Components  []statuspageComponent `json:"components"`
	Updates     []statuspageUpdate    `json:"incident_updates"`
}

type statuspageUpdate struct {
	ID        string `json:"id"`
	Status    string `json:"status"`
	Body      string `json:"body"`
	DisplayAt string `json:"display_at"`
	CreatedAt string `json:"created_at"`
	Affected  []struct {
		Code   string `json:"code"`
		Name   string `json:"name"`
		Status string `json:"new_status"`
	} `json:"affected_components"`
}

type statuspageSubscriber struct {
	ID            string   `json:"id"`
	Mode          string   `json:"mode"`
	Email         string   `json:"email"`
	Endpoint      string   `json:"endpoint"`
	Phone         string   `json:"phone_number"`
	Display       string   `json:"display_phone_number"`
	State         string   `json:"state"`
	QuarantinedAt string   `json:"quarantined_at"`
	CreatedAt     string   `json:"created_at"`
	Components    []string `json:"components"`
}

// statuspage is the state of readStatuspage: the records as they were found in the files.
type statuspage struct {
	*builder
	page        statuspagePage
	groups      map[string]string // name by id
	components  []statuspageComponent
	incidents   []statuspageIncident
	subscribers []statuspageSubscriber
	known       map[string]bool // ids of components that were added to the set
	groupOf     map[string]string
}

// readStatuspage reads responses of https://api.statuspage.io/v1/pages/{id} and below, saved as files of JSON: one file
// or a folder. It recognizes the records of a file by their members.
func readStatuspage(_ context.Context, b *builder, path string) error {
	in, err := b.openInput(path)
	if err != nil {
		return err
	}
	defer in.close()
	s := &statuspage{builder: b, groups: map[string]string{}, known: map[string]bool{}, groupOf: map[string]string{}}
	for _, name := range in.names {
		if !strings.HasSuffix(name, ".json") && in.folder {
			continue
		}
		content, err := in.read(name)
		if err == nil {
			err = s.file(name, content)
		}
		if err != nil {
			b.warn(fileKey("statuspage", name), "", "%s", err)
		}
	}
	if s.page.ID == "" && len(s.components)+len(s.incidents)+len(s.subscribers) == 0 {
		return b.nothing(path, "records of Statuspage")
	}
	s.write()
	return nil
}

// fileKey returns the key of a warning about a whole file.
func fileKey(source, name string) string { return source + ":file:" + name }

// file reads one response, an array or an object.
func (s *statuspage) file(name string, content []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(content), jsontext.AllowDuplicateNames(true))
	switch decoder.PeekKind() {
	case '[':
		return s.elements(decoder, func(value jsontext.Value) { s.element(name, value) })
	case '{':
		if err := wrongJSON(content); err != nil {
			return err
		}
		return s.object(name, decoder)
	}
	return errors.New("is no JSON")
}

// object reads an object: a page, one record, or several lists, as a response of the public interface has them.
func (s *statuspage) object(name string, decoder *jsontext.Decoder) error {
	whole, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	var lists map[string]jsontext.Value
	if _, text := record(whole, &lists); text != "" {
		return errors.New(text)
	}
	if lists["incident_updates"] != nil || lists["mode"] != nil || lists["group_id"] != nil {
		s.element(name, whole)
		return nil
	}
	if lists["subdomain"] != nil || lists["time_zone"] != nil {
		s.takePage(whole)
		return nil
	}
	if page := lists["page"]; page != nil {
		s.takePage(page)
	}
	var problems error
	for _, member := range []string{"component_groups", "components", "incidents", "scheduled_maintenances", "subscribers"} {
		if list := lists[member]; list != nil && list.Kind() == '[' {
			inner := jsontext.NewDecoder(bytes.NewReader(list), jsontext.AllowDuplicateNames(true))
			problems = errors.Join(problems, s.elements(inner, func(value jsontext.Value) { s.element(member, value) }))
		}
	}
	return problems
}

func (s *statuspage) takePage(value jsontext.Value) {
	if field, text := record(value, &s.page); text != "" {
		s.warn("statuspage:page:unknown", field, "%s", text)
	}
}

// element reads a record, recognizes its kind by its members, and keeps it for write. It leaves out a wrong record, with a
// warning.
func (s *statuspage) element(file string, value jsontext.Value) {
	var members map[string]jsontext.Value
	if _, text := record(value, &members); text != "" {
		s.warn(fileKey("statuspage", file), "", "a record is no JSON object; it is left out")
		return
	}
	id := strings.Trim(string(members["id"]), `"`)
	if id == "" || id == "null" {
		s.warn(fileKey("statuspage", file), "id", "is missing in a record; it is left out")
		return
	}
	var field, text string
	switch {
	case members["incident_updates"] != nil:
		var i statuspageIncident
		if field, text = record(value, &i); text == "" && len(i.Updates) > lines.MaxEntries {
			field, text = "incident_updates", fmt.Sprintf("has more than %d updates; the incident is left out", lines.MaxEntries)
		}
		if text == "" {
			s.incidents = append(s.incidents, i)
		}
	case members["mode"] != nil:
		var r statuspageSubscriber
		if field, text = record(value, &r); text == "" {
			r.State = cmp.Or(r.State, subscriberState(file, r.QuarantinedAt))
			s.subscribers = append(s.subscribers, r)
		}
	case members["components"] != nil && members["status"] == nil:
		var g statuspageGroup
		if field, text = record(value, &g); text == "" {
			s.groups[g.ID] = g.Name
			for _, id := range g.Components {
				s.groupOf[id] = g.ID
			}
		}
	case members["status"] != nil && members["name"] != nil:
		field, text = keepRecord(value, &s.components)
	default:
		field, text = "", "is no incident, component, group or subscriber; it is left out"
	}
	if text != "" {
		s.warn(s.key(id), field, "%s", text)
	}
}

func keepRecord[T any](value jsontext.Value, records *[]T) (field, text string) {
	var r T
	if field, text = record(value, &r); text == "" {
		*records = append(*records, r)
	}
	return field, text
}

func (s *statuspage) key(id string) string {
	return "statuspage:" + cmp.Or(s.page.ID, "page") + ":" + id
}

func (s *statuspage) write() {
	s.writePage()
	open := map[string]bool{} // components of open incidents
	for _, i := range s.incidents {
		if i.ResolvedAt == "" && !slices.Contains([]string{"resolved", "completed", "postmortem", "scheduled"}, i.Status) {
			for _, c := range i.Components {
				open[c.ID] = true
			}
		}
	}
	for _, c := range s.components {
		if c.Group {
			s.groups[c.ID] = cmp.Or(s.groups[c.ID], c.Name)
			if c.GroupID != "" {
				s.warn(s.key(c.ID), "group_id", "names another group; groups have no groups here, so it is left out")
			}
		}
	}
	for _, c := range s.components {
		if !c.Group {
			s.writeComponent(c, open[c.ID])
		}
	}
	for _, i := range s.incidents {
		s.writeIncident(i)
	}
	for _, r := range s.subscribers {
		kind := "subscribers"
		if r.Mode == "webhook" {
			kind = "endpoints"
		}
		s.about(kind, func() { s.writeSubscriber(r) })
	}
	if len(s.groups) > 0 {
		ids := map[string]string{}
		for id, name := range s.groups {
			if other := ids[name]; other == "" || id < other {
				ids[name] = id
			}
		}
		s.set.Dashboards[0].GroupPublicIDs = ids
	}
}

func (s *statuspage) writePage() {
	p, key := s.page, s.key("page")
	yes, no := true, false
	d := lines.Dashboard{
		Key: key, Name: s.oneLine(key, "name", cmp.Or(p.Name, "Statuspage"), lines.MaxName), Slug: slug(cmp.Or(p.Subdomain, p.Name)),
		Description: s.cut(key, "description", p.Description, 1000), Timezone: s.zone(key, p.Zone), PublicID: p.ID,
	}
	if p.Domain != "" {
		d.CustomDomains = []string{p.Domain}
	}
	if p.URL != "" || p.SupportURL != "" {
		d.Links = &lines.Links{HomepageURL: p.URL, SupportURL: p.SupportURL}
	}
	if p.Unindexed {
		d.SearchIndexing = &no
	}
	for channel, on := range map[string]*bool{"email": p.Email, "sms": p.SMS, "webhook": p.Webhooks} {
		if on != nil {
			if d.Subscriptions == nil {
				d.Subscriptions = map[string]bool{}
			}
			d.Subscriptions[channel] = *on
		}
	}
	if list := strings.FieldsFunc(p.Addresses, func(c rune) bool { return strings.ContainsRune(" ,;\n\t", c) }); len(list) > 0 {
		d.Access = &lines.Access{Mode: "ipAllowlist", AllowedIPs: list}
	}
	if p.MembersOnly {
		d.Enabled = &no
		s.warn(key, "viewers_must_be_team_members", "only members may see the page; the dashboard is disabled, so that nobody sees it")
	} else {
		d.Enabled = &yes
	}
	for _, lost := range statuspageLost {
		if lost.of(p) != "" {
			s.warn(key, lost.member, "is not taken over")
		}
	}
	s.set.Dashboards = append(s.set.Dashboards, d)
}

func (s *statuspage) writeComponent(c statuspageComponent, open bool) {
	key := s.key(c.ID)
	group := cmp.Or(c.GroupID, s.groupOf[c.ID])
	if group != "" && s.groups[group] == "" {
		s.warn(key, "group_id", "names the group %s, which is missing; the component has no group", group)
	}
	out := lines.Component{
		Key: key, Name: c.Name, Description: c.Description, GroupName: s.groups[group], DashboardIDs: []string{s.key("page")},
		StartAt: s.when(key, "start_date", c.StartDate), PublicID: c.ID,
	}
	if c.Position > 0 {
		out.Position = &c.Position
	}
	if c.Status != "" && c.Status != "operational" && !open {
		out.StatusOverride = &lines.StatusOverride{Status: c.Status}
	}
	s.known[c.ID] = true
	s.component(out)
}
