package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/inbound"
)

// report sends a message with the key, with the present time if it is dated.
func (l *listener) report(secret, action, problem string, dated bool) error {
	_, err := l.Receive(l.t.Context(), inbound.Request{Format: "generic", KeyID: l.key.ID, Token: secret, Source: inbound.DefaultSource, Read: func(out *inbound.Report) error {
		out.Action, out.ExternalID = action, problem
		if dated {
			out.At = &l.now
		}
		return nil
	}})
	return err
}

// stored returns the number of problems of the key.
func (l *listener) stored() int64 {
	l.t.Helper()
	n, err := l.Store.Problems.Count(l.t.Context(), find.Query{Where: []find.Condition{find.Eq(inbound.FieldOrganization, "o"), find.Eq(inbound.FieldKey, l.key.ID)}})
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// createKey gives the listener a key that takes tokens, and returns its secret.
func (l *listener) createKey() (secret string) {
	l.t.Helper()
	var err error
	l.key, secret, err = l.CreateKey(l.t.Context(), "o", inbound.Author{}, func(k *inbound.Key) error {
		k.Name, k.Bearer = "Gatus", true
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return secret
}

// A key has at most 10,000 problems, also if another process stores them. The key still takes what concerns known
// problems, and new problems when former ones are deleted.
func TestAKeyHasAtMost10000Problems(t *testing.T) {
	l, _ := newListener(t)
	secret := l.createKey()
	expect := func(action, problem string, dated bool, refused bool, stored int64) {
		t.Helper()
		if err := l.report(secret, action, problem, dated); fault.Is(err, fault.Conflict) != refused || err != nil && !refused {
			t.Errorf("%s of %s: %v", action, problem, err)
		}
		if n := l.stored(); n != stored {
			t.Errorf("after %s of %s the key has %d problems, want %d", action, problem, n, stored)
		}
	}
	expect("trigger", "first", false, false, 1)
	var others []inbound.Problem // problems of another process
	for i := range 9_998 {
		name := fmt.Sprint("other-", i)
		others = append(others, inbound.Problem{ID: name, OrganizationID: "o", KeyID: l.key.ID, ExternalID: name, State: inbound.Quiet, Since: l.now, TouchedAt: l.now})
	}
	if _, err := l.Store.Problems.InsertMany(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	l.now = l.now.Add(time.Minute)
	expect("trigger", "last", false, false, 10_000)
	expect("trigger", "one more", false, true, 10_000)
	expect("resolve", "unknown", true, false, 10_000)
	expect("resolve", "unknown", false, false, 10_000)
	expect("trigger", "first", false, false, 10_000)
	expect("resolve", "first", true, false, 10_000)
	expect("resolve", "last", false, false, 10_000)
	l.now = l.now.Add(24 * time.Hour)
	if err := l.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("trigger", "one more", false, false, 3) // first and last were over a minute later than the others
}

func TestAProblemHasAtMost50Sources(t *testing.T) {
	l, _ := newListener(t)
	secret := l.createKey()
	for i := range 60 {
		_, err := l.Receive(t.Context(), inbound.Request{Format: "generic", KeyID: l.key.ID, Token: secret, Source: fmt.Sprint("s", i), Read: func(out *inbound.Report) error {
			out.Action, out.ExternalID, out.At = "resolve", "p", &l.now
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := l.Problems(t.Context(), "o", 1, "")
	if err != nil || len(page.Items[0].Sources) != 50 {
		t.Errorf("%d sources are stored: %v", len(page.Items[0].Sources), err)
	}
}
