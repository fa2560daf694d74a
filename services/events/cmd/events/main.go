// Command events runs the events service.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/services/events"
)

func main() {
	boot.Main[events.Config]("events", "Dashboards, components and events of the status platform.", events.Run)
}
