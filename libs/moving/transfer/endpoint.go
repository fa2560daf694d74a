package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// endpointsPath returns the path of the endpoints of a channel.
func endpointsPath(channel string) string {
	if channel == "webhook" {
		channel = "webhooks/outbound"
	}
	return "/app/integrations/" + channel + "/endpoints"
}

// endpoint is an endpoint in a response.
type endpoint struct {
	DashboardID     string   `json:"dashboardId"`
	URLHash         string   `json:"urlHash"`
	URLDisplay      string   `json:"urlDisplay"`
	ManagementEmail string   `json:"managementEmail"`
	Verified        bool     `json:"verified"`
	Paused          bool     `json:"paused"`
	ComponentIDs    []string `json:"componentIds"`
	Format          string   `json:"format"`
	CreatedAt       string   `json:"createdAt"`
	Version         int64    `json:"version"`
}

func (e *endpoint) mark() string { return strconv.FormatInt(e.Version, 10) }

// endpoints creates the endpoints of the lines that do not exist yet. The platform sends no message about a creation.
func (r *run) endpoints(ctx context.Context, wanted []lines.Endpoint) error {
	free := map[string]int{} // by channel: number of further URLs that the limit admits
	components := map[string][]string{}
	for i := range wanted {
		e := &wanted[i]
		dashboard := r.state.Dashboards[e.DashboardID]
		out := Outcome{Kind: "endpoint", Key: e.Key, Status: Created, DashboardID: dashboard, Dashboard: e.DashboardID, Channel: e.Channel, Find: hashOf(e.URL)}
		hash := out.Find
		if dashboard != "" {
			there, err := r.endpointOf(ctx, e.Channel, dashboard, hash)
			if err != nil {
				return err
			}
			if there != nil {
				out.Status, out.ID, out.Mark = Unchanged, hash, there.mark()
				r.add(out)
				continue
			}
		}
		if e.ManagementEmail == "" {
			out.Status, out.Text = Declined, "managementEmail: is needed, because failures are reported there"
			r.add(out)
			continue
		}
		if r.dry {
			if err := r.foreseeEndpoint(ctx, e.Channel, free, &out); err != nil {
				return err
			}
			out.Since = r.since()
			r.add(out)
			continue
		}
		ids, err := r.endpointComponents(ctx, e, dashboard, components)
		if err != nil {
			return err
		}
		body := map[string]any{"dashboardId": dashboard, "url": e.URL, "managementEmail": e.ManagementEmail, "componentIds": ids}
		if e.Channel == "webhook" && e.Format != "" {
			body["format"] = e.Format
		}
		var made struct{ Endpoint endpoint }
		err = r.Sender.Send(ctx, Request{Method: http.MethodPost, Path: endpointsPath(e.Channel), Body: body}, &made)
		refused, _ := errors.AsType[*Refused](err)
		switch {
		case err == nil:
			out.ID, out.Mark = made.Endpoint.URLHash, made.Endpoint.mark()
		case isConflict(err): // the dashboard has the URL in another spelling, or the request was repeated after a lost response
			there, err := r.endpointOf(ctx, e.Channel, dashboard, hash)
			if err != nil {
				return err
			}
			if out.Status = Unchanged; there != nil {
				out.Status, out.ID, out.Mark, out.Since = Created, hash, there.mark(), r.since()
			}
		case refused != nil && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusForbidden && refused.Wait == 0 && refused.Text != ""):
			out.Status, out.Text = Declined, refused.Text // forbidden: the limit of the plan
		default:
			return err
		}
		r.add(out)
	}
	return nil
}

// endpointOf returns the verified endpoint of a dashboard whose URL has the hash, or nil.
func (e *Engine) endpointOf(ctx context.Context, channel, dashboard, hash string) (there *endpoint, err error) {
	query := url.Values{"dashboardId": {dashboard}, "urlHash": {hash}}
	err = each(ctx, e.Sender, endpointsPath(channel), "endpoints", query, func(one endpoint) error {
		if one.Verified { // the creation replaces an endpoint that a visitor has not verified
			there = &one
		}
		return nil
	})
	return there, err
}

// hashOf returns the hash by which the platform finds a URL.
func hashOf(address string) string {
	address, _, _ = strings.Cut(address, "#")
	if u, err := url.Parse(address); err == nil {
		host := strings.TrimSuffix(strings.ToLower(u.Host), ":443")
		address = "https://" + host + address[strings.Index(address, u.Host)+len(u.Host):]
	}
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:])
}

// foreseeEndpoint sets the status of out to Declined if the endpoint is over the limit of unique URLs of its channel.
func (r *run) foreseeEndpoint(ctx context.Context, channel string, free map[string]int, out *Outcome) error {
	if _, known := free[channel]; !known {
		var page struct {
			Usage struct{ UniqueEndpoints, Limit int }
		}
		request := Request{Method: http.MethodGet, Path: endpointsPath(channel), Query: url.Values{"limit": {"1"}}}
		if err := r.Sender.Send(ctx, request, &page); err != nil {
			return err
		}
		free[channel] = page.Usage.Limit - page.Usage.UniqueEndpoints
	}
	if free[channel]--; free[channel] < 0 {
		out.Status, out.Text = Declined, fmt.Sprintf("is over the limit of the plan for %s", channel)
	}
	return nil
}

// endpointComponents returns the ids of the components of an endpoint. If Components of the line is nil, these are all
// components of the dashboard. all caches them by the id of the dashboard.
func (r *run) endpointComponents(ctx context.Context, e *lines.Endpoint, dashboard string, all map[string][]string) ([]string, error) {
	var ids []string
	for _, key := range e.Components {
		if id := r.state.Components[key]; id != "" {
			ids = append(ids, id)
		}
	}
	if e.Components != nil {
		return ids, nil
	}
	if _, known := all[dashboard]; !known {
		d, err := r.dashboard(ctx, dashboard)
		if err != nil {
			return nil, err
		}
		all[dashboard] = d.components()
	}
	return all[dashboard], nil
}
