package pages

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// auditPage is the data of audit.html.
type auditPage struct {
	Filter   *forms.Form
	Filtered bool
	Entries  []auditRow
	More     string // address of the next page; empty: there is none
	First    bool
}

// auditRow is an entry of the list.
type auditRow struct {
	app.AuditEntry
	Who, What, Class, Icon string
	Changes                []change
	Whole                  string // address of the page with whole values; empty: no value is cut
}

// maxValue is the maximum length of a value, in characters, in a list that is not limited to one record. A value can be long:
// the entry of an import has up to 64 KiB of addresses.
const maxValue = 1000

// change is a field before and after a write. A missing value is empty.
type change struct{ Field, Before, After string }

func auditFilter() *forms.Form {
	types := []forms.Option{
		{Value: "", Label: "Everything"}, {Value: "session", Label: "Sign-ins"}, {Value: "user", Label: "Members"}, {Value: "api_key", Label: "Keys"}, {Value: "organization", Label: "Organization"},
		{Value: "event", Label: "Events"}, {Value: "template", Label: "Templates"}, {Value: "component", Label: "Components"}, {Value: "dashboard", Label: "Dashboards"}, {Value: "subscriber", Label: "Subscribers"}, {Value: "endpoint", Label: "Endpoints"},
	}
	return forms.New("/audit", "Show",
		&forms.Field{Kind: forms.Select, Name: "entityType", Label: "About", Plain: true, Options: types},
		&forms.Field{Kind: forms.Text, Name: "action", Label: "Action", Placeholder: "user.update", Max: 100, Plain: true},
		&forms.Field{Kind: forms.Date, Name: "from", Label: "From", Max: 10, Plain: true},
		&forms.Field{Kind: forms.Date, Name: "to", Label: "To", Max: 10, Plain: true})
}

// audit lists the entries that match a filter. The filter is in the address, so that members can share the list.
func (p *pages) audit(v *visit) error {
	data := auditPage{Filter: auditFilter(), First: v.Query("after") == ""}
	query := filled(map[string]string{"limit": "50", "entityId": v.Query("entityId"), "actorId": v.Query("actorId"), "nextToken": v.Query("after")})
	data.Filtered = v.readFilter(data.Filter, query) || query.Has("entityId") || query.Has("actorId")
	status := http.StatusOK
	if !data.Filter.OK() {
		status = http.StatusUnprocessableEntity
	} else {
		found, err := v.app.AuditEntries(v.Request.Context(), query)
		if refused(data.Filter, err) {
			status = http.StatusUnprocessableEntity
		} else if err != nil {
			return err
		}
		for _, entry := range found.Entries {
			row := rowOf(entry)
			if query.Get("entityId") == "" {
				row.cut()
			}
			data.Entries = append(data.Entries, row)
		}
		data.More = nextPage("/audit", v.Request.URL.Query(), found.NextToken)
	}
	return v.show(status, "audit.html", "Audit log", data)
}

// zone returns the member's time zone, or UTC if the profile cannot be read or its zone is unknown.
func (v *visit) zone() *time.Location {
	profile, err := v.profile()
	if err != nil {
		return time.UTC
	}
	zone, err := time.LoadLocation(profile.Preferences.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

func rowOf(e app.AuditEntry) auditRow {
	row := auditRow{AuditEntry: e, Who: e.Actor.Email, Icon: "todo"}
	if row.Who == "" {
		row.Who = words(strings.ReplaceAll(e.Actor.Type, "_", " "))
	}
	row.What = phrase(e.Action)
	_, verb := partsOf(e.Action)
	switch verb {
	case "create":
		row.Icon = "plus"
	case "delete", "revoke":
		row.Icon = "close"
	default:
		row.Icon = "edit"
	}
	fields := e.ChangedFields
	if len(fields) == 0 {
		names := maps.Clone(e.Before)
		if names == nil {
			names = map[string]any{}
		}
		maps.Copy(names, e.After)
		fields = slices.Sorted(maps.Keys(names))
	}
	for _, field := range fields {
		before, after := valueOf(e.Before, field), valueOf(e.After, field)
		if before != after {
			row.Changes = append(row.Changes, change{words(field), before, after})
		}
	}
	return row
}

// cut shortens the values that are longer than maxValue. If it shortens a value, it sets Whole.
func (r *auditRow) cut() {
	for i := range r.Changes {
		for _, value := range []*string{&r.Changes[i].Before, &r.Changes[i].After} {
			if whole := *value; whole != richtext.Shorten(whole, maxValue) {
				*value = richtext.Shorten(whole, maxValue)
				r.Whole = root + "/audit?" + url.Values{"entityId": {r.EntityID}, "action": {r.Action}}.Encode()
			}
		}
	}
}

// phrase returns an action as words, such as "Member added" for user.create.
func phrase(action string) string {
	if known := map[string]string{
		"session.create": "Signed in", "session.delete": "Signed out", "user.create": "Member added", "user.update": "Member changed", "user.invite": "Member invited",
		"user.forgotten": "Link to set a password sent", "user.sign_in.refuse": "Sign-in refused", "user.delete": "Member deleted", "api_key.create": "Key created", "api_key.revoke": "Key revoked",
	}[action]; known != "" {
		return known
	}
	of, verb := partsOf(action)
	return words(strings.NewReplacer("_", " ", ".", " ").Replace(of)) + " " + pastOf(verb)
}

// partsOf returns the two parts of an action: for event.timeline.create, event.timeline and create.
func partsOf(action string) (of, verb string) {
	at := max(0, strings.LastIndex(action, "."))
	return action[:at], strings.TrimPrefix(action[at:], ".")
}

// pastOf returns the past form of the verb of an action.
func pastOf(verb string) string {
	verb = strings.ReplaceAll(verb, "_", " ")
	switch {
	case verb == "", strings.Contains(verb, " "):
		return verb
	case strings.HasSuffix(verb, "fy"):
		return strings.TrimSuffix(verb, "y") + "ied"
	case verb == "send", verb == "resend":
		return strings.TrimSuffix(verb, "d") + "t"
	case strings.HasSuffix(verb, "e"):
		return verb + "d"
	case verb == "set", verb == "reset":
		return verb
	}
	return verb + "ed"
}

// valueOf returns a field of the record before or after a write as text. It returns an empty text for a missing field.
func valueOf(record map[string]any, field string) string {
	switch value := record[field].(type) {
	case nil:
		return ""
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	default:
		text, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return fmt.Sprint(value)
		}
		return string(text)
	}
}
