// Delivery is the service that tells people of events as a process.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/services/delivery"
)

func main() {
	boot.Main[delivery.Config]("delivery", "Deliveries: plan, send, retry, and the log of it.", delivery.Run)
}
