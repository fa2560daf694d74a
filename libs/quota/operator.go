package quota

import (
	"context"
	"time"
)

const (
	operatorsTried = 10 // number of wrong tokens from one IP address
	operatorWindow = 15 * time.Minute
)

// OperatorWait returns the time for which every operator token from the IP address is refused, even the right one. It
// returns 0 if tokens are accepted. It counts nothing, so requests with the right token have no limit.
func (c *Counter) OperatorWait(ctx context.Context, ip string) (wait time.Duration) {
	return c.use(ctx, operatorKey(ip), Limit{operatorsTried, operatorWindow}, 0)
}

// OperatorWasWrong counts a wrong operator token from the IP address, and returns 0. If the limit is reached, it counts
// nothing and returns the time for which OperatorWait refuses every token.
func (c *Counter) OperatorWasWrong(ctx context.Context, ip string) (wait time.Duration) {
	return c.use(ctx, operatorKey(ip), Limit{operatorsTried, operatorWindow}, 1)
}

func operatorKey(ip string) string { return "operator-from:" + network(ip) }
