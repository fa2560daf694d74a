package api

import (
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// The first attempt on a channel that the process does not have waits, and fails after a while if none has the channel.
func TestTheTextOfAnUnavailableChannelTellsWhetherTheMessageWaits(t *testing.T) {
	for status, want := range map[dispatch.WhyStatus]string{
		dispatch.WhyWaiting:                          "The message waits for a process that has this channel.",
		dispatch.WhyStatus(deliverylog.StatusFailed): "The message was not sent: the service for messages does not have this channel.",
	} {
		result := &dispatch.WhyResult{Status: status, Code: string(deliverylog.CodeUnavailable), Delivery: &deliverylog.Delivery{}}
		if got := whyText(result, topic.WhatsApp); got != want {
			t.Errorf("%s: %q instead of %q", status, got, want)
		}
	}
}
