package inbound

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/richtext"
)

// The maximum lengths, in characters, of the texts of a message.
const (
	maxExternalID  = 255
	maxTitle       = 255
	maxDescription = 20_000
)

// AlertGroup is the payload of webhooks of Alertmanager (version 4 of the payload) and of Grafana Alerting. Unknown
// members are ignored, because newer versions add members.
type AlertGroup struct {
	Version           string            `json:"version,omitempty" description:"4 of Alertmanager."`
	GroupKey          string            `json:"groupKey"`
	Status            string            `json:"status" enum:"firing,resolved" description:"Firing if one of the alerts is."`
	GroupLabels       map[string]string `json:"groupLabels,omitempty"`
	CommonLabels      map[string]string `json:"commonLabels,omitempty"`
	CommonAnnotations map[string]string `json:"commonAnnotations,omitempty"`
	Alerts            []Alert           `json:"alerts,omitempty"`
}

// Alert is one alert of an AlertGroup.
type Alert struct {
	Status      string            `json:"status,omitempty" enum:"firing,resolved"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	StartsAt    time.Time         `json:"startsAt,omitzero"`
}

// severity is a severity of events, with the values of the label "severity" that mean this severity.
type severity struct {
	name   string
	labels []string
}

// severities returns the table of severities, the worst first. Values of the label that are not in the table are
// ignored.
func severities() []severity {
	return []severity{
		{"major_outage", []string{"major_outage", "critical", "emergency", "disaster", "page"}},
		{"minor_outage", []string{"minor_outage", "error", "high", "major"}},
		{"major_performance", []string{"major_performance"}},
		{"minor_performance", []string{"minor_performance", "warning", "medium", "minor"}},
	}
}

// ReadAlerts decodes an AlertGroup into out. The whole group is one message. ReadAlerts sets no At for a resolve: an alert
// that fires again after a silence can have begun before the resolve, and must not be ignored. version is the version that
// the payload must have; "" allows any version.
func (s *Inbound) ReadAlerts(body []byte, version string, out *Report) error {
	var group AlertGroup
	if err := decode(body, &group); err != nil {
		return err
	}
	switch {
	case version != "" && group.Version != version:
		return fault.Field("version", "must be %q", version)
	case strings.TrimSpace(group.GroupKey) == "":
		return fault.Field("groupKey", "is required")
	}
	out.ExternalID = shortID(group.GroupKey)
	if group.CommonLabels["bellbuoy"] == "heartbeat" {
		out.Ignored = "The label bellbuoy of the alerts is heartbeat."
		return nil
	}
	switch group.Status {
	case "resolved":
		out.Action = "resolve"
		return nil
	case "firing":
		out.Action = "trigger"
	default:
		return fault.Field("status", "must be firing or resolved")
	}
	firing := slices.DeleteFunc(group.Alerts, func(alert Alert) bool { return alert.Status == "resolved" })
	annotations, labels := func(a Alert) map[string]string { return a.Annotations }, func(a Alert) map[string]string { return a.Labels }
	summary, name := first(group.CommonAnnotations, firing, annotations, "summary"), first(group.CommonLabels, firing, labels, "alertname")
	out.Title = richtext.Shorten(cmp.Or(summary, name, group.GroupKey), maxTitle)
	out.Description = richtext.Shorten(first(group.CommonAnnotations, firing, annotations, "description"), maxDescription)
	if said := shown(group.CommonAnnotations["message"]); said != "" {
		said = richtext.Shorten(said, maxDescription)
		out.Message = &said
	}
	out.Severity, out.Timestamp = worst(group, firing), began(firing, s.Now())
	if out.Components = components(group, firing); len(out.Components) == 0 {
		return fault.Field("components", "must be named by a label (or annotation) component or components of the alerts: "+
			"ids or external references of components, separated by commas")
	}
	return nil
}

// first returns the value with the name from the common labels or annotations. If they do not have the name, it returns
// the value of the first alert that has it.
func first(common map[string]string, alerts []Alert, of func(Alert) map[string]string, name string) string {
	found := shown(common[name])
	for _, alert := range alerts {
		found = cmp.Or(found, shown(of(alert)[name]))
	}
	return found
}

// worst returns the worst severity in the labels of the group and its alerts. It returns nil if none is known.
func worst(group AlertGroup, alerts []Alert) *string {
	labels := []string{strings.ToLower(group.CommonLabels["severity"])}
	for _, alert := range alerts {
		labels = append(labels, strings.ToLower(alert.Labels["severity"]))
	}
	for _, row := range severities() {
		if slices.ContainsFunc(labels, func(label string) bool { return slices.Contains(row.labels, label) }) {
			return &row.name
		}
	}
	return nil
}

// began returns the earliest start of the alerts. It returns nil if no alert has a start, or if past returns nil for the
// earliest start.
func began(alerts []Alert, now time.Time) *time.Time {
	var first *time.Time
	for _, alert := range alerts {
		if at := alert.StartsAt.UTC().Truncate(time.Millisecond); !at.IsZero() && (first == nil || at.Before(*first)) {
			first = &at
		}
	}
	if first == nil {
		return nil
	}
	return past(first, now)
}

// shortID returns the externalId for the key of a tool: the key, or its SHA-256 if the key is longer than maxExternalID.
func shortID(key string) string {
	if utf8.RuneCountInString(key) <= maxExternalID {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// components returns the components that labels and annotations of the group and of its alerts name, without
// duplicates.
func components(group AlertGroup, alerts []Alert) []string {
	places := []map[string]string{group.CommonLabels, group.GroupLabels, group.CommonAnnotations}
	for _, alert := range alerts {
		places = append(places, alert.Labels, alert.Annotations)
	}
	var found []string
	known := map[string]bool{}
	for _, place := range places {
		for _, name := range append(names(place["component"]), names(place["components"])...) {
			if !known[name] {
				known[name], found = true, append(found, name)
			}
		}
	}
	return found
}
