package delivery_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// groupMembers returns the number of members with partitions of a stable group, and 0 for other groups.
func groupMembers(ctx context.Context, broker, group string) (int, error) {
	client := &kafka.Client{Addr: kafka.TCP(broker)}
	answer, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return 0, err
	}
	members := 0
	for _, g := range answer.Groups {
		if g.GroupState != "Stable" {
			return 0, nil
		}
		for _, member := range g.Members {
			for _, assigned := range member.MemberAssignments.Topics {
				if len(assigned.Partitions) > 0 {
					members++
					break
				}
			}
		}
	}
	return members, nil
}

// Kill -9 at any time of a fan-out with failures: after the last start no delivery is missing, no stored delivery
// was sent again, and each kill repeated at most 256.
func TestAKillDuringAFanOutLosesNothingAndRepeatsFew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n, kills, bound = 400, 3, 256
	hooks := w.receiver("hooks.test", func(rw http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(rand.N(40 * time.Millisecond))
		defer timer.Stop()
		<-timer.C
		if rand.IntN(10) == 0 {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		rw.WriteHeader(http.StatusOK)
	})
	ids := make([]string, n)
	for i := range n {
		ids[i] = fmt.Sprintf("r%d", i)
		w.peer.add(ids[i], fmt.Sprintf("https://hooks.test/%d", i))
	}
	recorded := map[string]int{} // requests of the deliveries that had ended at a kill
	var changes []string
	for kill := range kills {
		c := w.child("DELIVERY_RETRY_SCHEDULE=100ms,100ms,100ms,100ms,100ms,100ms,100ms,100ms")
		sent := change(newEvent(), 1)
		changes = append(changes, sent.ID)
		before := len(hooks.got())
		w.publish(sent, nil)
		target := before + rand.IntN(n)
		apitest.Eventually(t, "some to arrive", func() bool { return len(hooks.got()) >= target })
		c.kill()
		w.forgetMembers()
		arrived := count(hooks.got())
		for _, id := range changes {
			for _, row := range w.rows(deliveries(id, ids)...) {
				if _, known := recorded[row.ID]; !known && row.EndedAt != nil {
					recorded[row.ID] = arrived[row.ID]
				}
			}
		}
		t.Logf("kill %d after %d arrivals, %d ended", kill, len(hooks.got()), len(recorded))
	}
	w.child("DELIVERY_RETRY_SCHEDULE=100ms,100ms,100ms,100ms,100ms,100ms,100ms,100ms")
	repeats := 0
	for _, id := range changes {
		rows := w.ended(id, ids...)
		arrived := count(hooks.got())
		for _, row := range rows {
			if row.Status != deliverylog.StatusDelivered {
				t.Errorf("row %+v", row)
			}
			w.outcomes.of(t, row.ID)
			arrivals := arrived[row.ID]
			repeats += arrivals - len(row.Attempts)
			if before, ended := recorded[row.ID]; ended && arrivals != before {
				t.Errorf("%s had ended and was sent again", row.ID)
			}
			if arrivals < len(row.Attempts) {
				t.Errorf("%s has %d attempts in its row, %d arrived", row.ID, len(row.Attempts), arrivals)
			}
		}
	}
	t.Logf("%d of %d repeated over %d kills", repeats, n*kills, kills)
	if repeats > kills*bound {
		t.Errorf("%d were repeated", repeats)
	}
}

func deliveries(change string, recipients []string) []string {
	ids := make([]string, len(recipients))
	for i, recipient := range recipients {
		ids[i] = topic.DeliveryID(change, recipient)
	}
	return ids
}

func count(arrivals []arrival) map[string]int {
	times := map[string]int{}
	for _, a := range arrivals {
		times[a.id()]++
	}
	return times
}
