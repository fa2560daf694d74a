// Command delivery runs the delivery service.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/services/delivery"
)

func main() {
	boot.Main[delivery.Config]("delivery", "Deliveries: planning, sending, retries and their log.", delivery.Run)
}
