package deliverylog

import (
	"context"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// PlannedPage stores how many recipients the planner found on one page of the list of a change's recipients. A repeated
// plan does not change a stored page. A replay has its own page. The last page of a list is stored together with an empty
// page, which marks the end of the plan.
type PlannedPage struct {
	ID           string        `json:"id"` // derived from change, channel and page number; replay: id of the delivery
	Organization string        `json:"organization"`
	EventID      string        `json:"eventId"`
	Channel      topic.Channel `json:"channel"`
	Recipients   int           `json:"recipients"`
	PlannedAt    time.Time     `json:"plannedAt"`
}

// Progress counts the deliveries of an event, including replays. It does not count notices.
type Progress struct {
	Planned    int64 // recipients that were found, and replays; at least the sum of the other counts
	Delivered  int64
	Retrying   int64
	Failed     int64
	Skipped    int64
	Suppressed int64
}

// Begun returns how many deliveries have a status.
func (p *Progress) Begun() int64 {
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

// Counts returns the status under which Progress counts the row. It returns false if Progress does not count it: a
// later log, a delivery without an event, or a delivery without a recipient.
func (d *Delivery) Counts() (Status, bool) {
	return d.Status, d.Log == 0 && d.EventID != "" && d.Recipient != ""
}

// EventProgress returns the progress of an event's deliveries, in total and by channel. It reads counts and no deliveries,
// and the counts are current while a fan-out runs. The progress of a deleted event is available as long as its logs. If
// nothing is planned and the organization has no event with the id, EventProgress returns fault.NotFound.
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
	// Planned is read again after the other counts, because a plan may have added pages in the meantime. A repeated
	// plan may find other recipients for a page that is already stored. Then more deliveries have begun than were
	// planned, so Planned is set to at least the number that have begun.
	if planned, err = l.Store.Planned(ctx, organization, event); err != nil {
		return all, nil, err
	}
	for channel, progress := range channels {
		progress.Planned = max(planned[channel], progress.Begun())
		channels[channel] = progress
		all.add(&progress)
	}
	return all, channels, nil
}
