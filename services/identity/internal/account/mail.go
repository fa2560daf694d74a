package account

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// FormerEmail is an address that the user had. The mail about the new address is also sent to the former one.
type FormerEmail struct {
	ID    string    `json:"id"` // uuid v7
	Email string    `json:"email"`
	Until time.Time `json:"until"` // the entry is removed with the next change of the address after this time
}

const (
	formerEmailFor  = 21 * 24 * time.Hour // delivery gives up earlier, because a retry schedule has at most 20 pauses of 24 h
	maxFormerEmails = 10
)

// mailTo returns the message that makes delivery send a mail to the user. name is the name of the key or passkey that
// the mail is about, or empty.
func mailTo(u *User, kind topic.Kind, name string, now time.Time) []topic.Message {
	return []topic.Message{notice(u, kind, u.ID, topic.MemberReport{Name: name}, now)}
}

// mailLink returns the message that makes delivery send the link to the user.
func mailLink(u *User, kind topic.Kind, link Link, now time.Time) []topic.Message {
	return []topic.Message{notice(u, kind, u.ID+partOf+link.ID, topic.MemberReport{Until: &link.ExpiresAt}, now)}
}

// mailNewAddress returns the messages that make delivery send a mail about a new address of the user to the new and to
// the former address. It stores the former address, because delivery requests the address later.
func mailNewAddress(u *User, former string, now time.Time) []topic.Message {
	u.FormerEmails = slices.DeleteFunc(slices.Clone(u.FormerEmails), func(f FormerEmail) bool { return !now.Before(f.Until) })
	u.FormerEmails = u.FormerEmails[max(0, len(u.FormerEmails)-maxFormerEmails+1):]
	old := FormerEmail{ID: topic.NewID(), Email: former, Until: now.Add(formerEmailFor)}
	u.FormerEmails = append(u.FormerEmails, old)
	return append(mailTo(u, topic.MemberAddress, "", now), notice(u, topic.MemberAddress, u.ID+partOf+old.ID, topic.MemberReport{}, now))
}

// partOf separates the id of a user from the id of a link or former address in the id of a recipient.
const partOf = "."

func notice(u *User, kind topic.Kind, recipient string, report topic.MemberReport, now time.Time) topic.Notice {
	return topic.Notice{
		ID: topic.NewID(), Kind: kind, Organization: u.Organization, OccurredAt: now, Channel: topic.Email, Service: topic.Identity,
		Recipient: recipient, Destination: seal.Digest(u.ID), Member: &report,
	}
}

// Resolve returns the addresses and links of mails to members of the organization. Delivery requests them right before
// it sends. A recipient that must not get the mail any more, for example because the link was used or has expired, has the
// state RecipientGone.
func (a *Accounts) Resolve(ctx context.Context, organization string, query topic.ResolveQuery) ([]topic.Destination, error) {
	o, err := a.Organization(ctx, organization)
	if fault.UnlessMissing(err) != nil {
		return nil, err
	}
	out := make([]topic.Destination, len(query.IDs))
	for i, id := range query.IDs {
		out[i] = topic.Destination{ID: id, State: topic.RecipientGone}
		userID, part, _ := strings.Cut(id, partOf)
		user, err := a.Member(ctx, organization, userID)
		switch {
		case fault.Is(err, fault.NotFound):
			continue
		case err != nil:
			return nil, err
		}
		address, link, found := a.reach(&user, query.Kind, part)
		if !found || query.Channel != topic.Email {
			continue
		}
		out[i] = topic.Destination{
			ID: id, Channel: topic.Email, State: topic.RecipientActive, Address: address, Link: link, Locale: "en", Names: []string{user.Username},
			Dashboard: topic.Dashboard{Name: o.Name, Timezone: cmp.Or(user.Preferences.TimeZone, "UTC")},
		}
	}
	return out, nil
}

// reach returns the address, and the link if the mail is about a link. part is the id of the link or of a former
// address. It returns false if the mail must not be sent any more.
func (a *Accounts) reach(u *User, kind topic.Kind, part string) (address, link string, found bool) {
	switch kind {
	case topic.MemberInvitation, topic.MemberForgotten:
		l := u.link(part, a.Now())
		if l == nil || u.Disabled {
			return "", "", false
		}
		return u.Email, a.LinkURL(u.ID, *l), true
	}
	if part == "" {
		return u.Email, "", true
	}
	i := slices.IndexFunc(u.FormerEmails, func(f FormerEmail) bool { return f.ID == part })
	if i < 0 {
		return "", "", false
	}
	return u.FormerEmails[i].Email, "", true
}
