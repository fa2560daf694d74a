package quota

import (
	"context"
	"time"
)

const (
	operatorsTried = 10 // wrong tokens, by one IP address
	operatorWindow = 15 * time.Minute
)

// OperatorWait returns the time for which no operator token from the IP address is accepted, also not the right one, or 0.
// It counts nothing, so that requests with the right token have no limit.
func (c *Counter) OperatorWait(ctx context.Context, ip string) (wait time.Duration) {
	return c.use(ctx, operatorKey(ip), Limit{operatorsTried, operatorWindow}, 0)
}

// OperatorWasWrong counts a wrong operator token from the IP address. It returns what OperatorWait returned before.
func (c *Counter) OperatorWasWrong(ctx context.Context, ip string) (wait time.Duration) {
	return c.use(ctx, operatorKey(ip), Limit{operatorsTried, operatorWindow}, 1)
}

func operatorKey(ip string) string { return "operator-from:" + network(ip) }
