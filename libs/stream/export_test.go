package stream

import "time"

// WaitLong makes the requests of the client wait for records for an hour.
func WaitLong(c *Client) { c.fetchWait = time.Hour }

// Patient gives the brokers a minute to respond. It must be called before other methods.
func Patient(c *Client) {
	c.pingTimeout, c.publishTimeout, c.transport.renewTimeout = time.Minute, time.Minute, time.Minute
}
