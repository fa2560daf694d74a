// Command subscribers runs the subscribers service.
package main

import (
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/services/subscribers"
)

func main() {
	boot.Main[subscribers.Config]("subscribers", "Subscribers: mail addresses, phone numbers and their subscriptions.", subscribers.Run)
}
