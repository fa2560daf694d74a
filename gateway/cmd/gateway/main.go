// Command gateway runs the gateway.
package main

import (
	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/boot"
)

func main() {
	boot.Main[gateway.Config]("gateway", "The public door of Bellbuoy: keys, rates, passports, forwarding.", gateway.Run)
}
