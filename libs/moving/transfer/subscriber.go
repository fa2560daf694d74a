package transfer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
)

// subscriber is a subscriber in a response.
type subscriber struct {
	ID               string     `json:"id"`
	Email            string     `json:"email"`
	Phone            string     `json:"phone"`
	ComponentIDs     []string   `json:"componentIds"`
	Confirmed        bool       `json:"confirmed"`
	PartlyConfirmed  bool       `json:"partlyConfirmed"`
	ConfirmedAt      *time.Time `json:"confirmedAt"`
	Paused           bool       `json:"paused"`
	Locked           bool       `json:"locked"`
	SuppressedReason string     `json:"suppressedReason"`
	Locale           string     `json:"locale"`
	Source           string     `json:"source"`
	CreatedAt        string     `json:"createdAt"`
	UpdatedAt        string     `json:"updatedAt"`
}

// subscribers imports subscribers of one channel and dashboard. The platform sends no message, except to the owners of
// unconfirmed addresses if Ask is true. A subscriber that exists changes only with Force, or if the state of its line is
// unsubscribed. Even with Force, a subscriber that was deleted on the platform is not created again.
func (r *run) subscribers(ctx context.Context, wanted []lines.Subscriber) error {
	var rows []map[string]any
	var sent []*lines.Subscriber
	for i := range wanted {
		s := &wanted[i]
		if s.State == "unconfirmed" && !r.Ask {
			r.add(Outcome{Kind: "subscriber", Key: s.Key, Status: Dropped, Channel: s.Channel, Text: "has not confirmed the subscription"})
			continue
		}
		row := map[string]any{"email": s.Address, "state": s.State}
		if s.Channel != "email" {
			delete(row, "email")
			row["phone"] = s.Address
		}
		if s.ConfirmedAt != nil {
			row["confirmedAt"] = s.ConfirmedAt
		}
		if s.Locale != "" {
			row["locale"] = s.Locale
		}
		if s.Components != nil {
			var ids []string
			for _, key := range s.Components {
				if id := r.state.Components[key]; id != "" {
					ids = append(ids, id)
				}
			}
			if len(ids) == 0 && !r.dry {
				r.add(Outcome{Kind: "subscriber", Key: s.Key, Status: Declined, Channel: s.Channel, Text: "components: none of them was created"})
				continue
			}
			row["componentIds"] = ids
		}
		rows, sent = append(rows, row), append(sent, s)
	}
	if len(rows) == 0 {
		return nil
	}
	channel, dashboard := wanted[0].Channel, r.state.Dashboards[wanted[0].DashboardID]
	if dashboard == "" { // the import will create the dashboard, so it has no subscriber yet
		for _, s := range sent {
			r.add(Outcome{Kind: "subscriber", Key: s.Key, Status: Created, Dashboard: s.DashboardID, Channel: channel, Find: addressMark(channel, s.Address)})
		}
		return nil
	}
	if r.dry { // the components that the import will create have no ids yet
		for _, row := range rows {
			delete(row, "componentIds")
		}
	}
	foreseen, err := r.importRows(ctx, channel, dashboard, rows, true)
	if err != nil {
		return err
	}
	var fresh []map[string]any
	var places []int
	outcomes := make([]Outcome, len(sent))
	for i, result := range foreseen {
		outcomes[i] = Outcome{
			Kind: "subscriber", Key: sent[i].Key, Status: Status(result.Status), Text: result.Error, ID: result.ID, DashboardID: dashboard, Dashboard: sent[i].DashboardID, Channel: channel,
			Find: addressMark(channel, sent[i].Address),
		}
		switch {
		case outcomes[i].Status == Updated && !r.Force && sent[i].State != "unsubscribed":
			outcomes[i].Status = Unchanged // a subscriber that exists keeps its settings
		case outcomes[i].Status == Updated && !r.Force:
			delete(rows[i], "componentIds")
			delete(rows[i], "locale")
			fresh, places = append(fresh, rows[i]), append(places, i) // a subscriber who unsubscribed in the source gets no messages here
		case outcomes[i].Status != Declined:
			fresh, places = append(fresh, rows[i]), append(places, i)
		}
	}
	if !r.dry && len(fresh) > 0 {
		written, err := r.importRows(ctx, channel, dashboard, fresh, false)
		if err != nil {
			return err
		}
		for i, result := range written {
			o := &outcomes[places[i]]
			o.Status, o.Text, o.ID = Status(result.Status), result.Error, result.ID
		}
	}
	r.out = append(r.out, outcomes...)
	return nil
}

// rowResult is the result of a row of an import of subscribers.
type rowResult struct{ Status, ID, Error string }

func (r *run) importRows(ctx context.Context, channel, dashboard string, rows []map[string]any, dry bool) ([]rowResult, error) {
	var written struct{ Results []rowResult }
	body := map[string]any{"dashboardId": dashboard, "rows": rows, "sendConfirmations": r.Ask, "dryRun": dry}
	err := r.Sender.Send(ctx, Request{Method: http.MethodPost, Path: "/app/subscribers/" + channel + "/import", Body: body}, &written)
	if err == nil && len(written.Results) != len(rows) {
		err = errors.New("the platform returned another number of results than there are rows")
	}
	return written.Results, err
}
