package deliverylog

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/bellbuoy/bellbuoy/libs/coalesce"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// RecentTime is the length of the period that Recent counts. The period ends now.
const RecentTime = 24 * time.Hour

// Counts counts deliveries on a channel, tests and notices too. Each delivery has at most one log with a final status,
// so these are the numbers of logs.
type Counts struct {
	Delivered  int64
	Failed     int64
	Skipped    int64
	Suppressed int64
	Retrying   int64 // deliveries that wait for an attempt now, no matter how old they are
}

// Recent are the Counts of the channels of the App interface.
type Recent struct {
	Since    time.Time // logs with this SentAt or a later one are counted
	Channels map[topic.Channel]Counts
}

const (
	keepRecent = 5 * time.Second // minimum time for which a result is kept
	// recentRest makes the store count for at most a fiftieth of the time: a result is kept recentRest times as long as
	// it took.
	recentRest = 50
	keptRecent = 1000            // maximum number of organizations whose results are kept
	maxCount   = 5 * time.Second // limit for one call of count
)

// recents caches the last result of each organization, because every open overview requests it again and again.
type recents struct {
	runs coalesce.Group[struct{}, Recent]
	kept *lru.Cache[string, keptCounts]
}

func newRecents() recents {
	kept, _ := lru.New[string, keptCounts](keptRecent) // fails only for a size below 1
	return recents{kept: kept}
}

type keptCounts struct {
	Recent
	until time.Time
}

// Recent returns the counts of the organization's deliveries of the last 24 hours. They may be 5 s old, or older if
// counting takes longer than 0.1 s.
func (l *Logs) Recent(ctx context.Context, organization string) (Recent, error) {
	if found, fresh := l.recents.get(organization, l.Now()); fresh {
		return found, nil
	}
	return l.recents.runs.Do(ctx, organization, nil, func(ctx context.Context, _ []struct{}) (Recent, error) {
		if found, fresh := l.recents.get(organization, l.Now()); fresh {
			return found, nil
		}
		return l.count(ctx, organization)
	})
}

// count counts the deliveries, and keeps the result.
func (l *Logs) count(ctx context.Context, organization string) (Recent, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCount)
	defer cancel()
	began := time.Now()
	out := Recent{Since: l.Now().Add(-RecentTime), Channels: make(map[topic.Channel]Counts)}
	for _, channel := range topic.AppChannels() {
		counts, err := l.Store.Counts(ctx, organization, channel, out.Since)
		if err != nil {
			return out, err
		}
		out.Channels[channel] = counts
	}
	l.recents.kept.Add(organization, keptCounts{out, l.Now().Add(max(keepRecent, recentRest*time.Since(began)))})
	return out, nil
}

func (r *recents) get(organization string, now time.Time) (Recent, bool) {
	found, is := r.kept.Get(organization)
	return found.Recent, is && now.Before(found.until)
}
