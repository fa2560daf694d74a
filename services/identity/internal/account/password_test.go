package account

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

func TestAPasswordMustBeHardToGuess(t *testing.T) {
	user := User{Username: "ada.lovelace", Email: "ada-l@example.com"}
	organization := Organization{Name: "Acme Tools"}
	for password, want := range map[string]string{
		"correct horse battery":       "",
		"zwölf Zeichen, ja":           "",
		strings.Repeat("ab c9x", 21):  "",
		"elf zeichen":                 "must be 12 to 128 characters",
		strings.Repeat("a b c9", 22):  "must be 12 to 128 characters",
		"with a\ttab in it":           "must not contain control characters",
		"aaaaaaaaaaaaaaaa":            "too easy",
		"abababababab":                "too easy",
		"839201749502":                "too easy",
		"abcdefghijklmnop":            "too easy",
		"ponmlkjihgfedcba":            "too easy",
		"1q2w3e4r5t6y":                "too easy",
		"Password2026!":               "too easy",
		"P@ssw0rd-1234":               "too easy",
		"***sunshine***":              "too easy",
		"dragonDragonDRAGON":          "too easy",
		"my Ada.Lovelace password":    "must not contain the user name",
		"this is ada-l, welcome back": "must not contain the mail address",
		"we love acme tools so much":  "must not contain the name of the organization",
	} {
		err := checkPassword(password, user, organization)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "password: ")) {
			t.Errorf("%q: %v, want %q", password, err, want)
		}
	}
	if list := commonPasswords(); len(list) < 49_000 || !slices.IsSorted(list) {
		t.Errorf("the list has %d passwords", len(list))
	}
}

// Half of the cores hash at once. A request that waits for 2 seconds is refused, and costs nothing more.
func TestAHashWaitsForASlotAtMost2Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHasher(1, func() {})
		release := make(chan struct{})
		go h.run(t.Context(), func() { <-release })
		synctest.Wait()
		began := time.Now()
		err := h.run(t.Context(), func() { t.Error("two hashes ran at once") })
		if !fault.Is(err, fault.Unavailable) || time.Since(began) != hashWait {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.run(ended, func() { t.Error("the hash of an ended request ran") }); err == nil {
			t.Error("an ended request got no error")
		}
		time.AfterFunc(time.Second, func() { close(release) })
		ran := false
		if err := h.run(t.Context(), func() { ran = true }); err != nil || !ran {
			t.Errorf("after a second: %v", err)
		}
	})
}

// Requests that could not get a slot in time are refused at once.
func TestAHashWithoutAPlaceIsRefusedAtOnce(t *testing.T) {
	h := newHasher(2, func() {})
	var leave []func()
	for range 2 * hashQueue {
		l, err := h.enter()
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	if _, err := h.hash(t.Context(), "correct horse battery"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without a place: %v", err)
	}
	leave[0]()
	if _, err := h.hash(t.Context(), "correct horse battery"); err != nil {
		t.Errorf("with a place: %v", err)
	}
}

func TestAPasswordMayBeWrittenInTwoForms(t *testing.T) {
	h := newHasher(1, func() {})
	hash, err := h.hash(t.Context(), "gr\u00fcne Fl\u00fcsse hier") // ü as one character, below as u and a combining mark
	if err != nil || !h.isRight(hash, "gru\u0308ne Flu\u0308sse hier") || h.isRight(hash, "grune Flusse hier") {
		t.Errorf("the two forms are two passwords: %v", err)
	}
}

// A user who does not exist, or has no password, costs a hash too.
func TestAnUnknownUserCostsAHash(t *testing.T) {
	h := newHasher(1, func() {})
	known, err := h.hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	took := func(hash string) time.Duration {
		began := time.Now()
		if h.isRight(hash, "a wrong password") {
			t.Fatal("a wrong password is right")
		}
		return time.Since(began)
	}
	unknown, wrong := time.Hour, time.Hour // the least of several, because the machine does other things too
	for range 10 {
		unknown, wrong = min(unknown, took("")), min(wrong, took(known))
	}
	if unknown < wrong/2 || unknown > wrong*2 {
		t.Errorf("a wrong password takes %s, an unknown user %s", wrong, unknown)
	}
	if !h.isRight(known, "correct horse battery") {
		t.Error("the right password is wrong")
	}
}

func TestASessionExpiresAtTheEarlierOfItsTwoEnds(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, row := range []struct {
		keep bool
		used time.Duration
		want time.Duration
	}{
		{false, 0, 12 * time.Hour}, {false, 29 * day, 29*day + 12*time.Hour}, {false, 30*day - time.Hour, 30 * day},
		{true, 0, 30 * day}, {true, 100 * day, 130 * day}, {true, 170 * day, 180 * day},
	} {
		s := Session{CreatedAt: at, LastUsedAt: at.Add(row.used), Keep: row.keep}
		if got := s.ExpiresAt().Sub(at); got != row.want {
			t.Errorf("keep %v, used after %s: %s, want %s", row.keep, row.used, got, row.want)
		}
	}
}

// Ended and expired sessions stay in the record until they are void at the gateways, and no longer.
func TestOldSessionsLeaveTheRecord(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	u := User{Sessions: []Session{
		{ID: "ended", CreatedAt: now, LastUsedAt: now, EndedAt: ago(time.Minute)},
		{ID: "expired long ago", CreatedAt: *ago(20 * time.Hour), LastUsedAt: *ago(20 * time.Hour)},
		{ID: "expired just now", CreatedAt: *ago(12*time.Hour + time.Minute), LastUsedAt: *ago(12*time.Hour + time.Minute)},
		{ID: "active", CreatedAt: now, LastUsedAt: now},
	}}
	ids := func() (ids []string) {
		for _, s := range u.Sessions {
			ids = append(ids, s.ID)
		}
		return ids
	}
	stale := u
	stale.StaleSince = &now
	stale.addSession(Session{ID: "new"}, now)
	if len(stale.Sessions) != 5 {
		t.Errorf("sessions that may not be void were removed: %d are left", len(stale.Sessions))
	}
	u.addSession(Session{ID: "new", CreatedAt: now, LastUsedAt: now}, now)
	if got := ids(); !slices.Equal(got, []string{"expired just now", "active", "new"}) {
		t.Errorf("the sessions are %v", got)
	}
}

func TestAnInvitationReplacesTheFormerOneAndThreeForgottenLinksStay(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u := User{}
	first, firstShown := u.addLink(Invitation, now)
	second, secondShown := u.addLink(Invitation, now)
	var forgotten []Link
	for range 4 {
		link, _ := u.addLink(Forgotten, now)
		forgotten = append(forgotten, link)
	}
	for _, row := range []struct {
		link  Link
		valid bool
	}{{first, false}, {firstShown, false}, {second, true}, {secondShown, true}, {forgotten[0], false}, {forgotten[1], true}, {forgotten[2], true}, {forgotten[3], true}} {
		if got := u.link(row.link.ID, now) != nil; got != row.valid {
			t.Errorf("%+v: valid %v", row.link, got)
		}
	}
	u.addLink(Forgotten, now.Add(time.Hour))
	if len(u.Links) != 3 {
		t.Errorf("expired links stay: %+v", u.Links)
	}
}

func TestTheUserAgentIsCutAtACharacter(t *testing.T) {
	if got := firstCharacters("größe", 3); got != "grö" {
		t.Errorf("%q", got)
	}
	if got := firstCharacters("abc", 3); got != "abc" {
		t.Errorf("%q", got)
	}
}

// The memory of the hashes does not grow with the cores.
func TestAtMostFourPasswordsAreHashedAtOnce(t *testing.T) {
	for cores, want := range map[int]int{1: 1, 2: 1, 4: 2, 8: 4, 64: 4} {
		if got := hashSlots(cores); got != want {
			t.Errorf("%d hashes at once on %d cores, not %d", got, cores, want)
		}
	}
}
