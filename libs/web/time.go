package web

import (
	"time"

	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Time is a time in a view of the App interface.
type Time = topic.Time

// TimeOf converts an optional time.
func TimeOf(t *time.Time) *Time { return topic.TimeOf(t) }
