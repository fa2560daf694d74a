package deliverylog

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// quickSuccess returns a result that can be in a block.
func quickSuccess(random *rand.Rand, change string, at time.Time) *Delivery {
	recipient := []string{uuid.NewString(), "r" + fmt.Sprint(random.Int()), strings.ToUpper(uuid.NewString()), "ü"}[random.IntN(4)]
	ended := at.Add(time.Duration(random.IntN(150)) * time.Millisecond)
	d := &Delivery{
		ID: topic.DeliveryID(change, recipient), Organization: "o", Channel: topic.Webhook, Recipient: recipient, EventID: "e", EventKind: topic.IncidentCreated,
		ChangeID: change, Sequence: 3, Logged: Logged{
			DashboardID: []string{"d1", "d2", ""}[random.IntN(3)], URLHash: fmt.Sprintf("%064x", random.IntN(500)),
			URLDisplay: "hooks.test/…", MaxAttempts: 7, Request: int64(random.IntN(3)) - 1, SentAt: at,
		}, Status: StatusDelivered,
		Attempts: []Attempt{{At: at, DurationMS: int64(random.IntN(150)), HTTPStatus: 200 + random.IntN(5)}}, EndedAt: &ended, Partition: random.IntN(3),
	}
	switch random.IntN(4) {
	case 0:
		d.URLHash, d.URLDisplay = "", ""
	case 1:
		d.URLHash = "no digest"
	}
	if random.IntN(5) > 0 {
		date := "Date: " + at.Add(time.Duration(random.IntN(2))*time.Second).UTC().Format(time.RFC1123) + "\n"
		d.Response = &Response{Header: "Connection: keep-alive\n" + date + "Server: nginx\n", Body: strings.Repeat("x", random.IntN(3))}
	}
	return d
}

// Blocks also bound their time and store equal responses once.
func TestTheMembersOfBlocksEqualTheRowsTheyWereMadeOf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	began := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	changes := []string{uuid.NewString(), uuid.NewString()}
	var batch []*Delivery
	want := map[string]Delivery{}
	for range 2000 {
		d := quickSuccess(random, changes[random.IntN(2)], began.Add(time.Duration(random.IntN(2000))*time.Millisecond))
		if _, again := want[d.ID]; !again {
			want[d.ID] = *d
			batch = append(batch, d)
		}
	}
	slow := *quickSuccess(random, changes[0], began)
	late := slow.SentAt.Add(time.Second)
	slow.EndedAt = &late
	failed := *quickSuccess(random, changes[0], began)
	failed.Status = StatusFailed
	batch = append(batch, &slow, &failed)
	size := 0
	for _, b := range BlocksOf(batch) {
		rows, err := b.Select(Filter{})
		if err != nil || len(rows) != b.Size || b.Last.Sub(b.First) >= BlockSpan || b.Size > blockMembers || len(b.Responses) > 3 {
			t.Fatalf("%d of %d members, %v from %v to %v, %d responses", len(rows), b.Size, err, b.First, b.Last, len(b.Responses))
		}
		size += b.Size
		for i, row := range rows {
			if !reflect.DeepEqual(row, want[row.ID]) {
				t.Fatalf("%+v\nis not\n%+v", row, want[row.ID])
			}
			if row.Partition != b.Partition || BucketOf(row.URLHash) != b.URLBucket || row.URLHash != "" && !HasURL(b.URLs, row.URLHash) ||
				i > 0 && row.SentAt.Before(rows[i-1].SentAt) || row.SentAt.Before(b.First) || row.SentAt.After(b.Last) {
				t.Fatalf("%+v is in %+v", row, b)
			}
			if only := NewWanted([]string{"nobody", row.Recipient}); !only.MayBeIn(b.Recipients) || NewWanted([]string{"nobody"}).MayBeIn(b.Recipients) {
				t.Fatalf("%s in %s", row.Recipient, b.Recipients)
			}
			some, err := b.Rows(NewWanted([]string{row.Recipient, "nobody"}))
			if err != nil || len(some) != 1 || some[0].ID != row.ID {
				t.Fatalf("%+v, %v", some, err)
			}
		}
		chosen, err := b.Select(Filter{DashboardID: "d1", URLHash: rows[0].URLHash, From: b.First.Add(time.Millisecond), To: b.Last})
		wanted := slices.DeleteFunc(slices.Clone(rows), func(d Delivery) bool {
			return d.DashboardID != "d1" || d.URLHash != rows[0].URLHash && rows[0].URLHash != "" || !d.SentAt.After(b.First) || !d.SentAt.Before(b.Last)
		})
		if err != nil || len(chosen) != len(wanted) {
			t.Fatalf("%d selected of %d, %v", len(chosen), len(wanted), err)
		}
	}
	if size != len(want) {
		t.Errorf("%d members of %d", size, len(want))
	}
	if HasURL("AAAAAA", urlOther) || !HasURL("not base64!", urlOther) {
		t.Error("HasURL")
	}
}

func TestARowKeepsTheColumnsOfItsFirstLogWhenARetryAdvancesIt(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	first, next := *quickSuccess(random, "c", time.Now()), *quickSuccess(random, "c", time.Now().Add(time.Second))
	first.Status, first.MaxAttempts, first.Request = StatusRetrying, 8, 9
	row := first
	if !row.Advance(1, &next) || !reflect.DeepEqual(row.Logged, first.Logged) {
		t.Errorf("%+v\nis not\n%+v", row.Logged, first.Logged)
	}
}

const urlOther = "another"

func TestBlocksWithLongResponsesAreSmall(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	at := time.Now()
	for _, equal := range []bool{true, false} {
		var batch []*Delivery
		for i := range blockMembers {
			d := quickSuccess(random, "c", at)
			body := strings.Repeat("x", maxLogged)
			if !equal {
				body = fmt.Sprint(i) + body
			}
			d.URLHash, d.Partition, d.Response = "", 1, &Response{Body: body}
			batch = append(batch, d)
		}
		size := 0
		for _, b := range BlocksOf(batch) {
			bytes := 0
			for _, r := range b.Responses {
				bytes += len(r.Body)
			}
			if size += b.Size; bytes > blockBytes+maxLogged || equal && b.Size < blockMembers {
				t.Errorf("%d members have %d bytes of responses", b.Size, bytes)
			}
		}
		if size != len(batch) {
			t.Errorf("%d members of %d", size, len(batch))
		}
	}
}

func TestDamagedMembersAreAnErrorAndNeverAWrongLog(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var batch []*Delivery
	for range 20 {
		batch = append(batch, quickSuccess(random, "c", time.Now()))
	}
	blocks := BlocksOf(batch)
	b := slices.MaxFunc(blocks, func(a, b Block) int { return a.Size - b.Size })
	whole := b.Members
	for n := range whole {
		b.Members = whole[:n]
		rows, err := b.Select(Filter{})
		if err == nil && len(rows) == b.Size || err != nil && !fault.Is(err, fault.Internal) {
			t.Fatalf("%d of %d bytes: %d rows, %v", n, len(whole), len(rows), err)
		}
	}
	for range 2000 {
		b.Members = slices.Clone(whole)
		for range 3 {
			b.Members[random.IntN(len(whole))] = byte(random.Uint32())
		}
		_, _ = b.Select(Filter{}) // must not panic
	}
}
