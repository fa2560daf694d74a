package stream

import "time"

// WaitLong makes the requests of the client wait for records for an hour.
func WaitLong(c *Client) { c.fetchWait = time.Hour }
