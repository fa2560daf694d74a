package outcome

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func ended(id int, after time.Duration) topic.Outcome {
	return topic.Outcome{DeliveryID: fmt.Sprint("d-", id), At: start.Add(after)}
}

// A delivery counts once. Later repetitions of its outcome, in any order, do not count.
func TestCountersCountEachDeliveryOnce(t *testing.T) {
	for name, apart := range map[string]time.Duration{
		"all at once": 0, "a batch of a burst": time.Millisecond, "one a second": time.Second, "one an hour": time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			var counters Counters
			const deliveries = 3000
			outcomes := make([]topic.Outcome, deliveries)
			for i := range outcomes {
				outcomes[i] = ended(i, time.Duration(i)*apart)
				if !counters.remember(outcomes[i]) {
					t.Fatalf("delivery %d does not count", i)
				}
				if counters.remember(outcomes[i]) {
					t.Fatalf("delivery %d counts twice", i)
				}
			}
			rand.New(rand.NewPCG(1, 1)).Shuffle(deliveries, func(i, j int) { outcomes[i], outcomes[j] = outcomes[j], outcomes[i] })
			for _, o := range outcomes {
				if counters.remember(o) {
					t.Fatalf("%s counts twice", o.DeliveryID)
				}
			}
			if apart >= time.Second && counters.Counted.len() > keptMarks+1 {
				t.Errorf("%d deliveries are marked", counters.Counted.len())
			}
		})
	}
}

// An outcome that arrives late for the first time counts within the stated bound: among the last keptMarks, or within
// keptFor of the newest. A wrong clock of one process affects no outcome of others.
func TestCountersCountALateOutcome(t *testing.T) {
	var counters Counters
	for i := range 10 * keptMarks {
		counters.remember(ended(i, time.Duration(i)*time.Minute))
	}
	newest := time.Duration(10*keptMarks-1) * time.Minute
	if !counters.remember(ended(-1, newest-time.Duration(keptMarks/2)*time.Minute+time.Second)) {
		t.Error("an outcome among the last ones does not count")
	}
	for i := range 10 * keptMarks {
		counters.remember(ended(10_000+i, newest+time.Duration(i)*time.Millisecond))
	}
	if !counters.remember(ended(-2, newest+time.Millisecond)) {
		t.Error("an outcome of the last minute does not count")
	}
	if counters.remember(ended(-3, newest-time.Hour)) || counters.remember(ended(-2, newest+time.Millisecond)) {
		t.Error("an outcome outside the bound, or a repeated one, counts")
	}
	if !counters.remember(ended(-4, newest+24*time.Hour)) {
		t.Error("an outcome of tomorrow does not count")
	}
	for i := range 10 * keptMarks {
		if o := ended(20_000+i, newest+time.Minute+time.Duration(i)*time.Second); !counters.remember(o) || counters.remember(o) {
			t.Fatalf("outcome %d after one of tomorrow does not count once", i)
		}
	}
	if counters.remember(ended(-4, newest+24*time.Hour)) {
		t.Error("the outcome of tomorrow counts twice")
	}
}

// An outcome without a time, which delivery never sends, counts once too.
func TestCountersCountAnOutcomeWithoutATime(t *testing.T) {
	var counters Counters
	for i := range 10 * keptMarks {
		counters.remember(ended(i, time.Duration(i)*time.Minute))
		if i == 0 && (!counters.remember(topic.Outcome{DeliveryID: "timeless"}) || counters.Counted.ended(0).Year() > 1) {
			t.Errorf("it does not count, or ended at %v", counters.Counted.ended(0))
		}
		if counters.remember(topic.Outcome{DeliveryID: "timeless"}) {
			t.Fatal("it counts twice")
		}
	}
	if counters.Counted.len() > keptMarks+1 {
		t.Errorf("%d marks", counters.Counted.len())
	}
}

func TestMarksAreBounded(t *testing.T) {
	var counters Counters
	for i := range 2 * maxMarks {
		if !counters.remember(ended(i, time.Duration(i)*time.Millisecond)) {
			t.Fatalf("delivery %d does not count", i)
		}
	}
	if counters.Counted.len() != maxMarks || counters.remember(ended(0, 0)) || counters.remember(ended(maxMarks, maxMarks*time.Millisecond)) {
		t.Errorf("%d marks", counters.Counted.len())
	}
}

func TestAResetForgetsFailuresAndOutcomesBeforeIt(t *testing.T) {
	success := start.Add(-time.Hour)
	counters := Counters{ID: "e", Series: Series{9, &start, 500, "http_5xx"}, LastSuccessAt: &success}
	counters.remember(ended(1, 0))
	counters.Reset(start.Add(time.Second))
	if counters.ConsecutiveFailures != 0 || counters.FirstFailureAt != nil || counters.LastError != "" || counters.LastSuccessAt != &success || counters.ID != "e" {
		t.Errorf("%+v", counters)
	}
	if counters.remember(ended(1, 0)) || counters.remember(ended(2, 999*time.Millisecond)) || !counters.remember(ended(3, time.Second)) {
		t.Error("only an outcome since the reset counts")
	}
}

func TestASuccessBeforeTheFailuresDoesNotResetThem(t *testing.T) {
	var c Counters
	c.fail("", ended(1, 2*time.Second))
	c.succeed("", ended(2, time.Second))
	if c.ConsecutiveFailures != 1 || c.LastSuccessAt == nil {
		t.Errorf("after a success that ended before the failure: %+v", c)
	}
	c.succeed("", ended(3, 2*time.Second))
	if c.ConsecutiveFailures != 0 || c.FirstFailureAt != nil {
		t.Errorf("after a success: %+v", c)
	}
}

func TestCountersOutliveAURLAndCountOnlyOutcomesOfThePresentURL(t *testing.T) {
	at := func(after time.Duration, result topic.Result) topic.Outcome {
		return topic.Outcome{Result: result, At: start.Add(after), URLHash: "one", HTTPStatus: 500, ErrorCode: "http_5xx"}
	}
	url := "one"
	var counters Counters
	for i := range 3 { // the first as soon as it is there
		counters.fail(url, at(time.Duration(i)*time.Second, topic.Failed))
	}
	if counters.ConsecutiveFailures != 3 || !counters.FirstFailureAt.Equal(start) || counters.LastHTTPStatus != 500 || counters.LastError != "http_5xx" {
		t.Fatalf("three failures: %+v", counters)
	}
	url = "two"
	if counters.fail(url, at(time.Minute, topic.Failed)) || counters.ConsecutiveFailures != 3 {
		t.Fatalf("a failure of the old URL counts against the new one: %+v", counters)
	}
	present := func(after time.Duration, result topic.Result) topic.Outcome {
		o := at(after, result)
		o.URLHash = "two"
		return o
	}
	if !counters.fail(url, present(time.Minute, topic.Failed)) || counters.ConsecutiveFailures != 4 || !counters.FirstFailureAt.Equal(start) {
		t.Fatalf("the new URL's first failure: %+v", counters)
	}
	counters.succeed(url, at(30*time.Second, topic.Delivered))
	if counters.ConsecutiveFailures != 4 || !counters.LastSuccessAt.Equal(start.Add(30*time.Second)) {
		t.Fatalf("a success of the old URL: %+v", counters)
	}
	counters.succeed(url, present(time.Minute, topic.Delivered))
	counters.succeed(url, present(time.Second, topic.Delivered))
	if counters.ConsecutiveFailures != 0 || counters.FirstFailureAt != nil || !counters.LastSuccessAt.Equal(start.Add(time.Minute)) {
		t.Fatalf("after a success: %+v", counters)
	}
}
