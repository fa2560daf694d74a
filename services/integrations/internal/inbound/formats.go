package inbound

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Report is a decoded request of a monitoring tool.
type Report struct {
	topic.InboundMessage
	At *time.Time // when the problem began or ended; nil: unknown
	// Ignored says why the request is about no problem. Empty: the message is applied.
	Ignored string
}

// Text is a JSON string or number. Tools send ids as both.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(text []byte) error {
	var number json.Number
	if json.Unmarshal(text, &number) == nil && number != "" {
		*t = Text(number)
		return nil
	}
	return json.Unmarshal(text, (*string)(t))
}

// JSONSchemaBytes returns the schema of Text for the OpenAPI document.
func (Text) JSONSchemaBytes() ([]byte, error) { return []byte(`{"type": ["string", "number"]}`), nil }

// Kuma is the body of the webhook of Uptime Kuma. A test of the notification has neither a heartbeat nor a monitor.
type Kuma struct {
	Heartbeat *KumaHeartbeat `json:"heartbeat"`
	Monitor   *KumaMonitor   `json:"monitor"`
}

// KumaHeartbeat is a result of a check.
type KumaHeartbeat struct {
	Status *int   `json:"status" description:"0: down. 1: up. Other values are ignored."`
	Time   string `json:"time,omitempty" description:"In UTC."`
}

// KumaMonitor is what Uptime Kuma watches.
type KumaMonitor struct {
	ID   Text      `json:"id"`
	Name string    `json:"name"`
	Tags []KumaTag `json:"tags,omitempty"`
}

// KumaTag is a tag of a monitor.
type KumaTag struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// kumaTime is the layout of times of Uptime Kuma.
const kumaTime = "2006-01-02 15:04:05.999"

// ReadKuma decodes the webhook of Uptime Kuma into out.
func (s *Inbound) ReadKuma(body []byte, out *Report) error {
	var in Kuma
	if err := decode(body, &in); err != nil {
		return err
	}
	if in.Heartbeat == nil {
		out.Ignored = "The request has no heartbeat."
		return nil
	}
	status := in.Heartbeat.Status
	if status == nil || *status != 0 && *status != 1 {
		out.Ignored = "The status of the heartbeat is neither down nor up."
		return nil
	}
	if in.Monitor == nil || in.Monitor.ID == "" {
		return fault.Field("monitor.id", "is required")
	}
	ref := "kuma:" + string(in.Monitor.ID)
	out.ExternalID, out.Title = shortID(ref), richtext.Shorten(cmp.Or(shown(in.Monitor.Name), ref)+" is down", maxTitle)
	if at, err := time.Parse(kumaTime, in.Heartbeat.Time); err == nil {
		out.At = past(&at, s.Now())
	}
	if out.Action = "resolve"; *status == 1 {
		return nil
	}
	out.Action, out.Timestamp = "trigger", out.At
	for _, tag := range in.Monitor.Tags {
		if tag.Name == "component" {
			out.Components = append(out.Components, names(tag.Value)...)
		}
	}
	if len(out.Components) == 0 {
		out.Components = []string{ref}
	}
	return nil
}

// Gatus is the body that the file of bellbuoy export --gatus sets for the alerts of Gatus.
type Gatus struct {
	Name        string `json:"name"`
	Group       string `json:"group,omitempty"`
	Status      string `json:"status" enum:"TRIGGERED,RESOLVED"`
	Description string `json:"description,omitempty"`
}

// slashless escapes slashes and percent signs in the group and the name of an alert of Gatus. A slash separates the group
// from the name.
var slashless = strings.NewReplacer("%", "%25", "/", "%2F")

// ReadGatus decodes an alert of Gatus into out.
func (s *Inbound) ReadGatus(body []byte, out *Report) error {
	var in Gatus
	if err := decode(body, &in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Name) == "" {
		return fault.Field("name", "is required")
	}
	ref := "gatus:" + in.Group + "/" + in.Name
	out.ExternalID = shortID("gatus:" + slashless.Replace(in.Group) + "/" + slashless.Replace(in.Name))
	switch in.Status {
	case "RESOLVED":
		out.Action = "resolve"
		return nil
	case "TRIGGERED":
	default:
		return fault.Field("status", "must be TRIGGERED or RESOLVED")
	}
	out.Action, out.Title, out.Description = "trigger", richtext.Shorten(cmp.Or(shown(in.Name), ref)+" is down", maxTitle), richtext.Shorten(in.Description, maxDescription)
	out.Components, out.Named = []string{ref}, &topic.ComponentName{Group: in.Group, Name: in.Name}
	return nil
}

// Zabbix is the body that a webhook of Zabbix posts.
type Zabbix struct {
	EventID    Text   `json:"eventid" description:"{EVENT.ID}"`
	Value      Text   `json:"value" description:"{EVENT.VALUE}: 1 or 0."`
	Name       string `json:"name,omitempty" description:"{EVENT.NAME}"`
	Severity   Text   `json:"severity,omitempty" description:"{EVENT.NSEVERITY}. 5: major_outage. 4: minor_outage. 3: major_performance. 2: minor_performance."`
	Components string `json:"components,omitempty" description:"Ids or external references, separated by commas."`
}

// ReadZabbix decodes an event of Zabbix into out.
func (s *Inbound) ReadZabbix(body []byte, out *Report) error {
	var in Zabbix
	if err := decode(body, &in); err != nil {
		return err
	}
	if strings.TrimSpace(string(in.EventID)) == "" {
		return fault.Field("eventid", "is required")
	}
	ref := "zabbix:" + string(in.EventID)
	out.ExternalID = shortID(ref)
	switch in.Value {
	case "0":
		out.Action = "resolve"
		return nil
	case "1":
	default:
		return fault.Field("value", "must be 1 or 0")
	}
	if in.Name == "" {
		return fault.Field("name", "is required")
	}
	out.Action, out.Title = "trigger", richtext.Shorten(cmp.Or(shown(in.Name), ref), maxTitle)
	if n, err := strconv.Atoi(string(in.Severity)); err == nil && n >= 2 && n <= 5 {
		out.Severity = &severities()[5-n].name
	}
	if out.Components = names(in.Components); len(out.Components) == 0 {
		return fault.Field("components", "must name at least one component, by id or external reference")
	}
	return nil
}

// decode decodes the body of a tool. It ignores unknown members, because newer versions of the tool add members.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is && wrong.Field != "" {
		return fault.Field(wrong.Field, "must not be a JSON %s", wrong.Value)
	}
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "The body must be a JSON object, as the tool sends it.")
	}
	return nil
}

// shown returns a text without white space around it, or "" if the text shows nothing.
func shown(text string) string {
	if richtext.IsBlank(text) {
		return ""
	}
	return strings.TrimSpace(text)
}

// names returns the parts of a list that is separated by commas, without empty parts.
func names(list string) []string {
	var found []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			found = append(found, name)
		}
	}
	return found
}

// past returns at, or nil if at is in the future or before 1990. The time of the tool's machine can be wrong: a machine
// without a battery starts in 1970.
func past(at *time.Time, now time.Time) *time.Time {
	if at.After(now) || at.Year() < 1990 {
		return nil
	}
	return at
}
