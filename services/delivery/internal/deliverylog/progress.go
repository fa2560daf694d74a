package deliverylog

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// PlannedPage says how many recipients the planner found on one page of a change's recipients. A repeated plan stores no
// other page. A replay has a page of its own.
type PlannedPage struct {
	ID           string        `json:"id"` // derived from the change, the channel and the page; for a replay the id of the delivery
	Organization string        `json:"organization"`
	EventID      string        `json:"eventId"`
	Channel      topic.Channel `json:"channel"`
	Recipients   int           `json:"recipients"`
	PlannedAt    time.Time     `json:"plannedAt"`
}

// Progress counts the deliveries of an event, replays included. Notices are not counted.
type Progress struct {
	Planned    int64 // deliveries to recipients that were found, and replays; at least the sum of the other counts
	Delivered  int64
	Retrying   int64
	Failed     int64
	Skipped    int64
	Suppressed int64
}

func (p *Progress) begun() int64 {
	return p.Delivered + p.Retrying + p.Failed + p.Skipped + p.Suppressed
}

func (p *Progress) add(other *Progress) {
	p.Planned += other.Planned
	p.Delivered += other.Delivered
	p.Retrying += other.Retrying
	p.Failed += other.Failed
	p.Skipped += other.Skipped
	p.Suppressed += other.Suppressed
}

// Counts returns the status by which Progress counts the row. It returns false for a later log, and a delivery of no event
// or no recipient.
func (d *Delivery) Counts() (Status, bool) {
	return d.Status, d.Log == 0 && d.EventID != "" && d.Recipient != ""
}

// EventProgress returns the progress of an event's deliveries, in all and by channel. It is current while a fan-out runs,
// and reads no deliveries. The progress of a deleted event remains as long as its logs.
func (l *Logs) EventProgress(ctx context.Context, organization, event string) (Progress, map[topic.Channel]Progress, error) {
	var all Progress
	planned, err := l.Store.Planned(ctx, organization, event)
	if err == nil && len(planned) == 0 {
		_, err = l.EventState(ctx, organization, event)
	}
	if err != nil {
		return all, nil, err
	}
	channels := make(map[topic.Channel]Progress, len(planned))
	for channel := range planned {
		if channels[channel], err = l.Store.Progress(ctx, organization, event, channel); err != nil {
			return all, nil, err
		}
	}
	// Planned is read again after the other counts, because a plan may have added pages since. A repeated plan may find other recipients on a
	// page that is stored already. Then more deliveries have begun than were planned.
	if planned, err = l.Store.Planned(ctx, organization, event); err != nil {
		return all, nil, err
	}
	for channel, progress := range channels {
		progress.Planned = max(planned[channel], progress.begun())
		channels[channel] = progress
		all.add(&progress)
	}
	return all, channels, nil
}
