package inbound

import (
	"errors"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Monitors repeat an alert as long as it fires. While the problem waits, a repetition by another request writes nothing, and a
// message with another text is the one that waits.
func TestARepeatedMessageThatWaitsWritesNothing(t *testing.T) {
	now := noon
	s := &Inbound{Now: func() time.Time { return now }, Box: seal.NewBox("secret", "test")}
	key := Key{ID: "key", OrganizationID: "a", OpenAfter: Wait(time.Hour)}
	var problem Problem
	report := func(exists bool, title, request string) error {
		at := noon
		_, err := s.change(&problem, exists, key, heldMessage{Message: topic.InboundMessage{
			ID: request, RequestID: request, IP: "192.0.2." + request, Action: "trigger", ExternalID: "disk", Title: title, Timestamp: &at,
		}}, nil)
		now = now.Add(time.Second)
		return err
	}
	if err := report(false, "The disk is full.", "1"); err != nil || problem.State != Waiting {
		t.Fatalf("%v, %s", err, problem.State)
	}
	first := problem.Held
	if err := report(true, "The disk is full.", "2"); !errors.Is(err, fault.ErrUnchanged) || problem.Held != first {
		t.Errorf("a repetition is written: %v", err)
	}
	if err := report(true, "Two disks are full.", "3"); err != nil || problem.Held == first {
		t.Errorf("another text is not written: %v", err)
	}
	if held, err := s.open(problem.ID, problem.Held); err != nil || held.Message.Title != "Two disks are full." || held.Message.RequestID != "3" {
		t.Errorf("%+v, %v", held, err)
	}
}
