package transfer

import (
	"context"
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
	ConfirmedAt      *time.Time `json:"confirmedAt"`
	Paused           bool       `json:"paused"`
	SuppressedReason string     `json:"suppressedReason"`
	Locale           string     `json:"locale"`
	CreatedAt        string     `json:"createdAt"`
	UpdatedAt        string     `json:"updatedAt"`
}

// subscribers imports subscribers of one channel and dashboard. Nobody gets a message, except with Ask the owners of
// unconfirmed addresses.
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
	if r.dry && dashboard == "" { // the dashboard does not exist, and so has no subscriber
		for _, s := range sent {
			r.add(Outcome{Kind: "subscriber", Key: s.Key, Status: Created, Channel: channel})
		}
		return nil
	}
	if r.dry { // components that the import will create cannot be named
		for _, row := range rows {
			delete(row, "componentIds")
		}
	}
	var written struct {
		Results []struct{ Status, ID, Error string }
	}
	body := map[string]any{"dashboardId": dashboard, "rows": rows, "sendConfirmations": r.Ask, "dryRun": r.dry}
	err := r.Sender.Send(ctx, Request{Method: http.MethodPost, Path: "/app/subscribers/" + channel + "/import", Body: body}, &written)
	if err != nil {
		return err
	}
	for i, result := range written.Results {
		r.add(Outcome{
			Kind: "subscriber", Key: sent[i].Key, Status: Status(result.Status), Text: result.Error, ID: result.ID, DashboardID: dashboard, Channel: channel,
			Find: addressMark(channel, sent[i].Address),
		})
	}
	return nil
}
