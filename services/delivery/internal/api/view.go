package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// logView is a log in a list.
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

// exchangeView is a log with what was sent and received.
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

func viewLog(l *deliverylog.Log) logView {
	view := logView{
		LogID: l.ID, SentAt: web.Time(l.SentAt), DeliveryID: l.DeliveryID, Kind: l.Channel, DashboardID: optional.OrNull(l.DashboardID),
		URLHash: optional.OrNull(l.URLHash), URLDisplay: optional.OrNull(l.URLDisplay), EventID: optional.OrNull(l.EventID), EventKind: l.EventKind, Status: string(l.Status),
		Attempt: l.Attempt, MaxAttempts: l.MaxAttempts, ErrorCode: optional.OrNull(string(l.ErrorCode)), NextAttemptAt: web.TimeOf(l.NextAttemptAt),
		ReplayOf: optional.OrNull(l.ReplayOf),
	}
	if l.Made != nil {
		view.HTTPStatus, view.DurationMS = optional.OrNull(l.Made.HTTPStatus), &l.Made.DurationMS
	}
	return view
}

func viewExchange(e *deliverylog.Exchange) exchangeView {
	view := exchangeView{logView: viewLog(&e.Log), Attempts: make([]attemptView, len(e.Attempts))}
	if e.Request != nil {
		view.Request = &requestView{
			Method: optional.OrNull(e.Request.Method), URLDisplay: view.URLDisplay, Headers: deliverylog.Lines(e.Request.Header), Body: e.Request.Body,
		}
	}
	if e.Response != nil && e.Made != nil {
		view.Response = &responseView{HTTPStatus: e.Made.HTTPStatus, Headers: deliverylog.Lines(e.Response.Header), Body: e.Response.Body}
	}
	for i, attempt := range e.Attempts {
		view.Attempts[i] = attemptView{
			LogID: attempt.LogID, At: web.Time(attempt.At), DurationMS: attempt.DurationMS, HTTPStatus: optional.OrNull(attempt.HTTPStatus),
			ErrorCode: optional.OrNull(string(attempt.ErrorCode)),
		}
	}
	return view
}
