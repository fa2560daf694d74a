package channel

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A server takes 30 mails a second. Of 3,000 mails few wait at the same time, the server is never idle for long, and each mail is
// tried few times. The few mails of another organization do not wait until all these are sent. A quick server gets all mails
// without turns.
func TestMailsGetTurnsAtTheRateOfTheServer(t *testing.T) {
	const others, later = 20, 10 * time.Second
	for name, x := range map[string]struct {
		took         time.Duration // time for a mail
		slots, mails int
		tries        int64
	}{
		"slow":  {400 * time.Millisecond, 1000, 3000, 3 * 3000},
		"quick": {5 * time.Millisecond, mailsAtOnce, 1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, start := newMailQueue(), time.Now()
				var tries, sent, otherSent, otherTries atomic.Int64
				most := 0 // mails that waited
				senderSlots := make(chan struct{}, x.slots)
				send := func(organization string, tries, sent *atomic.Int64) {
					for {
						senderSlots <- struct{}{}
						tries.Add(1)
						slot, turn := q.acquire(t.Context(), organization)
						q.mu.Lock()
						most = max(most, q.waiting)
						q.mu.Unlock()
						if slot != nil {
							slot.Start()
							time.Sleep(x.took)
							slot.Release()
							q.record(x.took)
							sent.Add(1)
						}
						<-senderSlots
						if slot != nil {
							return
						}
						time.Sleep(turn)
					}
				}
				for range x.mails {
					go send("a", &tries, &sent)
				}
				time.Sleep(later)
				for range others {
					go send("b", &otherTries, &otherSent)
				}
				time.Sleep(later)
				if otherSent.Load() != others {
					t.Errorf("%d of %d mails of another organization were sent after %d tries", otherSent.Load(), others, otherTries.Load())
				}
				for sent.Load() < int64(x.mails) {
					time.Sleep(later / 100)
				}
				least := time.Duration(x.mails) * x.took / maxConnections
				if took := time.Since(start); took > max(2*later, least*6/5) {
					t.Errorf("%d mails took %v instead of %v", x.mails, took, least)
				}
				if most > mailsAtOnce || tries.Load() > x.tries {
					t.Errorf("%d mails waited, %d tries", most, tries.Load())
				}
			})
		})
	}
}

// The server hangs, and all its connections are in use. However many mails of however many organizations wait, few are tried in a
// second, and each is tried.
func TestMailsForAServerThatHangsAreTriedRarely(t *testing.T) {
	for _, x := range []struct{ organizations, mails int }{{400, 5}, {5000, 1}, {1, 3000}} {
		q, now := newMailQueue(), time.Now()
		q.took, q.waiting = 10*time.Second, fewWaiting
		type mail struct {
			organization string
			at           time.Time
			tries        int
		}
		var mails []mail
		for i := range x.organizations * x.mails {
			mails = append(mails, mail{organization: fmt.Sprint(i % x.organizations), at: now})
		}
		const minutes, mostInSecond = 5, 600
		total := 0
		for second := range minutes * 60 {
			before := now.Add(time.Duration(second) * time.Second)
			due := 0
			for i := range mails {
				if m := &mails[i]; !m.at.After(before) {
					m.at, m.tries = before.Add(q.enter(m.organization, before)), m.tries+1
					due++
				}
			}
			if total += due; second > 0 && due > mostInSecond {
				t.Errorf("%v: %d mails are tried in second %d", x, due, second)
				break
			}
		}
		if untried := slices.IndexFunc(mails, func(m mail) bool { return m.tries < 2 }); untried >= 0 {
			t.Errorf("%v: a mail is not tried again: %d tries in all", x, total)
		}
	}
}

// Mails of many organizations begin to wait at the same time, and one organization has many. Its last mail does not wait for a
// share that was small only while the others had mails.
func TestMailsOfALargeOrganizationDoNotWaitLong(t *testing.T) {
	for _, took := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 10 * time.Second} {
		q, now := newMailQueue(), time.Now()
		q.took, q.waiting = took, mostWaiting
		latest := time.Duration(0)
		for i := range 10_000 {
			latest = max(latest, q.enter("large", now))
			if i < 50 {
				for small := range 100 {
					latest = max(latest, q.enter(fmt.Sprint(small), now))
				}
			}
		}
		if latest > longestMailTurn {
			t.Errorf("with %v for a mail, the last turn is after %v", took, latest)
		}
	}
}
