// Command gateway runs the gateway.
package main

import (
	"github.com/bellbuoy/bellbuoy/gateway"
	"github.com/bellbuoy/bellbuoy/libs/boot"
)

func main() {
	boot.Main[gateway.Config]("gateway", "The public entrance of Bellbuoy: checks keys, counts calls, forwards requests.", gateway.Run)
}
