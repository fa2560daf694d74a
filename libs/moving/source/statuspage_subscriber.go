package source

import (
	"cmp"
	"path"
	"regexp"

	"github.com/bellbuoy/bellbuoy/libs/moving/lines"
	"github.com/bellbuoy/bellbuoy/libs/phone"
)

// activeFile matches active as a word of its own, so that no list becomes confirmed by a similar name.
var activeFile = regexp.MustCompile(`(^|[^A-Za-z])active([^A-Za-z]|$)`)

// subscriberState returns the state of a subscriber whose record has no member state. A file whose name has the word active
// counts as the response to state=active, which has active subscribers only.
func subscriberState(file, quarantined string) string {
	switch {
	case quarantined != "":
		return "quarantined"
	case activeFile.MatchString(path.Base(file)):
		return "active"
	}
	return "unconfirmed"
}

func (s *statuspage) writeSubscriber(r statuspageSubscriber) {
	key := s.key(r.ID)
	var components []string
	for _, id := range r.Components {
		if s.known[id] {
			components = append(components, s.key(id))
		}
	}
	if len(r.Components) > 0 && len(components) == 0 {
		s.warn(key, "components", "are all missing; the subscriber is left out")
		return
	}
	state := map[string]string{"active": "confirmed", "quarantined": "quarantined", "unconfirmed": "unconfirmed"}[r.State]
	out := lines.Subscriber{Key: key, Channel: r.Mode, Address: r.Email, Components: components, State: cmp.Or(state, "unconfirmed")}
	switch r.Mode {
	case "email":
		if state == "confirmed" {
			out.ConfirmedAt = s.when(key, "created_at", r.CreatedAt)
		}
	case "sms":
		number, ok := phone.Possible(cmp.Or(r.Display, r.Phone))
		if !ok {
			s.warn(key, "phone_number", "is no telephone number with a country code; the subscriber is left out")
			return
		}
		out.Address = number
		if state == "confirmed" {
			out.State = "unconfirmed"
			s.warn(key, "state", "becomes unconfirmed, since messages come from another sender")
		}
	case "webhook":
		if state != "confirmed" {
			s.warn(key, "state", "is %s; an endpoint here would get messages at once, so the webhook is left out", out.State)
			return
		}
		s.set.Endpoints = append(s.set.Endpoints, lines.Endpoint{
			Key: key, Channel: "webhook", URL: r.Endpoint, ManagementEmail: r.Email, Components: components, Format: "statuspage",
		})
		return
	default:
		s.warn(key, "mode", "%.30q has no address that could be taken over; the subscriber is left out", r.Mode)
		return
	}
	s.set.Subscribers = append(s.set.Subscribers, out)
}
