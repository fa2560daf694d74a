package lines

import (
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/words"
)

// Limits of the members.
const (
	MaxText       = 20_000 // characters of the HTML of an entry or description
	MaxTitle      = 255
	MaxName       = 100
	MaxShort      = 250 // characters of the description of a component
	maxPostMortem = 50_000
	maxNote       = 5000
	maxItem       = 1000 // characters of an action item
	maxOwner      = 255
	maxKey        = 255
	maxAffected   = 500
	maxLocale     = 35   // characters of the language of a subscriber
	MaxEntries    = 1000 // entries of a timeline
)

// The allowed words and forms of the members.
var (
	incidentStatuses    = []string{"investigating", "identified", "monitoring", "resolved"}
	maintenanceStatuses = []string{"planning", "started", "inprogress", "verifying", "completed"}
	severities          = []string{"", "minor_performance", "major_performance", "minor_outage", "major_outage"}
	impacts             = []string{"operational", "degraded_performance", "partial_outage", "major_outage", "under_maintenance"}
	locales             = append(words.Tags(), "")
	subscriberStates    = []string{"confirmed", "unconfirmed", "quarantined", "unsubscribed"}
	formats             = []string{"", "bellbuoy", "statuspage", "slack"}

	keyForm    = regexp.MustCompile(`^[a-z0-9-]+:[^:\s]+:\S(.*\S)?$`)
	idForm     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	slugForm   = regexp.MustCompile(`^[a-z0-9-]{3,63}$`)
	pathForm   = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,200}$`)
	colorForm  = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)
	numberForm = regexp.MustCompile(`^\+[1-9][0-9]{5,14}$`)
)

// SubscriberChannels returns the channels of subscribers. This package does not import the packages of the platform, so a test compares
// its channels with those of the platform.
func SubscriberChannels() []string { return []string{"email", "sms", "whatsapp"} }

// EndpointChannels returns the channels of endpoints.
func EndpointChannels() []string { return []string{"webhook", "teams", "gchat", "slack", "discord"} }

// IsSlug reports whether a dashboard can have the text as its slug.
func IsSlug(text string) bool { return slugForm.MatchString(text) }

// Check removes each record that no file may have, and adds a warning for it. It replaces names, titles and plain texts that the
// platform would refuse, and removes entries that consist of refused characters, also with a warning for each.
func (s *Set) Check() {
	c := newChecker(s, nil)
	s.Dashboards = keep(c, "dashboard", s.Dashboards, func(d *Dashboard) string { return d.Key }, c.dashboard)
	s.Components = keep(c, "component", s.Components, func(r *Component) string { return r.Key }, c.component)
	s.Events = keep(c, "event", s.Events, func(e *Event) string { return e.Key }, c.event)
	s.Subscribers = keep(c, "subscriber", s.Subscribers, func(r *Subscriber) string { return r.Key }, c.subscriber)
	s.Endpoints = keep(c, "endpoint", s.Endpoints, func(r *Endpoint) string { return r.Key }, c.endpoint)
}

// nameOf returns a text that no two records of a file have in common. An event may have the key of a record of another
// kind, as on the platform.
func nameOf(kind, key string) string {
	if kind == "event" {
		return "event " + key // keys of other kinds have no space before the first colon
	}
	return key
}

// Statuses returns the statuses of a type of event.
func Statuses(eventType string) []string {
	if eventType == "maintenance" {
		return maintenanceStatuses
	}
	return incidentStatuses
}

// checker is the state of a check. It adds the warnings to set.
type checker struct {
	set    *Set
	known  map[string]string // kind of each key of records that are not in the set, to which records of the set may refer
	kind   map[string]string // kind of each record that stays, by nameOf
	events int
	found  *fault // first fault of the present record
	key    string // key of the present record
	line   int    // line of the present record; 0 if the record is from no file of lines
}

func newChecker(set *Set, known map[string]string) *checker {
	return &checker{set: set, known: known, kind: map[string]string{}}
}

// keep returns the records of a kind that admit accepts.
func keep[T any](c *checker, kind string, records []T, keyOf func(*T) string, check func(*T)) []T {
	kept := records[:0]
	for i := range records {
		if admit(c, kind, keyOf(&records[i]), &records[i], check) {
			kept = append(kept, records[i])
		}
	}
	clear(records[len(kept):])
	return kept
}

// admit reports whether a record and its key have no fault. check stores the faults of the record. admit adds a warning for a
// record that has a fault.
func admit[T any](c *checker, kind, key string, record *T, check func(*T)) bool {
	name := nameOf(kind, key)
	c.key, c.found = key, nil
	if kind == "event" {
		c.importKey("key", key)
	} else {
		c.that(keyForm.MatchString(key) && utf8.RuneCountInString(key) <= maxKey, "key", "must be source:scope:id, at most %d characters", maxKey)
	}
	c.that(c.kind[name] == "", "key", "belongs to an earlier record")
	check(record)
	if c.found == nil {
		c.kind[name] = kind
		return true
	}
	c.warn(*c.found, Name(record))
	return false
}

// warn adds a warning about the present record. The text of the warning names the line of the record, if it has one.
func (c *checker) warn(f fault, name string) {
	key := c.key
	if key == "" {
		key = fmt.Sprintf("lines:line:%d", c.line)
	}
	if c.line > 0 {
		f.text = fmt.Sprintf("line %d: %s", c.line, f.text)
	}
	c.set.warn(Warning{Key: key, Field: f.field, Text: f.text, Name: name})
}

// that stores a fault of the present record if ok is false and no fault of the record is stored yet.
func (c *checker) that(ok bool, field, format string, args ...any) {
	if !ok && c.found == nil {
		c.found = &fault{field, fmt.Sprintf(format, args...)}
	}
}

func (c *checker) text(field, value string, least, most int) {
	length := utf8.RuneCountInString(value)
	c.that(length >= least && (least == 0 || !richtext.IsBlank(value)), field, "must not be empty")
	c.that(length <= most, field, "has %d characters; at most %d are possible", length, most)
}

// name checks a title or a name by the rules of the platform. If value breaks the rules of richtext.CheckLine, name
// replaces value by the result of richtext.Line, with a warning.
func (c *checker) name(field string, value *string, least, most int) {
	if err := richtext.CheckLine(*value); err != nil {
		clean := richtext.Line(*value)
		c.warn(fault{field, fmt.Sprintf("%s; it becomes %q", err, clean)}, clean)
		*value = clean
	}
	c.text(field, *value, least, most)
}

// title checks the title of an event as name does. A title that breaks the rules of richtext.CheckLine and shows
// nothing becomes Incident or Maintenance, with a warning.
func (c *checker) title(e *Event) {
	if richtext.CheckLine(e.Title) == nil || !richtext.IsBlank(e.Title) {
		c.name("title", &e.Title, 1, MaxTitle)
		return
	}
	e.Title = "Incident"
	if e.Type == "maintenance" {
		e.Title = "Maintenance"
	}
	c.warn(fault{"title", fmt.Sprintf("shows nothing; it becomes %q", e.Title)}, e.Title)
}

// plain checks a plain text of several lines by the rules of the platform. It removes the characters that the platform
// would refuse, with a warning.
func (c *checker) plain(field string, value *string, least, most int) {
	if err := richtext.CheckText(*value); err != nil {
		c.warn(fault{field, fmt.Sprintf("%s; such characters are left out", err)}, "")
		*value = richtext.Text(*value)
	}
	c.text(field, *value, least, most)
}

// message checks the HTML of an entry, which must show something.
func (c *checker) message(field, value string) {
	c.text(field, value, 1, MaxText)
	c.that(!richtext.IsBlank(richtext.PlainText(richtext.Rich, value)), field, "must show something: it has markup without text")
}

// importKey checks the key of an event or entry as POST /app/events/import does. No line refers to such a key, so programs
// that call the operation choose its form.
func (c *checker) importKey(field, key string) {
	c.that(strings.TrimSpace(key) != "" && utf8.RuneCountInString(key) <= maxKey, field, "must be 1 to %d characters, not only white space", maxKey)
}

func (c *checker) word(field, value string, of []string) {
	c.that(slices.Contains(of, value), field, "%q is unknown; possible are %s", value, strings.TrimPrefix(strings.Join(of, ", "), ", "))
}

func (c *checker) publicID(id string) {
	c.that(id == "" || idForm.MatchString(id), "publicId", "must be 1 to 64 of A-Z, a-z, 0-9, _ and -")
}

func (c *checker) url(field, address string) {
	parsed, err := url.Parse(address)
	c.that(address == "" || err == nil && len(address) <= 2048 && (parsed.Host != "" || parsed.Scheme == "mailto"), field, "must be a URL of at most 2048 characters")
}

func (c *checker) aliases(paths []string) {
	for i, p := range paths {
		c.that(pathForm.MatchString(p) && !strings.Contains(p, ".."), fmt.Sprintf("aliases[%d]", i), "must be 1 to 200 of A-Z, a-z, 0-9, . _ / and -, without ..")
	}
}

// is reports whether the key is that of an earlier record of the kind.
func (c *checker) is(key, kind string) bool { return c.kind[key] == kind || c.known[key] == kind }

// refer stores a fault if one of the keys is not that of an earlier record of the kind, or is in keys twice.
func (c *checker) refer(field, kind string, keys []string) {
	seen := map[string]bool{}
	for i, key := range keys {
		c.that(c.is(key, kind), fmt.Sprintf("%s[%d]", field, i), "%s is not the key of an earlier %s", key, kind)
		c.that(!seen[key], fmt.Sprintf("%s[%d]", field, i), "%s is there twice", key)
		seen[key] = true
	}
}

// home stores a fault if a key is not empty and not that of an earlier dashboard.
func (c *checker) home(key string) {
	c.that(key == "" || c.is(key, "dashboard"), "dashboardId", "%s is not the key of an earlier dashboard", key)
}

func (c *checker) dashboard(d *Dashboard) {
	c.name("name", &d.Name, 1, MaxName)
	c.that(d.Slug == "" || IsSlug(d.Slug), "slug", "must be 3 to 63 of a-z, 0-9 and -")
	c.plain("description", &d.Description, 0, 1000)
	_, err := time.LoadLocation(d.Timezone)
	c.that(err == nil && d.Timezone != "Local", "timezone", "must be the name of an IANA time zone")
	c.word("locale", d.Locale, locales)
	c.that(len(d.CustomDomains) <= 5, "customDomains", "has more than 5 hosts")
	if b := d.Branding; b != nil {
		c.url("branding.faviconUrl", b.FaviconURL)
		c.url("branding.logoUrl", b.LogoURL)
		c.that(b.PrimaryColor == "" || colorForm.MatchString(b.PrimaryColor), "branding.primaryColor", "must be # and 6 hexadecimal digits")
		c.word("branding.theme", b.Theme, []string{"", "auto", "light", "dark"})
	}
	if l := d.Links; l != nil {
		c.url("links.homepageUrl", l.HomepageURL)
		c.url("links.supportUrl", l.SupportURL)
		c.that(len(l.Navigation) <= 4, "links.navigation", "has more than 4 links")
	}
	if a := d.Access; a != nil {
		c.word("access.mode", a.Mode, []string{"public", "password", "ipAllowlist"})
		c.that(len(a.AllowedIPs) <= 200, "access.allowedIps", "has more than 200 addresses")
		c.that((a.Mode == "ipAllowlist") == (len(a.AllowedIPs) > 0), "access.allowedIps", "belongs to the mode ipAllowlist")
	}
	for channel := range d.Subscriptions {
		c.word("subscriptions", channel, slices.Concat(SubscriberChannels(), EndpointChannels()))
	}
	c.publicID(d.PublicID)
	for _, id := range d.GroupPublicIDs {
		c.that(idForm.MatchString(id), "groupPublicIds", "must be 1 to 64 of A-Z, a-z, 0-9, _ and -")
	}
	c.aliases(slices.Sorted(maps.Keys(d.Aliases)))
}

func (c *checker) component(r *Component) {
	c.name("name", &r.Name, 1, MaxName)
	c.plain("description", &r.Description, 0, MaxShort)
	c.name("groupName", &r.GroupName, 0, MaxName)
	c.that(r.Position == nil || *r.Position >= 0 && *r.Position <= 1_000_000, "position", "must be from 0 to 1000000")
	c.that(len(r.ExternalRefs) <= 19, "externalRefs", "has more than 19 ids; the key becomes one too")
	c.refer("dashboardIds", "dashboard", r.DashboardIDs)
	if o := r.StatusOverride; o != nil {
		c.word("statusOverride.status", o.Status, impacts)
	}
	c.url("checkUrl", r.CheckURL)
	c.publicID(r.PublicID)
	c.aliases(r.Aliases)
}

func (c *checker) event(e *Event) {
	c.events++
	c.that(c.events <= MaxEvents, "", "is beyond the %d events that a file may have", MaxEvents)
	c.word("type", e.Type, []string{"incident", "maintenance"})
	statuses := Statuses(e.Type)
	c.title(e)
	c.word("status", e.Status, statuses)
	c.word("severity", e.Severity, severities)
	c.text("html", e.HTML, 0, MaxText)
	c.text("impactAnalysis", e.ImpactAnalysis, 0, 8000)
	c.plain("coordinator", &e.Coordinator, 0, 1000)
	c.times(e)
	keys := make([]string, len(e.Components))
	for i, a := range e.Components {
		keys[i] = a.Key
		if a.Impact != "" {
			c.word(fmt.Sprintf("components[%d].impact", i), a.Impact, impacts)
		}
	}
	c.refer("components", "component", keys)
	c.that(len(keys) <= maxAffected, "components", "has more than %d components", maxAffected)
	c.refer("dashboardIds", "dashboard", e.DashboardIDs)
	if len(keys) > 0 {
		c.that(len(e.DashboardIDs) == 0, "dashboardIds", "must be absent beside components")
	} else {
		c.that(len(e.DashboardIDs) >= 1 && len(e.DashboardIDs) <= 50, "dashboardIds", "must name 1 to 50 dashboards, since the event has no components")
	}
	c.timeline(e, keys, statuses)
	if p := e.PostMortem; p != nil {
		c.text("postMortem.html", p.HTML, 1, maxPostMortem)
		for field, text := range map[string]string{"rootCause": p.RootCause, "impact": p.Impact, "resolution": p.Resolution, "lessonsLearned": p.LessonsLearned} {
			c.text("postMortem."+field, text, 0, maxPostMortem)
		}
		for i := range p.ActionItems {
			item := &p.ActionItems[i]
			c.plain(fmt.Sprintf("postMortem.actionItems[%d].text", i), &item.Text, 1, maxItem)
			c.plain(fmt.Sprintf("postMortem.actionItems[%d].owner", i), &item.Owner, 0, maxOwner)
		}
	}
	for i := range e.Notes {
		c.plain(fmt.Sprintf("notes[%d]", i), &e.Notes[i], 1, maxNote)
	}
	c.publicID(e.PublicID)
	c.aliases(e.Aliases)
}

// times checks the times of an event, and the members by which the scheduler changes or announces the event.
func (c *checker) times(e *Event) {
	closed := e.Status == "resolved" || e.Status == "completed"
	c.that(e.EndAt == nil || closed, "endAt", "must be absent while the event is open")
	c.that(e.EndAt == nil || e.StartAt == nil || !e.EndAt.Before(*e.StartAt), "endAt", "is before startAt")
	if e.Type == "maintenance" {
		c.that(e.ScheduledStartAt != nil, "scheduledStartAt", "is needed for a maintenance")
		c.that(e.ScheduledEndAt != nil, "scheduledEndAt", "is needed for a maintenance")
		if c.found == nil {
			c.that(e.ScheduledEndAt.After(*e.ScheduledStartAt), "scheduledEndAt", "is not after scheduledStartAt")
		}
	} else {
		c.that(e.StartAt != nil, "startAt", "is needed for an incident")
		c.that(!e.AutoStart && !e.AutoEnd && len(e.ReminderMinutes) == 0, "autoStart", "an incident has no autoStart, autoEnd and reminderMinutes")
	}
	c.that(len(e.ReminderMinutes) <= 5, "reminderMinutes", "has more than 5 times")
	for i, minutes := range e.ReminderMinutes {
		c.that(minutes >= 5 && minutes <= 1440, fmt.Sprintf("reminderMinutes[%d]", i), "must be from 5 to 1440")
	}
	switch later := e.NotifyLater.(type) {
	case nil, bool:
	case map[string]any:
		for channel, on := range later {
			c.word("notifyLater", channel, slices.Concat(SubscriberChannels(), EndpointChannels()))
			_, ok := on.(bool)
			c.that(ok, "notifyLater."+channel, "must be true or false")
		}
	default:
		c.that(false, "notifyLater", "must be true, false or an object of channels")
	}
}

func (c *checker) timeline(e *Event, components, statuses []string) {
	c.that(len(e.Timeline) <= MaxEntries, "timeline", "has more than %d entries", MaxEntries)
	seen := map[string]bool{}
	e.Timeline = slices.DeleteFunc(e.Timeline, func(entry Entry) bool {
		gone := entry.HTML != "" && richtext.IsBlank(entry.HTML) && richtext.CheckText(entry.HTML) != nil
		if gone {
			c.warn(fault{"timeline", fmt.Sprintf("the entry %s shows nothing; it is left out", entry.Key)}, "")
		}
		return gone
	})
	for i, entry := range e.Timeline {
		field := fmt.Sprintf("timeline[%d].", i)
		c.importKey(field+"key", entry.Key)
		c.that(!seen[entry.Key], field+"key", "belongs to an earlier entry")
		seen[entry.Key] = true
		c.that(!entry.At.IsZero(), field+"at", "is needed")
		c.that(i == 0 || !entry.At.Before(e.Timeline[i-1].At), field+"at", "is before the entry above; the oldest comes first")
		if entry.Status != "update" {
			c.word(field+"status", entry.Status, statuses)
		}
		c.message(field+"html", entry.HTML)
		for _, key := range slices.Sorted(maps.Keys(entry.Impacts)) {
			c.that(slices.Contains(components, key), field+"impacts", "%s is not a component of the event", key)
			c.word(field+"impacts", entry.Impacts[key], impacts)
		}
		c.that(entry.PublicID == "" || idForm.MatchString(entry.PublicID), field+"publicId", "must be 1 to 64 of A-Z, a-z, 0-9, _ and -")
	}
}

func (c *checker) subscriber(r *Subscriber) {
	c.word("channel", r.Channel, SubscriberChannels())
	_, err := mail.ParseAddress(r.Address)
	c.that(r.Channel != "email" || err == nil && !strings.ContainsAny(r.Address, "<> "), "address", "is no mail address")
	c.that(r.Channel == "email" || numberForm.MatchString(r.Address), "address", "must be a telephone number with + and country code")
	c.home(r.DashboardID)
	c.refer("components", "component", r.Components)
	c.word("state", r.State, subscriberStates)
	c.that(r.ConfirmedAt == nil || r.State != "unconfirmed", "confirmedAt", "must be absent for an unconfirmed subscriber")
	_, err = language.Parse(r.Locale)
	c.that(r.Locale == "" || err == nil && len(r.Locale) <= maxLocale, "locale", "must be a language tag as in BCP 47, such as en or de-AT")
}

func (c *checker) endpoint(r *Endpoint) {
	c.word("channel", r.Channel, EndpointChannels())
	parsed, err := url.Parse(r.URL)
	c.that(err == nil && parsed.Host != "" && (parsed.Scheme == "https" || parsed.Scheme == "http") && len(r.URL) <= 2048, "url", "must be an http or https URL of at most 2048 characters")
	c.home(r.DashboardID)
	c.refer("components", "component", r.Components)
	c.word("format", r.Format, formats)
}
