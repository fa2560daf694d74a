// Command identity runs the identity service.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"

	"github.com/bellbuoy/bellbuoy/services/identity"
)

func main() {
	boot.Main[identity.Config]("identity", "Organizations, users and keys.", identity.Run)
}
