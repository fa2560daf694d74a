package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Notice is what a write wants told, by channel.
type Notice map[topic.Channel]Telling

// Telling is what is wanted on one channel.
type Telling struct {
	Enabled bool
	Subject *string // email; remembered for the event's later mails
	Color   *string // teams
	// Endpoints are the legacy ids of the only endpoints to be told, as they were sent.
	Endpoints []string
	Wording   topic.Wording
}

// check refuses a color that is none, and endpoints that are no ids.
func (n Notice) check() error {
	for _, channel := range slices.Sorted(maps.Keys(n)) {
		if color := n[channel].Color; color != nil && !isColor(*color) {
			return fault.Field("notifications", "%s: color: a # and 3 or 6 hexadecimal digits are needed.", channel)
		}
		if _, err := endpoints(n[channel].Endpoints); err != nil {
			return fault.Field("notifications", "%s: ids are needed: %s.", channel, err)
		}
	}
	return nil
}

func endpoints(texts []string) ([]int64, error) {
	var ids []int64
	for _, text := range texts {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= 0 {
			return nil, fmt.Errorf("%q is none", text)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func isColor(text string) bool {
	if len(text) != 4 && len(text) != 7 || text[0] != '#' {
		return false
	}
	for _, c := range []byte(text[1:]) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// subject is the mail subject the write gives, nil for none.
func (n Notice) subject() *string {
	telling, sent := n[topic.Email]
	if !sent {
		return nil
	}
	return telling.Subject
}

// wanted are the channels to be told.
func (n Notice) wanted() topic.Notify {
	notify := topic.Notify{}
	for channel, telling := range n {
		if !telling.Enabled {
			continue
		}
		wording := telling.Wording
		wording.Endpoints, _ = endpoints(telling.Endpoints) // checked
		if telling.Color != nil {
			wording.Color = *telling.Color
		}
		notify[channel] = wording
	}
	return notify
}

// lasting is what of a telling holds for later ones too: the channels, and who and what
// of the event is told there. Words are for once.
func lasting(notify topic.Notify) topic.Notify {
	out := topic.Notify{}
	for channel, wording := range notify {
		out[channel] = topic.Wording{Details: wording.Details, Color: wording.Color, Endpoints: wording.Endpoints}
	}
	return out
}

// tell makes the write tell the channels, with the subject that the event remembers.
func (r *revision) tell(notify topic.Notify) {
	r.notify = maps.Clone(notify)
	if wording, there := r.notify[topic.Email]; there {
		wording.Subject = r.EmailSubject
		r.notify[topic.Email] = wording
	}
}

// announce tells whom the notice wants told, and remembers them for the clock. A write
// that says nothing of notifications tells nobody and leaves the memory alone.
func (r *revision) announce(n Notice) {
	if len(n) == 0 {
		return
	}
	wanted := n.wanted()
	r.tell(wanted)
	if remembered := lasting(wanted); !maps.EqualFunc(r.Announced, remembered, sameWording) {
		r.Announced, r.remembers = remembered, true
	}
}

func sameWording(a, b topic.Wording) bool {
	return a.Details == b.Details && a.Color == b.Color && slices.Equal(a.Endpoints, b.Endpoints)
}
