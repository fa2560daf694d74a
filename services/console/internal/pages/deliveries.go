package pages

import (
	"net/http"
	"net/url"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

// deliveriesPart is the data of the part of an event's page that counts its messages. While Moving is true, the script reads
// this part again every 2 seconds.
type deliveriesPart struct {
	app.Counts
	Event    string
	Missing  bool // the counts cannot be read
	Channels []channelCounts
	Moving   bool // messages wait, or the event changed within the last 30 seconds
	Replays  bool // the member may send failed messages again
}

type channelCounts struct {
	app.Counts
	Label, Kind string
}

// deliveriesOf returns the counts of the messages about an event.
func (v *visit) deliveriesOf(e app.Event) *deliveriesPart {
	out := &deliveriesPart{Event: e.ID, Replays: v.caller.Has(passport.RoleSubscriber)}
	found, err := v.app.EventDeliveries(v.Request.Context(), e.ID)
	if err != nil {
		out.Missing = true
		return out
	}
	out.Counts = found.Deliveries.Counts
	for _, channel := range channels() {
		if counts := found.Deliveries.Channels[channel.Value]; counts.Planned > 0 {
			out.Channels = append(out.Channels, channelCounts{counts, channel.Label, channel.Value})
		}
	}
	out.Moving = out.Waiting() > 0 || v.pages.Process.Now().Sub(e.UpdatedAt).Seconds() < 30
	return out
}

// eventDeliveries responds to the script with the part of an event's page that counts its messages.
func (p *pages) eventDeliveries(v *visit) error {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err != nil {
		return err
	}
	return v.renderPart("part-deliveries", v.deliveriesOf(found.Event.Event))
}

// failedPage is the data of event_failed.html.
type failedPage struct {
	Event    app.Event
	Messages []failedMessage
	More     bool
}

// failedMessage is a message that did not arrive, with the form that sends it again.
type failedMessage struct {
	deliveryRow
	Label  string
	Replay *forms.Form
}

// failedEvent returns the event whose id is in the path, or an error if the member may not read delivery logs.
func (v *visit) failedEvent() (app.Event, error) {
	found, err := v.app.Event(v.Request.Context(), v.Param("id"))
	if err == nil && !v.caller.Has(passport.RoleSubscriber) {
		err = &app.Error{Status: http.StatusForbidden, Message: "This page needs the role " + roleLabel(passport.RoleSubscriber) + ". An administrator of your organization can give it to you."}
	}
	return found.Event.Event, err
}

func replayForm(e app.Event, kind string, log app.DeliveryLog) *forms.Form {
	form := forms.New(eventAt(e.ID)+"/failed/"+kind+"/"+log.LogID, "Send again", &forms.Field{Kind: forms.Hidden, Name: "sentAt"})
	form.Page = eventAt(e.ID) + "/failed"
	if !log.SentAt.IsZero() {
		form.Field("sentAt").Values = []string{log.SentAt.UTC().Format(isoTime)}
	}
	return form
}

// eventFailed lists the failed messages about an event, at most 25 of each channel.
func (p *pages) eventFailed(v *visit) error {
	e, err := v.failedEvent()
	if err != nil {
		return err
	}
	options := channels()
	lists := make([]app.DeliveryLogs, len(options))
	var work concurrent
	for i, channel := range options {
		work.Go(func() (err error) {
			lists[i], err = v.app.DeliveryLogs(v.Request.Context(), channel.Value, url.Values{"eventId": {e.ID}, "status": {"failed"}, "limit": {"25"}})
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	data := failedPage{Event: e}
	for i, list := range lists {
		data.More = data.More || list.NextToken != nil
		for _, log := range list.Logs {
			data.Messages = append(data.Messages, failedMessage{deliveryRow{log, options[i].Value}, options[i].Label, replayForm(e, options[i].Value, log)})
		}
	}
	return v.show(http.StatusOK, "event_failed.html", "Failed messages", data)
}

// replay sends the message of a log again. If the log exists, but its recipient, event or message does not, replay returns
// the reason as a conflict, so that the page shows it.
func (v *visit) replay(kind, log, sentAt string) error {
	_, err := v.app.Replay(v.Request.Context(), kind, log, app.LogTime{SentAt: sentAt})
	if !isGone(err) {
		return err
	}
	if _, missing := v.app.DeliveryLog(v.Request.Context(), kind, log, sentAt); missing == nil {
		app.As(err).Status = http.StatusConflict
	}
	return err
}

// eventReplay sends a failed message again.
func (p *pages) eventReplay(v *visit) error {
	e, err := v.failedEvent()
	if err != nil {
		return err
	}
	form := replayForm(e, v.Param("kind"), app.DeliveryLog{LogID: v.Param("log")})
	v.form = form
	if err := form.Read(v.Request); err != nil {
		return err
	}
	if err := v.replay(v.Param("kind"), v.Param("log"), form.Value("sentAt")); err != nil {
		return err
	}
	return v.done(eventAt(e.ID), "replayed")
}
