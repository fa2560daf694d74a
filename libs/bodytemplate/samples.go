package bodytemplate

import (
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// samplesText has three payloads of an incident: one with every member, one with as few members as possible, and the
// longest one, with texts that could end a JSON string. TestTheSamplesAreWhatIsSent of delivery compares the payloads
// with what delivery sends, and can write the file.
//
//go:embed samples.json
var samplesText []byte

// SampleName is the name of a payload in samples.json.
type SampleName string

// The names of the samples of each kind.
const (
	Full    SampleName = "all members"
	Sparse  SampleName = "few members"
	Hostile SampleName = "the longest texts"
)

// SampleNames returns the names of the samples of a kind.
func SampleNames() []SampleName { return []SampleName{Full, Sparse, Hostile} }

// Sample is the payload of a made-up message.
type Sample struct {
	Kind    topic.Kind
	Name    SampleName
	Payload Payload
}

var documents = sync.OnceValue(func() map[SampleName]map[string]any {
	decoded, err := Decode(samplesText)
	if err != nil {
		panic(fmt.Sprint("bodytemplate: samples.json: ", err)) // the file is part of the binary
	}
	out := make(map[SampleName]map[string]any)
	for name, document := range decoded.root {
		out[SampleName(name)] = document.(map[string]any)
	}
	return out
})

var samples = sync.OnceValue(func() (all []Sample) {
	for _, kind := range SampleKinds() {
		for _, name := range SampleNames() {
			document := maps.Clone(documents()[name])
			event := maps.Clone(document["event"].(map[string]any))
			event["type"], event["status"], event["previousStatus"] = SampleEvent(kind, name)
			if event["previousStatus"] == "" {
				event["previousStatus"] = nil
			}
			document["kind"], document["event"] = string(kind), event
			all = append(all, Sample{kind, name, Payload{document}})
		}
	}
	return all
})

// Samples returns the samples of each kind of message that a webhook receives.
func Samples() []Sample { return samples() }

// SampleKinds returns the kinds of messages that a webhook receives.
func SampleKinds() []topic.Kind { return append(topic.Kinds(), topic.EndpointTest) }

// SampleEvent returns the members of the event that depend on the kind. An empty previousStatus is null in the sample. In
// a Sparse sample, previousStatus is always empty.
func SampleEvent(kind topic.Kind, name SampleName) (eventType, status, previousStatus string) {
	eventType, _, _ = strings.Cut(string(kind), ".")
	status, previousStatus = "investigating", ""
	switch kind {
	case topic.IncidentUpdated:
		status, previousStatus = "identified", "investigating"
	case topic.IncidentResolved:
		status, previousStatus = "resolved", "monitoring"
	case topic.IncidentReopened:
		previousStatus = "resolved"
	case topic.IncidentPostMortem:
		status = "resolved"
	case topic.MaintenanceScheduled, topic.MaintenanceReschedule, topic.MaintenanceReminder:
		status = "planning"
	case topic.MaintenanceStarted:
		status, previousStatus = "started", "planning"
	case topic.MaintenanceUpdated:
		status, previousStatus = "inprogress", "started"
	case topic.MaintenanceCompleted:
		status, previousStatus = "completed", "verifying"
	case topic.MaintenanceReopened:
		status, previousStatus = "inprogress", "completed"
	case topic.EndpointTest:
		eventType = "incident"
	}
	if name == Sparse {
		previousStatus = ""
	}
	return eventType, status, previousStatus
}
