package main_test

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// schema is an object in an OpenAPI document.
type schema struct {
	Properties map[string]struct{ Enum []any }
}

// schemas returns the objects in an OpenAPI document, by name.
func schemas(t *testing.T, name string) map[string]schema {
	t.Helper()
	content, err := os.ReadFile("../../gateway/openapi/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas
}

// TestALineHasEachMemberOfItsRecord finds a member of a record that an export and an import would lose. Those that lines lack
// on purpose are named here.
func TestALineHasEachMemberOfItsRecord(t *testing.T) {
	t.Parallel()
	all := schemas(t, "app.yaml")
	for name, of := range map[string]struct {
		line    reflect.Type
		without []string
	}{
		"NewComponentBody":   {reflect.TypeFor[lines.Component](), nil},
		"OverrideBody":       {reflect.TypeFor[lines.StatusOverride](), nil},
		"NewDashboardBody":   {reflect.TypeFor[lines.Dashboard](), []string{"components"}}, // the lines of components name their dashboards
		"BrandingBody":       {reflect.TypeFor[lines.Branding](), nil},
		"LinksBody":          {reflect.TypeFor[lines.Links](), nil},
		"NavigationLinkBody": {reflect.TypeFor[lines.Navigation](), nil},
		"AccessBody":         {reflect.TypeFor[lines.Access](), []string{"password"}}, // no response has it
		"ImportedEventBody":  {reflect.TypeFor[lines.Event](), nil},
		"ImportedEntryBody":  {reflect.TypeFor[lines.Entry](), nil},
		"ImportedReviewBody": {reflect.TypeFor[lines.PostMortem](), nil},
		"ActionItemBody":     {reflect.TypeFor[lines.ActionItem](), nil},
		"MailRow":            {reflect.TypeFor[lines.Subscriber](), []string{"email", "componentIds", "confirmed"}}, // address, components, state
		"PhoneRow":           {reflect.TypeFor[lines.Subscriber](), []string{"phone", "componentIds", "confirmed"}},
	} {
		members := slices.Sorted(maps.Keys(all[name].Properties))
		if len(members) == 0 {
			t.Errorf("the document has no %s", name)
		}
		var line []string
		for field := range of.line.Fields() {
			member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			line = append(line, member)
		}
		for _, member := range members {
			if !slices.Contains(line, member) && !slices.Contains(of.without, member) {
				t.Errorf("%s has %s, which %v lacks: an import would lose the member", name, member, of.line)
			}
		}
		for _, member := range of.without {
			if !slices.Contains(members, member) || slices.Contains(line, member) {
				t.Errorf("%s of %s is named as missing in %v, and is not", member, name, of.line)
			}
		}
	}
}

// Lines have each channel with recipients. Without a channel of endpoints, an export would not warn of its URLs, and an undo would
// delete a dashboard with such endpoints.
func TestLinesHaveEachChannel(t *testing.T) {
	t.Parallel()
	for service, channels := range map[topic.RecipientService][]string{topic.Subscribers: lines.SubscriberChannels(), topic.Integrations: lines.EndpointChannels()} {
		for _, channel := range topic.ChannelsOf(service) {
			if !slices.Contains(channels, string(channel)) {
				t.Errorf("libs/moving/lines/check.go lacks the channel %s of %s", channel, service)
			}
		}
		if len(channels) > len(topic.ChannelsOf(service)) {
			t.Errorf("libs/moving/lines/check.go has the channels %v of %s", channels, service)
		}
	}
}
