package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Component is a part of a system whose state dashboards show. The legacy interface calls it a service.
type Component struct {
	ID                      string   `json:"id" audit:"id"`
	LegacyID                int64    `json:"legacyId" audit:"legacyId"`
	OrganizationID          string   `json:"organizationId"`
	PublicID                string   `json:"publicId" audit:"publicId,null"` // see ShownID; unique in the organization
	Name                    string   `json:"name" audit:"name"`
	Description             string   `json:"description" audit:"description"`
	Group                   string   `json:"group" audit:"groupName"`
	Hidden                  bool     `json:"hidden" audit:"hidden"`                                   // dashboards do not show the component
	HiddenFromNotifications bool     `json:"hiddenFromNotifications" audit:"hiddenFromNotifications"` // notifications do not name the component
	Position                int64    `json:"position" audit:"position"`
	ExternalRefs            []string `json:"externalRefs" audit:"externalRefs"`
	CheckURL                string   `json:"checkUrl" audit:"checkUrl"` // URL that a monitoring tool requests, and the platform never; empty: none
	// StartAt is the time since which the component exists. nil: it exists since CreatedAt.
	StartAt  *time.Time `json:"startAt" audit:"startAt"`
	Override *Override  `json:"override" audit:"statusOverride"` // nil: none
	// OverrideSpans is the former overrides that count in the uptime, the earliest first.
	OverrideSpans []OverrideSpan `json:"overrideSpans"`
	CreatedAt     time.Time      `json:"createdAt" audit:"createdAt"`
	UpdatedAt     time.Time      `json:"updatedAt" audit:"updatedAt,quiet"`
	Version       int64          `json:"version" audit:"version,quiet"`
	Leaving       bool           `json:"leaving"` // the component is being removed; no query finds it
}

const (
	DefaultGroup            = "default" // group of a component for which no group was given
	maxComponentName        = 100
	maxComponentDescription = 250
	maxGroupName            = 100
	maxPosition             = 1_000_000
	maxExternalRefs         = 20
	maxExternalRef          = 255
)

// Since returns the time since which the component exists. Uptime is not measured before this time.
func (c *Component) Since() time.Time {
	if c.StartAt != nil {
		return *c.StartAt
	}
	return c.CreatedAt
}

// clone returns a copy that shares no slice with the component, because a change may write into a slice.
func (c *Component) clone() *Component {
	copied := *c
	copied.ExternalRefs = slices.Clone(c.ExternalRefs)
	copied.OverrideSpans = slices.Clone(c.OverrideSpans)
	return &copied
}

func (c *Component) touch(now time.Time) {
	c.UpdatedAt = now
	c.Version++
}

// check returns an Invalid fault that names the first wrong field. It sets the default group of a component without a
// group, and removes duplicate external references. former is the component before the change, or empty.
func (c *Component) check(now time.Time, former *Component) error {
	if blank(c.Group) {
		c.Group = DefaultGroup
	}
	switch {
	case blank(c.Name):
		return fault.Field("name", "must not be empty")
	case utf8.RuneCountInString(c.Name) > maxComponentName:
		return fault.Field("name", "must be at most %d characters", maxComponentName)
	case utf8.RuneCountInString(c.Description) > maxComponentDescription:
		return fault.Field("description", "must be at most %d characters", maxComponentDescription)
	case utf8.RuneCountInString(c.Group) > maxGroupName:
		return fault.Field("groupName", "must be at most %d characters", maxGroupName)
	case c.Position < 0 || c.Position > maxPosition:
		return fault.Field("position", "must be from 0 to %d", maxPosition)
	case c.Since().After(now):
		return fault.Field("startAt", "must not be in the future")
	case strings.Contains(c.CheckURL, "#"):
		return fault.Field("checkUrl", "must not have a fragment, which no tool sends")
	}
	if err := cmp.Or(CheckTime("startAt", c.StartAt, former.StartAt), checkChangedLine("name", c.Name, former.Name), checkChangedLine("groupName", c.Group, former.Group), checkURL("checkUrl", c.CheckURL, "http", "https"), checkPublicID("publicId", c.PublicID)); err != nil {
		return err
	}
	refs := []string{}
	for i, ref := range c.ExternalRefs {
		if blank(ref) || utf8.RuneCountInString(ref) > maxExternalRef {
			return fault.Field("externalRefs["+strconv.Itoa(i)+"]", "must be 1 to %d characters, not only white space", maxExternalRef)
		}
		if slices.Contains(refs, ref) {
			continue
		}
		if refs = append(refs, ref); len(refs) > maxExternalRefs {
			return fault.Field("externalRefs", "must be at most %d ids", maxExternalRefs)
		}
	}
	c.ExternalRefs = refs
	return nil
}
