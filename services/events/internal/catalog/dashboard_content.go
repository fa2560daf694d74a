package catalog

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Content is what visitors see on a dashboard, and in which order.
type Content struct {
	Modules      Modules        `json:"modules" audit:"modules"`
	Order        []string       `json:"order" audit:"order"` // contains each module once
	Uptime       UptimeSettings `json:"uptime" audit:"uptime"`
	Announcement *Rich          `json:"announcement" audit:"announcement"` // nil: none
}

// Modules says which modules (parts) a page shows. False: the page does not show the module.
type Modules struct {
	Announcement        bool `json:"announcement" audit:"announcement"`
	OverallStatus       bool `json:"overallStatus" audit:"overallStatus"`
	ActiveIncidents     bool `json:"activeIncidents" audit:"activeIncidents"`
	ActiveMaintenance   bool `json:"activeMaintenance" audit:"activeMaintenance"`
	Components          bool `json:"components" audit:"components"`
	UptimeHistory       bool `json:"uptimeHistory" audit:"uptimeHistory"`
	UpcomingMaintenance bool `json:"upcomingMaintenance" audit:"upcomingMaintenance"`
	EventHistory        bool `json:"eventHistory" audit:"eventHistory"`
	Subscribe           bool `json:"subscribe" audit:"subscribe"`
	About               bool `json:"about" audit:"about"`
}

// UptimeSettings is how a page shows uptime, and how much a partial outage counts on pages and in reports.
type UptimeSettings struct {
	WindowDays          int     `json:"windowDays" audit:"windowDays"` // number of days that the uptime bars show
	ShowPercentage      bool    `json:"showPercentage" audit:"showPercentage"`
	Precision           int     `json:"precision" audit:"precision"`                     // decimals of percentages
	PartialOutageWeight float64 `json:"partialOutageWeight" audit:"partialOutageWeight"` // 0: a partial outage does not count; 1: it counts like a major outage
	HistoryDays         int     `json:"historyDays" audit:"historyDays"`                 // number of days that the event history shows
}

// moduleNames returns the names of the JSON members of Modules. Their order is the order of the modules on a new
// dashboard.
func moduleNames() []string {
	return []string{
		"announcement", "overallStatus", "activeIncidents", "activeMaintenance", "components", "uptimeHistory",
		"upcomingMaintenance", "eventHistory", "subscribe", "about",
	}
}

// newContent returns the content of a new dashboard.
func newContent() Content {
	return Content{
		Modules: Modules{true, true, true, true, true, true, true, true, true, true},
		Order:   moduleNames(),
		Uptime:  UptimeSettings{WindowDays: 90, ShowPercentage: true, Precision: 2, PartialOutageWeight: 0.3, HistoryDays: 14},
	}
}

// Check returns an Invalid fault that names the first wrong field. former is the content before the change.
func (c *Content) Check(former *Content) error {
	for i, name := range c.Order {
		field := "order[" + strconv.Itoa(i) + "]"
		if !slices.Contains(moduleNames(), name) {
			return fault.Field(field, "must be a module: %s", strings.Join(moduleNames(), ", "))
		}
		if slices.Index(c.Order, name) != i {
			return fault.Field(field, "must not name %s again", name)
		}
	}
	for _, name := range moduleNames() {
		if !slices.Contains(c.Order, name) {
			return fault.Field("order", "must name each module once, but lacks %s", name)
		}
	}
	switch u := c.Uptime; {
	case !slices.Contains([]int{30, 60, 90}, u.WindowDays):
		return fault.Field("uptime.windowDays", "must be 30, 60 or 90")
	case u.Precision < 0 || u.Precision > 3:
		return fault.Field("uptime.precision", "must be from 0 to 3")
	case u.PartialOutageWeight < 0 || u.PartialOutageWeight > 1:
		return fault.Field("uptime.partialOutageWeight", "must be from 0 to 1")
	case !slices.Contains([]int{7, 14, 30, 90}, u.HistoryDays):
		return fault.Field("uptime.historyDays", "must be 7, 14, 30 or 90")
	}
	if c.Announcement == nil {
		return nil
	}
	if c.Announcement.blank() {
		return fault.Field("announcement", "must not be empty; null removes it")
	}
	return checkChangedText("announcement", *c.Announcement, *cmp.Or(former.Announcement, new(Rich)), maxText)
}

// ReplaceContent replaces the content of a dashboard by the content that read returns. It returns the dashboard.
func (c *Catalog) ReplaceContent(ctx context.Context, command Command, id string, read func() (Content, error)) (Dashboard, error) {
	return c.ChangeDashboard(ctx, command.As(ActionContentUpdate), id, func(d *Dashboard) (err error) {
		former := d.Content
		if d.Content, err = read(); err != nil {
			return err
		}
		return d.Content.Check(&former)
	})
}
