package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/moving/transfer"
)

// two is a set with two dashboards. The component both is on each of them.
func two(t *testing.T) *lines.Set {
	t.Helper()
	set, err := lines.Read(t.Context(), strings.NewReader(`{"kind":"dashboard","key":"x:s:a","name":"A","slug":"aaa"}
{"kind":"dashboard","key":"x:s:b","name":"B","slug":"bbb"}
{"kind":"component","key":"x:s:one","name":"One","dashboardIds":["x:s:a"]}
{"kind":"component","key":"x:s:both","name":"Both","startAt":"2020-01-01T00:00:00Z","dashboardIds":["x:s:a","x:s:b"]}
{"kind":"event","key":"x:s:e1","type":"incident","title":"One","status":"resolved","startAt":"2025-01-01T00:00:00Z","components":[{"key":"x:s:one"}]}
{"kind":"event","key":"x:s:e2","type":"incident","title":"Both","status":"resolved","startAt":"2025-02-01T00:00:00Z","components":[{"key":"x:s:one"},{"key":"x:s:both"}],"timeline":[{"key":"x:s:u","at":"2025-02-01T00:00:00Z","status":"resolved","html":"u","impacts":{"x:s:one":"major_outage","x:s:both":"operational"}}]}
{"kind":"event","key":"x:s:e3","type":"incident","title":"A note","status":"resolved","startAt":"2025-03-01T00:00:00Z","dashboardIds":["x:s:a"]}
{"kind":"subscriber","key":"x:s:s1","channel":"email","address":"ada@example.com","components":["x:s:one"],"state":"confirmed"}
{"kind":"subscriber","key":"x:s:s2","channel":"email","address":"bob@example.com","components":["x:s:one","x:s:both"],"state":"confirmed"}
{"kind":"subscriber","key":"x:s:s3","dashboardId":"x:s:a","channel":"email","address":"eve@example.com","components":null,"state":"confirmed"}
{"kind":"endpoint","key":"x:s:h","channel":"webhook","url":"https://example.com/h","components":null}
`))
	if err != nil || len(set.Warnings) > 0 {
		t.Fatalf("%v, %v", err, set.Warnings)
	}
	return set
}

func written(t *testing.T, set *lines.Set) string {
	t.Helper()
	var out strings.Builder
	if err := set.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestOneOfSeveralDashboardsIsPrepared(t *testing.T) {
	set := two(t)
	if err := transfer.Prepare(set, "bbb"); err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"dashboard","key":"x:s:b","name":"B","slug":"bbb"}
{"kind":"component","key":"x:s:both","name":"Both","startAt":"2020-01-01T00:00:00Z","dashboardIds":["x:s:b"]}
{"kind":"event","key":"x:s:e2","type":"incident","title":"Both","status":"resolved","startAt":"2025-02-01T00:00:00Z","components":[{"key":"x:s:both"}],"timeline":[{"key":"x:s:u","at":"2025-02-01T00:00:00Z","status":"resolved","html":"u","impacts":{"x:s:both":"operational"}}]}
{"kind":"subscriber","key":"x:s:s2","dashboardId":"x:s:b","channel":"email","address":"bob@example.com","components":["x:s:both"],"state":"confirmed"}
{"kind":"endpoint","key":"x:s:h","dashboardId":"x:s:b","channel":"webhook","url":"https://example.com/h","components":null}
{"kind":"warning","key":"x:s:a","text":"is another dashboard (aaa); it was left out with what only it shows"}
`
	if got := written(t, set); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if err := transfer.Prepare(two(t), "ccc"); err == nil || !strings.Contains(err.Error(), "take one of aaa, bbb") {
		t.Errorf("an unknown slug gives %v", err)
	}
}

func TestAllDashboardsArePrepared(t *testing.T) {
	set := two(t)
	if err := transfer.Prepare(set, ""); err != nil || len(set.Warnings) > 0 || len(set.Events) != 3 {
		t.Fatalf("%v, %v", err, set.Warnings)
	}
	if first := set.Components[0].StartAt; first == nil || first.Format(time.DateOnly) != "2025-01-01" {
		t.Errorf("a component without a start begins at %v", first)
	}
	for i, want := range []string{"x:s:a", "x:s:a", "x:s:a"} {
		if got := set.Subscribers[i].DashboardID; got != want {
			t.Errorf("the subscriber %s goes to %s", set.Subscribers[i].Key, got)
		}
	}
	for _, slug := range []string{"ab", "Acme", "a/b", strings.Repeat("a", 64)} {
		if err := transfer.Prepare(two(t), slug); err == nil || !strings.Contains(err.Error(), "must be 3 to 63 of a-z, 0-9 and -") {
			t.Errorf("the slug %s: %v", slug, err)
		}
	}
	if err := transfer.Prepare(&lines.Set{}, ""); err == nil {
		t.Error("a set without a dashboard is prepared")
	}
}

func TestPiecesKeepToTheirLimits(t *testing.T) {
	set := &lines.Set{Dashboards: []lines.Dashboard{{Key: "x:s:a", Slug: "aaa"}}}
	long := strings.Repeat("n", 100_000)
	for i := range 450 {
		e := lines.Event{Key: fmt.Sprintf("x:s:e%d", i), HTML: "short"}
		if i < 100 {
			e.HTML = long
		}
		set.Events = append(set.Events, e)
	}
	for i := range 2500 {
		set.Subscribers = append(set.Subscribers, lines.Subscriber{Key: fmt.Sprintf("x:s:s%d", i), DashboardID: "x:s:a", Channel: []string{"email", "sms"}[i%2]})
	}
	var counts []string
	for _, piece := range transfer.Split(set) {
		size := 0
		for _, e := range piece.Events {
			size += len(e.HTML)
		}
		if size > 8<<20 {
			t.Errorf("a piece has %d bytes", size)
		}
		counts = append(counts, fmt.Sprint(len(piece.Dashboards), len(piece.Events), len(piece.Subscribers)))
	}
	if want := []string{"1 0 0", "0 73 0", "0 200 0", "0 177 0", "0 0 1000", "0 0 250", "0 0 1000", "0 0 250"}; !slices.Equal(counts, want) {
		t.Errorf("pieces of %v, want %v", counts, want)
	}
}

// Whether somebody who unsubscribed is suppressed depends on the confirmed rows of all dashboards, so these come first.
func TestRowsThatUnsubscribedAreWrittenLast(t *testing.T) {
	set := &lines.Set{Dashboards: []lines.Dashboard{{Key: "a"}, {Key: "b"}}, Subscribers: []lines.Subscriber{
		{DashboardID: "a", Channel: "email", Address: "left@example.com", State: "unsubscribed"}, {DashboardID: "a", Channel: "email", Address: "twice@example.com", State: "confirmed"},
		{DashboardID: "a", Channel: "email", Address: "Twice@example.com", State: "unsubscribed"}, {DashboardID: "b", Channel: "email", Address: "left@example.com", State: "confirmed"},
		{DashboardID: "b", Channel: "email", Address: "gone@example.com", State: "unsubscribed"},
	}}
	var got []string
	for _, piece := range transfer.Split(set)[1:] {
		for _, s := range piece.Subscribers {
			got = append(got, s.DashboardID+" "+s.Address)
		}
		got = append(got, "|")
	}
	if want := "a twice@example.com a Twice@example.com | b left@example.com | a left@example.com | b gone@example.com |"; strings.Join(got, " ") != want {
		t.Errorf("the rows are %s, not %s", strings.Join(got, " "), want)
	}
}

// The platform applies the first row of an address in a request. In a later request, another row of the address would change the
// subscriber.
func TestTheRowsOfAnAddressAreInOnePiece(t *testing.T) {
	set := &lines.Set{}
	for i := range 2500 {
		set.Subscribers = append(set.Subscribers, lines.Subscriber{Key: fmt.Sprintf("x:s:%d", i), DashboardID: "a", Channel: "email", Address: fmt.Sprintf("a%d@example.com", i), State: "confirmed"})
	}
	for row, first := range map[int]int{1000: 999, 1999: 3, 2499: 0} {
		set.Subscribers[row].Address, set.Subscribers[row].State = strings.ToUpper(set.Subscribers[first].Address), "unsubscribed"
	}
	var got []string
	rows := 0
	in := map[string]int{} // piece by address
	for at, piece := range transfer.Split(set) {
		rows += len(piece.Subscribers)
		if len(piece.Subscribers) > 1000 {
			t.Errorf("a piece has %d rows", len(piece.Subscribers))
		}
		for _, s := range piece.Subscribers {
			address := strings.ToLower(s.Address)
			if before, twice := in[address]; twice {
				got = append(got, s.Key)
				if before != at {
					t.Errorf("rows of %s are in the pieces %d and %d", address, before, at)
				}
			}
			in[address] = at
		}
	}
	if slices.Sort(got); rows != 2500 || !slices.Equal(got, []string{"x:s:1000", "x:s:1999", "x:s:2499"}) {
		t.Errorf("%d rows; the second rows of addresses are %v", rows, got)
	}
}

// answers is a Sender that returns these errors, one after the other, and then nil.
type answers struct {
	errors []error
	sent   int
}

func (a *answers) Send(context.Context, transfer.Request, any) error {
	a.sent++
	if a.sent > len(a.errors) {
		return nil
	}
	return a.errors[a.sent-1]
}

func TestARequestIsRepeatedWithPauses(t *testing.T) {
	gone, later := errors.New("no response"), &transfer.Refused{Status: http.StatusForbidden, Wait: 20 * time.Second}
	unavailable, wrong := &transfer.Refused{Status: http.StatusServiceUnavailable}, &transfer.Refused{Status: http.StatusBadRequest, Text: "name: must not be empty"}
	for _, c := range []struct {
		name   string
		errors []error
		sent   int
		waited time.Duration
		err    error
	}{
		{"without a response", []error{gone, unavailable}, 3, 3 * time.Second, nil},
		{"at the limit of the plan", []error{later, later}, 3, 40 * time.Second, nil},
		{"declined", []error{wrong}, 1, 0, wrong},
		{"without a response for ever", []error{gone, gone, gone, gone, gone, gone, gone}, 6, 31 * time.Second, gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, a := time.Now(), &answers{errors: c.errors}
				err := transfer.Paced(a).Send(t.Context(), transfer.Request{Method: http.MethodGet}, nil)
				if waited := time.Since(began); !errors.Is(err, c.err) || a.sent != c.sent || waited != c.waited {
					t.Errorf("%v after %d requests and %v", err, a.sent, waited)
				}
			})
		})
	}
}

func TestAtMost300RequestsAreSentInAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, a := time.Now(), &answers{}
		paced := transfer.Paced(a)
		for range 601 {
			if err := paced.Send(t.Context(), transfer.Request{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited != 2*time.Minute {
			t.Errorf("601 requests took %v", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := paced.Send(ctx, transfer.Request{}, nil); !errors.Is(err, context.Canceled) || a.sent != 601 {
			t.Errorf("after the end %v, %d requests", err, a.sent)
		}
	})
}
