package quota

import (
	"context"
	"time"
)

// Limits of the test messages that members send to endpoints, in one window.
const (
	testsTo    = 10 // number of test messages to one URL of an organization
	testsOf    = 60 // number of test messages of an organization
	testWindow = time.Hour
)

// EndpointTest counts a test message of an organization to the URL with the hash, and returns 0. If a limit is reached, it
// counts nothing and returns the time until that limit allows a test message again.
func (c *Counter) EndpointTest(ctx context.Context, organization, urlHash string) (wait time.Duration) {
	return c.takeAll(ctx, []counted{
		{"endpoint-test-of:" + organization, Limit{testsOf, testWindow}},
		{"endpoint-test-to:" + organization + "/" + urlHash, Limit{testsTo, testWindow}},
	})
}
