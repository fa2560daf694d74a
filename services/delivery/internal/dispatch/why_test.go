package dispatch

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

const whyChange, whyFirst, whyLast = "change", "on the first page", "on the last page"

// steps are the writes of a plan with two pages and two deliveries, in their order. Each read first makes the next
// writes, as many as reads says.
type steps struct {
	Store
	reads []int
	done  int // number of writes so far
}

// progressOfSteps is the store of the delivery log.
type progressOfSteps struct {
	deliverylog.Store
	steps *steps
}

// read makes the writes before the next read, and reports whether the write n is done.
func (s *steps) read() func(n int) bool {
	if len(s.reads) > 0 {
		s.done, s.reads = s.done+s.reads[0], s.reads[1:]
	}
	done := s.done
	return func(n int) bool { return done >= n }
}

// The writes by number.
const (
	savedFirstPage = iota + 1
	deliveredFirst
	savedLastPage
	deliveredLast
	writes = deliveredLast
)

func (s *steps) ChangesOf(context.Context, string, string, int) ([]topic.EventChange, error) {
	return []topic.EventChange{{ID: whyChange, Organization: "o", OccurredAt: time.Now(), Notify: topic.Notify{topic.Webhook: {}}}}, nil
}

func (s *steps) PlannedPages(_ context.Context, ids []string) (map[string]bool, error) {
	done, out := s.read(), map[string]bool{}
	for page, saved := range map[int]int{0: savedFirstPage, 1: savedLastPage, endOfPlan: savedLastPage} {
		if id := pageID(whyChange, topic.Webhook, page); slices.Contains(ids, id) && done(saved) {
			out[id] = true
		}
	}
	return out, nil
}

func (s progressOfSteps) Planned(context.Context, string, string) (map[topic.Channel]int64, error) {
	done, out := s.steps.read(), map[topic.Channel]int64{}
	for _, saved := range []int{savedFirstPage, savedLastPage} {
		if done(saved) {
			out[topic.Webhook]++
		}
	}
	return out, nil
}

func (s progressOfSteps) Progress(context.Context, string, string, topic.Channel) (p deliverylog.Progress, _ error) {
	done := s.steps.read()
	for _, stored := range []int{deliveredFirst, deliveredLast} {
		if done(stored) {
			p.Delivered++
		}
	}
	return p, nil
}

func (s *steps) Recorded(context.Context, []string, []Placed) (rows []deliverylog.Delivery, _ error) {
	done := s.read()
	for recipient, stored := range map[string]int{whyFirst: deliveredFirst, whyLast: deliveredLast} {
		if done(stored) {
			rows = append(rows, deliverylog.Delivery{ID: topic.DeliveryID(whyChange, recipient), Status: deliverylog.StatusDelivered})
		}
	}
	return rows, nil
}

func (s *steps) Replays(context.Context, []string) ([]deliverylog.Delivery, error) { return nil, nil }

// subscribed is an Explainer with one recipient that the change concerns, and the events service.
type subscribed struct {
	Events
	id string
}

func (s subscribed) Explain(context.Context, string, topic.ExplainQuery) (topic.Explanation, error) {
	return topic.Explanation{Recipients: []topic.ExplainedRecipient{{Recipient: topic.Recipient{ID: s.id}, Verdicts: make([]topic.Verdict, 1)}}}, nil
}

func (s subscribed) EventState(context.Context, string, string) (topic.EventState, error) {
	return topic.EventState{}, nil
}

// schedules calls try with each way to spread up to n writes over a number of reads.
func schedules(reads, n int, try func([]int)) {
	if reads == 0 {
		try(nil)
		return
	}
	for first := range n + 1 {
		schedules(reads-1, n-first, func(rest []int) { try(append([]int{first}, rest...)) })
	}
}

// A plan goes on while the records are read. Whichever of its writes happen between two reads, a recipient that the plan
// reaches is never explained by a change of its settings: its message waits, or was delivered.
func TestARecipientWhoseMessageIsStoredMeanwhileIsNeverExplainedByItsSettings(t *testing.T) {
	const reads = 5
	seen := map[string]int{}
	schedules(reads, writes, func(before []int) {
		for _, recipient := range []string{whyFirst, whyLast} {
			s := &steps{reads: before}
			who := subscribed{id: recipient}
			p := NewPlanner(Parts{
				Store: s, Logs: deliverylog.New(deliverylog.Options{Store: progressOfSteps{steps: s}, EventState: who.EventState, Now: time.Now}), Now: time.Now,
				Explainers: map[topic.RecipientService]Explainer{topic.Integrations: who}, Events: who,
			})
			found, err := p.Why(t.Context(), WhyQuery{Organization: "o", EventID: "e", Channel: topic.Webhook, URLHash: "h"})
			if err != nil || len(found.Messages) != 1 || len(found.Messages[0].Results) != 1 {
				t.Fatalf("%+v, %v", found, err)
			}
			result := found.Messages[0].Results[0]
			seen[string(result.Status)+" "+result.Code]++
			if result.Code == whyChanged {
				t.Errorf("%v writes before the reads, recipient %s: %s", before, recipient, result.Code)
			}
		}
	})
	for _, want := range []string{"waiting planning", "waiting queued", "delivered delivered"} {
		if seen[want] == 0 {
			t.Errorf("no order of writes has the result %q: %v", want, seen)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}
