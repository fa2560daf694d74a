package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// logView is the JSON of a log.
type logView struct {
	LogID         string        `json:"logId" format:"uuid"`
	SentAt        web.Time      `json:"sentAt" description:"When the attempt began, or when the delivery ended without one."`
	DeliveryID    string        `json:"deliveryId" format:"uuid" description:"The same for all attempts; the webhook-id of a webhook."`
	Kind          topic.Channel `json:"kind"`
	DashboardID   *string       `json:"dashboardId" format:"uuid"`
	URLHash       *string       `json:"urlHash" format:"sha256" description:"Of endpoints."`
	URLDisplay    *string       `json:"urlDisplay" description:"Of endpoints."`
	EventID       *string       `json:"eventId" format:"uuid" description:"Null for a message that no event caused, such as endpoint.test."`
	EventKind     topic.Kind    `json:"eventKind"`
	Status        string        `json:"status" enum:"delivered,retrying,failed,skipped,suppressed"`
	Attempt       int           `json:"attempt" description:"Attempts of the delivery so far."`
	MaxAttempts   int           `json:"maxAttempts" description:"Attempts that the retry policy grants after this response."`
	HTTPStatus    *int          `json:"httpStatus"`
	DurationMS    *int64        `json:"durationMs"`
	ErrorCode     *string       `json:"errorCode" description:"Null after a success. A response that is not HTTP is connect."`
	NextAttemptAt *web.Time     `json:"nextAttemptAt" description:"When the next attempt was due; of status retrying."`
	ReplayOf      *string       `json:"replayOf" format:"uuid" description:"The logId of the log that was replayed."`
}

type logsView struct {
	Logs      []logView `json:"logs"`
	NextToken *string   `json:"nextToken"`
}

// exchangeView shows a log with its request and response.
type exchangeView struct {
	logView
	Request  *requestView  `json:"request" description:"Null without an attempt."`
	Response *responseView `json:"response" description:"Null if none came."`
	Attempts []attemptView `json:"attempts" description:"All attempts of the delivery."`
}

type requestView struct {
	Method     *string           `json:"method" description:"Null for a mail."`
	URLDisplay *string           `json:"urlDisplay"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
}

type responseView struct {
	HTTPStatus int               `json:"httpStatus"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body" description:"The first 16 KB."`
}

type attemptView struct {
	LogID      string   `json:"logId" format:"uuid"`
	At         web.Time `json:"at"`
	DurationMS int64    `json:"durationMs"`
	HTTPStatus *int     `json:"httpStatus"`
	ErrorCode  *string  `json:"errorCode"`
}

type oneLogView struct {
	Log exchangeView `json:"log"`
}

type replayView struct {
	DeliveryID string `json:"deliveryId" format:"uuid" description:"Of the new delivery."`
}

func viewLog(d deliverylog.Delivery) logView {
	status, _ := d.LogStatus()
	view := logView{
		LogID: d.ID, SentAt: web.Time(d.SentAt), DeliveryID: topic.LogID(d.ID, 0), Kind: d.Channel, DashboardID: optional.OrNull(d.DashboardID),
		URLHash: optional.OrNull(d.URLHash), URLDisplay: optional.OrNull(d.URLDisplay), EventID: optional.OrNull(d.EventID), EventKind: d.EventKind,
		Status: string(status), Attempt: min(len(d.Attempts), d.Log+1), MaxAttempts: d.MaxAttempts, ErrorCode: optional.OrNull(string(d.ErrorCode)),
		ReplayOf: optional.OrNull(d.ReplayOf),
	}
	if made := d.Made(); made != nil {
		view.HTTPStatus, view.DurationMS = optional.OrNull(made.HTTPStatus), &made.DurationMS
		view.ErrorCode, view.NextAttemptAt = optional.OrNull(string(made.ErrorCode)), web.TimeOf(made.NextAttemptAt)
	}
	return view
}

func viewExchange(e *deliverylog.Exchange) exchangeView {
	view := exchangeView{logView: viewLog(e.Log), Attempts: make([]attemptView, len(e.Row.Attempts))}
	if e.Request != nil {
		view.Request = &requestView{
			Method: optional.OrNull(e.Request.Method), URLDisplay: view.URLDisplay, Headers: deliverylog.Lines(e.Request.Header), Body: e.Request.Body,
		}
	}
	if response, made := e.Log.Response, e.Log.Made(); response != nil && made != nil {
		view.Response = &responseView{HTTPStatus: made.HTTPStatus, Headers: deliverylog.Lines(response.Header), Body: response.Body}
	}
	for i, attempt := range e.Row.Attempts {
		view.Attempts[i] = attemptView{
			LogID: topic.LogID(e.Row.ID, uint8(i)), At: web.Time(attempt.At), DurationMS: attempt.DurationMS, //nolint:gosec // at most 21 attempts
			HTTPStatus: optional.OrNull(attempt.HTTPStatus), ErrorCode: optional.OrNull(string(attempt.ErrorCode)),
		}
	}
	return view
}
