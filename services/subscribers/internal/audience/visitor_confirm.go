package audience

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"slices"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/link"
	"github.com/bellbuoy/bellbuoy/libs/timing"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

const (
	// maxWrong is the number of wrong codes after which the right code is not accepted any more. The link still works.
	maxWrong = 5
	// maxWaiting is the maximum number of requests of a phone number whose codes are compared, the newest requests
	// first.
	maxWaiting = 20
)

// Visit is the data of the page that a link opens.
type Visit struct {
	Channel                    topic.Channel
	Address                    string
	DashboardID, DashboardName string
	DashboardLocale, Locale    string
	Wanted                     []string      // names of the components to be confirmed; empty: all
	All                        bool          // the subscriber has all components, also future ones
	Components                 []link.Choice // components that the dashboard shows
	Paused, Locked, Suppressed bool
	Manage                     string // token of the link to manage; empty if the subscriber is locked
}

// About implements page.Visit.
func (v Visit) About() (dashboardID, locale string) {
	return v.DashboardID, cmp.Or(v.Locale, v.DashboardLocale)
}

// Show returns a function that returns the Visit of a link with the purpose. The function changes nothing, because
// programs also open the links in messages.
func (v *Visitors) Show(purpose string) func(ctx context.Context, token string) (Visit, error) {
	return func(ctx context.Context, token string) (Visit, error) {
		s, _, err := v.linked(ctx, purpose, token)
		if err != nil {
			return refused(s), err
		}
		dashboard, err := v.dashboard(ctx, s)
		return v.visit(s, dashboard), err
	}
}

// refused returns the Visit for a link that is not accepted. It has only the id of the dashboard and the locale, or
// nothing if the subscriber is unknown.
func refused(s Subscriber) Visit { return Visit{DashboardID: s.DashboardID, Locale: s.Locale} }

// linked returns the subscriber of a link. It returns an error if the link is not accepted. allow repeats the check for
// a newer state of the subscriber. See link.Links.
func (v *Visitors) linked(ctx context.Context, purpose, token string) (s Subscriber, allow func(Subscriber) error, err error) {
	return v.Links.Open(ctx, purpose, token, v.Audience.Store.Subscribers.Get, func(s Subscriber) error {
		switch {
		case s.Gone(), s.Address.Removed, purpose == ToConfirm && (s.Request == nil || v.expired(s)):
			return link.Ended()
		case purpose != ToUnsubscribe && s.Locked:
			return lockedLink()
		}
		return nil
	})
}

// dashboard returns the dashboard of a subscriber. It returns an error if the dashboard was deleted, because then no
// link works.
func (v *Visitors) dashboard(ctx context.Context, s Subscriber) (topic.DashboardRecord, error) {
	dashboard, err := v.Audience.Events.Dashboard(ctx, s.OrganizationID, s.DashboardID)
	return dashboard, link.EndedIfMissing(err)
}

// visit returns the Visit of a subscriber.
func (v *Visitors) visit(s Subscriber, dashboard topic.DashboardRecord) Visit {
	out := Visit{
		Channel: s.Channel, Address: s.Address.Text, DashboardID: s.DashboardID, DashboardName: dashboard.Name, DashboardLocale: dashboard.Locale, Locale: s.Locale,
		All: s.has(""), Paused: s.Paused, Locked: s.Locked, Suppressed: s.Address.Suppression != nil,
	}
	if !s.Locked {
		out.Manage = v.Links.Token(ToManage, s)
	}
	if s.Request != nil {
		out.Wanted = names(dashboard, s.requestedComponents())
	}
	out.Components = link.Choices(dashboard, func(id string) bool { return s.entry(id) >= 0 })
	return out
}

// Confirm fulfils the Request of a link. The link can be used once.
func (v *Visitors) Confirm(ctx context.Context, token string) (Visit, error) {
	s, allow, err := v.linked(ctx, ToConfirm, token)
	if err != nil {
		return refused(s), err
	}
	return v.confirm(ctx, s, allow)
}

// confirm fulfils the Request of a subscriber if allow returns no error.
func (v *Visitors) confirm(ctx context.Context, s Subscriber, allow func(Subscriber) error) (Visit, error) {
	dashboard, err := v.dashboard(ctx, s)
	if err != nil {
		return Visit{}, err
	}
	// The suppression ends first. If the process dies then, the link still works.
	if next := s; s.Address.Suppression.isOptOut() && next.limitRequest(dashboard) {
		if err := v.Audience.endOptOut(ctx, s.AddressID); err != nil {
			return Visit{}, err
		}
	}
	s, err = v.change(ctx, s.ID, "subscriber.confirm", func(s *Subscriber) error {
		if err := allow(*s); err != nil {
			return err
		}
		if !s.limitRequest(dashboard) {
			return fault.New(fault.Gone, "The dashboard no longer has these components. Subscribe again.")
		}
		s.fulfil(v.Audience.Now())
		return nil
	})
	return v.visit(s, dashboard), err
}

// limitRequest removes the components that the dashboard no longer has from the Request. It returns false if none is
// left.
func (s *Subscriber) limitRequest(dashboard topic.DashboardRecord) bool {
	left := func(e Entry) bool { return e.ComponentID != "" && !e.Anywhere && !dashboard.Has(e.ComponentID) }
	if len(s.Request.Entries) == 0 { // the Request is for all entries of the subscriber
		return slices.ContainsFunc(s.Entries, func(e Entry) bool { return !left(e) })
	}
	request := *s.Request
	request.Entries = slices.DeleteFunc(slices.Clone(request.Entries), left)
	s.Request = &request
	return len(request.Entries) > 0
}

// change stores a change that the owner of the address makes, with the action in the audit entry. It returns
// fault.Unavailable if an entry has a Move.
func (v *Visitors) change(ctx context.Context, id, action string, change func(*Subscriber) error) (Subscriber, error) {
	s, err := v.Audience.Store.Subscribers.Update(ctx, id, func(s *Subscriber) ([]topic.Message, error) {
		if err := s.moving(); err != nil {
			return nil, err
		}
		before := *s
		if err := change(s); err != nil {
			return nil, err
		}
		s.UpdatedAt = v.Audience.Now()
		return subscriberEntry(ctx, action, s.UpdatedAt, &before, s), nil
	})
	if errors.Is(err, errMoving) {
		err = fault.Wrap(fault.Unavailable, err, "The subscription is being changed. Try again shortly.")
	}
	return s, link.EndedIfMissing(err)
}

// ConfirmCode fulfils the Request of the phone number that has the code. A wrong code counts as a try for every Request
// of the number, because it may have been meant for any of them.
func (v *Visitors) ConfirmCode(ctx context.Context, channel topic.Channel, phone, code, ip string) (Visit, error) {
	if channel != topic.SMS && channel != topic.WhatsApp {
		return Visit{}, fault.Field("channel", "must be sms or whatsapp")
	}
	number, err := strictText(channel, phone)
	if err != nil {
		return Visit{}, err
	}
	code = strings.NewReplacer(" ", "", "-", "").Replace(code) // people may copy the code with spaces or hyphens
	if len(code) != 6 || slices.ContainsFunc([]byte(code), func(c byte) bool { return c < '0' || c > '9' }) {
		return Visit{}, fault.Field("code", "must be six digits")
	}
	if wait := v.Quota.Code(ctx, ip); wait > 0 {
		return Visit{}, fault.Throttled{Wait: wait}
	}
	return timing.Run(ctx, func() (Visit, error) { return v.confirmCode(ctx, channel, number, code) })
}

func (v *Visitors) confirmCode(ctx context.Context, channel topic.Channel, number, code string) (Visit, error) {
	waiting, err := v.Audience.Store.Subscribers.Find(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldWaiting, waitingFor(channel, number))},
		Order: []find.Order{{Field: FieldRequested, Descending: true}}, Limit: maxWaiting,
	})
	if err != nil {
		return Visit{}, err
	}
	wrong := fault.Field("code", "is wrong, has expired, or was replaced")
	right := func(s Subscriber) bool {
		return s.Request != nil && !s.Gone() && !s.Address.Removed && !v.expired(s) && v.hasCode(s, code)
	}
	var tried []Subscriber
	for _, s := range waiting.Items {
		// Each code uses one of the maxWrong tries before it is compared, so concurrent requests cannot exceed the limit.
		s, may, err := v.addWrong(ctx, s.ID, 1, func(r Request) bool { return r.Wrong < maxWrong })
		if err != nil {
			return Visit{}, err
		}
		if may {
			tried = append(tried, s)
		}
	}
	at := slices.IndexFunc(tried, right)
	if at < 0 {
		return Visit{}, wrong
	}
	for i, s := range tried {
		if i != at { // the code was right for another request
			if _, _, err := v.addWrong(ctx, s.ID, -1, func(r Request) bool { return r.Nonce == s.Request.Nonce && r.Wrong > 0 }); err != nil {
				return Visit{}, err
			}
		}
	}
	return v.confirm(ctx, tried[at], func(s Subscriber) error {
		switch {
		case !right(s):
			return wrong
		case s.Locked:
			return lockedLink()
		}
		return nil
	})
}

// hasCode reports whether the code is right. Its duration does not depend on the code.
func (v *Visitors) hasCode(s Subscriber, code string) bool {
	return hmac.Equal([]byte(s.code(v.Links)), []byte(code))
}

// addWrong adds n to Request.Wrong of the stored subscriber, if may returns true for its Request. Otherwise done is
// false.
func (v *Visitors) addWrong(ctx context.Context, id string, n int, may func(Request) bool) (s Subscriber, done bool, err error) {
	s, err = v.Audience.Store.Subscribers.Change(ctx, id, func(s *Subscriber) error {
		if done = s.Request != nil && may(*s.Request); !done {
			return fault.ErrUnchanged
		}
		request := *s.Request
		request.Wrong += n
		s.Request = &request
		return nil
	})
	return s, done && err == nil, fault.UnlessMissing(err)
}

// waitingFor is the value of FieldWaiting.
func waitingFor(channel topic.Channel, number string) string { return string(channel) + ":" + number }

// Waiting returns the value of FieldWaiting. It returns "" if no code can confirm the subscriber.
func (s Subscriber) Waiting() string {
	if s.Request == nil || s.Channel == topic.Email || s.Gone() {
		return ""
	}
	return waitingFor(s.Channel, s.Address.Normal)
}
