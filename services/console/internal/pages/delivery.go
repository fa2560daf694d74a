package pages

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/services/console/internal/app"
	"github.com/bellbuoy/bellbuoy/services/console/internal/forms"
)

const deliveriesPath = "/deliveries"

func deliveriesAt(kind string) string { return deliveriesPath + "/" + kind }

// deliveryRow is a delivery log with its kind.
type deliveryRow struct {
	app.DeliveryLog
	Kind string
}

// Path returns the path of the page of the log.
func (r deliveryRow) Path() string { return deliveryAt(r.Kind, r.LogID, r.SentAt) }

func deliveryAt(kind, log string, sentAt time.Time) string {
	return deliveriesAt(kind) + "/" + log + "/" + sentAt.UTC().Format(isoTime)
}

// Icon returns the name of the icon of the status.
func (r deliveryRow) Icon() string {
	return map[string]string{"delivered": "done", "retrying": "clock", "failed": "alert", "suppressed": "lock", "skipped": "next"}[r.Status]
}

// Class returns the class of the status, which sets the colour of the icon. It is empty except for delivered and failed.
func (r deliveryRow) Class() string {
	return map[string]string{"delivered": "o", "failed": "x"}[r.Status]
}

// deliveriesPage is the data of deliveries.html.
type deliveriesPage struct {
	Kind     string
	Views    []view
	Filter   *forms.Form
	Event    string // id of the event whose deliveries are shown; empty: any
	Endpoint string // urlHash of the endpoint; empty: any
	Filtered bool
	Rows     []deliveryRow
	Files    string // why messages of the kind are written to files; empty: they are sent, or this is unknown
	More     string // address of the next page; empty: there is none
	First    bool
}

// At returns the path of the list.
func (d deliveriesPage) At() string { return deliveriesAt(d.Kind) }

// Why returns the path of the page that explains why a message is missing.
func (d deliveriesPage) Why() string {
	return whyAt(d.Kind, url.Values{"event": {d.Event}, "endpoint": {d.Endpoint}})
}

func deliveryFilter(at string) *forms.Form {
	statuses := []forms.Option{{Value: "", Label: "All"}}
	for _, status := range []string{"delivered", "retrying", "failed", "skipped", "suppressed"} {
		statuses = append(statuses, forms.Option{Value: status, Label: deliveryStatus(status)})
	}
	return forms.New(at, "Show",
		&forms.Field{Kind: forms.Select, Name: "status", Label: "Result", Plain: true, Options: statuses},
		&forms.Field{Kind: forms.Date, Name: "from", Label: "From", Max: 10, Plain: true},
		&forms.Field{Kind: forms.Date, Name: "to", Label: "To", Max: 10, Plain: true})
}

// deliveryStatus returns the status of a log in words.
func deliveryStatus(status string) string {
	if status == "retrying" {
		return "Tried again later"
	}
	return words(status)
}

// deliveriesOf returns the handler of the list of the deliveries of a kind. The filter is in the address.
func (p *pages) deliveriesOf(kind forms.Option) func(*visit) error {
	return func(v *visit) error {
		data := deliveriesPage{Kind: kind.Value, Event: v.Query("event"), Endpoint: v.Query("endpoint"), First: v.Query("after") == ""}
		data.Filter = deliveryFilter(data.At())
		for _, other := range channels() {
			data.Views = append(data.Views, view{deliveriesAt(other.Value), other.Label, other.Value == kind.Value})
		}
		query := filled(map[string]string{"limit": "50", "eventId": data.Event, "urlHash": data.Endpoint, "nextToken": v.Query("after")})
		data.Filtered = v.readFilter(data.Filter, query) || data.Event+data.Endpoint != ""
		status := http.StatusUnprocessableEntity
		if data.Filter.OK() {
			found, err := v.app.DeliveryLogs(v.Request.Context(), kind.Value, query)
			if !refused(data.Filter, err) {
				if err != nil {
					return err
				}
				status = http.StatusOK
			}
			for _, log := range found.Logs {
				data.Rows = append(data.Rows, deliveryRow{log, kind.Value})
			}
			data.More = nextPage(data.At(), v.Request.URL.Query(), found.NextToken)
		}
		data.Files = v.filesOf(kind.Value)
		return v.show(status, "deliveries.html", "Deliveries", data)
	}
}

// deliveryPage is the data of delivery.html.
type deliveryPage struct {
	deliveryRow
	Log      app.DeliveryExchange
	Label    string // name of the kind
	Attempts []attemptRow
	Reason   string
	Files    string // why messages of the kind are written to files now; empty: they are sent, this is unknown, or the message was not delivered
	Events   bool   // the member may open the event
	Replay   string // path of the page that sends the message again; empty: the plan does not allow this, or the message is still retried
	Endpoint string // path of the page of the endpoint; empty: the recipient is no endpoint, or the plan has no integrations
}

// Why returns the path of the page that explains the messages about the event. For an endpoint, the path also names the
// recipient.
func (d deliveryPage) Why() string {
	return whyAt(d.Kind, url.Values{"event": {d.EventID}, "endpoint": {d.URLHash}})
}

type attemptRow struct {
	app.DeliveryAttempt
	Path, Reason string
	Current      bool
}

// filesOf returns why messages of the kind are written to files. It returns an empty text if they are sent, or if the setup
// cannot be read. It reads the setup of today, which may differ from that at the time of a message.
func (v *visit) filesOf(kind string) string {
	if !isAddressed(kind) {
		return ""
	}
	found, _ := v.app.Channels(v.Request.Context())
	return filesWith(found.Channels, kind)
}

// filesWith is filesOf with the setup of all channels.
func filesWith(channels map[string]app.ChannelSetup, kind string) string {
	if missing := channels[kind].Missing; missing != nil {
		return map[string]string{
			"SMTP_URL": "Messages are written to files, because no mail server is set up.",
			"SMS_URL":  "Messages are written to files, because no SMS server is set up.",
		}[*missing]
	}
	return ""
}

// readDelivery returns the log that the path names. It returns errNotFound if the App interface refuses the id or the time in the
// path.
func (v *visit) readDelivery(kind string) (app.DeliveryExchange, error) {
	found, err := v.app.DeliveryLog(v.Request.Context(), kind, v.Param("log"), v.Param("at"))
	return found.Log, notFound(err)
}

// delivery returns the handler of the page of a log.
func (p *pages) delivery(kind forms.Option) func(*visit) error {
	return func(v *visit) error {
		log, err := v.readDelivery(kind.Value)
		if err != nil {
			return err
		}
		data := deliveryPage{
			deliveryRow: deliveryRow{log.DeliveryLog, kind.Value}, Log: log, Label: kind.Label, Reason: reasonOf(log.ErrorCode), Events: v.caller.Has(passport.RoleEvent),
		}
		for _, attempt := range log.Attempts {
			data.Attempts = append(data.Attempts, attemptRow{attempt, deliveryAt(kind.Value, attempt.LogID, attempt.At), reasonOf(attempt.ErrorCode), attempt.LogID == log.LogID})
		}
		if v.caller.Features.Integrations && log.URLHash != "" && !isAddressed(kind.Value) {
			data.Endpoint = integrationsPath + "/" + kind.Value + "/" + url.PathEscape(log.URLHash)
		}
		if log.Status == "delivered" {
			data.Files = v.filesOf(kind.Value)
		}
		if v.caller.Features.Integrations && log.Status != "retrying" {
			data.Replay = data.Path() + "/replay"
		}
		return v.show(http.StatusOK, "delivery.html", "Delivery", data)
	}
}

// deliveryReplay returns the handler of the page that sends the message of a log again.
func (p *pages) deliveryReplay(kind forms.Option) func(*visit) error {
	return func(v *visit) error {
		log, err := v.readDelivery(kind.Value)
		if err != nil {
			return err
		}
		at := deliveryAt(kind.Value, log.LogID, log.SentAt)
		points := []string{"The same message goes to the same recipient, as it is now.", "It has its own entry in the list."}
		if log.Status == "delivered" {
			arrived := "The message has arrived already. The recipient gets it twice."
			if files := v.filesOf(kind.Value); files != "" {
				arrived = files + " This one is written to another file."
			}
			points = slices.Insert(points, 0, arrived)
		}
		return v.ask("Send this message again?", confirm{
			Back: at, BackLabel: "Delivery", Text: kindOfMessage(log.EventKind) + ".", Points: points, Form: forms.New(at+"/replay", "Send again"),
		}, func() error {
			if err := v.replay(kind.Value, log.LogID, log.SentAt.UTC().Format(isoTime)); err != nil {
				return err
			}
			return v.done(at, "replayed")
		})
	}
}
