package inbound

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/timing"
	"github.com/google/uuid"
)

// completeWithin is the time limit for the writes after a message was applied, which end the step and store the log.
// The writes continue if the client disconnects.
const completeWithin = 5 * time.Second

// Request is a request of a monitoring tool.
type Request struct {
	KeyID, ID, Timestamp, Signature string // headers; KeyID may also be from the query
	Body                            []byte
	IP, RequestID                   string
	// Format is the format of the path. Empty: the request is signed as Standard Webhooks require. A request with a format
	// has the secret of the key as its Token, or a Signature of Grafana, and no ID.
	Format, Source, Token string
	Wrong                 error // error of the query, which Receive returns after the check of the credential; nil: none
	// Read decodes the body into a message that has the defaults of the key. It returns an Invalid fault if the body is
	// no valid message.
	Read func(*Report) error
}

// Response is the log of a message that was applied. Duplicate is true if an earlier request with the same id has
// applied it.
type Response struct {
	Log
	Duplicate bool
}

// Receive applies a message. It returns a Denied fault if the key, the signature or token, the time or the plan of the
// organization does not allow the request. If a message with the same id was applied in the last 24 h, Receive does not apply
// the message again and returns the first response.
func (s *Inbound) Receive(ctx context.Context, in Request) (Response, error) {
	start := time.Now()
	if in.Format != "" && in.Signature != "" {
		in.ID = grafanaID(in.Signature)
	}
	key, err := s.sender(ctx, in)
	if fault.Is(err, fault.Denied) && in.Format != "" {
		timing.Wait(ctx, start)
	}
	if err != nil {
		return Response{}, err
	}
	s.touch(ctx, key)
	row := s.newLog(key, in)
	if row.WebhookID != "" && in.Wrong == nil {
		if former, kept, err := s.kept(ctx, row); err != nil || kept {
			return Response{former, kept}, err
		}
	}
	report := Report{InboundMessage: key.message(in)}
	err = s.read(in, &report)
	row.Action, row.ExternalID = report.Action, report.ExternalID
	var outcome outcome
	switch {
	case err != nil:
	case report.Ignored != "":
		outcome = ignored("", report.Ignored)
	default:
		outcome, err = s.apply(ctx, key, heldMessage{report.InboundMessage, in.Format, in.Source}, report.At)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completeWithin)
	defer cancel()
	if err != nil {
		s.fail(ctx, row, err)
		return Response{}, err
	}
	row.EventID, row.Result, row.HTTPStatus, row.Error = outcome.EventID, outcome.Result, 200, outcome.reason
	return s.keep(ctx, row)
}

// read decodes the request into out. It returns a fault for a date in the future, as the events service does, because a
// resolve changes the problem before the events service gets the message.
func (s *Inbound) read(in Request, out *Report) error {
	if in.Wrong != nil {
		return in.Wrong
	}
	if err := in.Read(out); err != nil {
		return err
	}
	if out.Timestamp != nil && out.Timestamp.After(s.Now()) {
		return fault.Field("timestamp", "must not be in the future")
	}
	if out.At == nil {
		out.At = out.Timestamp
	}
	return nil
}

// sender returns the key of the request, and a Denied fault if the key is unknown or refusal returns a reason. It logs a refusal
// in the organization of the key, unless the process has logged maxRefusals of the key in this minute.
func (s *Inbound) sender(ctx context.Context, in Request) (Key, error) {
	key, err := s.keyOf(ctx, in.KeyID)
	if fault.Is(err, fault.NotFound) {
		s.Log.InfoContext(ctx, "inbound webhook with an unknown key", "ip", in.IP, "format", in.Format)
		return Key{}, fault.Wrap(fault.Denied, err, "The signing key is unknown.")
	}
	if err != nil {
		return Key{}, err
	}
	reason, err := s.refusal(ctx, key, in)
	if err == nil && reason != "" {
		err = fault.New(fault.Denied, "%s", reason)
		if s.refusals.admit(key.ID, s.Now()) {
			s.fail(ctx, s.newLog(key, in), err)
		}
	}
	return key, err
}

func (s *Inbound) keyOf(ctx context.Context, id string) (Key, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return Key{}, noKey()
	}
	return s.Store.Keys.Get(ctx, parsed.String())
}

// refusal returns why the request is not allowed. It returns "" if the request is allowed. The most expensive check is the last.
func (s *Inbound) refusal(ctx context.Context, key Key, in Request) (string, error) {
	if key.RevokedAt != nil {
		return "The signing key is revoked.", nil
	}
	if reason := in.check(s.Now()); reason != "" {
		return reason, nil
	}
	secret, err := s.Box.Open(key.Secret, key.ID)
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "The signing key cannot be read.")
	}
	if reason := in.prove(key, secret); reason != "" {
		return reason, nil
	}
	included, err := s.Services.HasIntegrations(ctx, key.OrganizationID)
	if err == nil && !included {
		return "The plan of the organization does not include integrations.", nil
	}
	return "", err
}
