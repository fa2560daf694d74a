package endpoint

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// maxIntervalMs is the largest allowed MinIntervalMs. With a longer interval, messages would wait for hours.
const maxIntervalMs = 60_000

// slackIntervalMs is the default of MinInterval for topic.FormatSlack, because chat programs limit the rate of messages.
const slackIntervalMs = 1_000

// MinInterval returns MinIntervalMs, or else the default of the Format, in milliseconds.
func (e Endpoint) MinInterval() int {
	switch {
	case e.MinIntervalMs != nil:
		return *e.MinIntervalMs
	case e.Format == topic.FormatSlack:
		return slackIntervalMs
	}
	return 0
}

func checkInterval(milliseconds *int) error {
	if milliseconds != nil && (*milliseconds < 0 || *milliseconds > maxIntervalMs) {
		return fault.Field("minIntervalMs", "must be between 0 and %d", maxIntervalMs)
	}
	return nil
}

// intervals returns, by the hash of the URL, the largest MinInterval of the organization's verified endpoints with the
// URL. It omits URLs without an interval. It returns nil unless the channel is webhook, because only webhooks have
// intervals.
func (s *Endpoints) intervals(ctx context.Context, organization string, channel topic.Channel) (map[string]int, error) {
	if channel != topic.Webhook {
		return nil, nil
	}
	rows, err := s.Store.Endpoints.Keys(ctx, find.Query{
		Where: []find.Condition{find.Eq(FieldOrganization, organization), find.Gt(FieldInterval, int64(0))},
		Order: []find.Order{{Field: FieldInterval}},
	}, FieldSlot, FieldInterval)
	largest := make(map[string]int, len(rows))
	for _, row := range rows {
		url, _ := row.Values[0].(string)
		interval, _ := row.Values[1].(int64)
		largest[url] = max(largest[url], int(interval))
	}
	return largest, err
}
