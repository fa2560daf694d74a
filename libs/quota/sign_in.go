package quota

import (
	"context"
	"time"
)

// Limits of the sign-in to the console. The window of linksTo is linkWindow, that of secondFactors is secondFactorIn. The
// window of all other limits is signInWindow.
const (
	signInWindow   = 15 * time.Minute
	signInPair     = 10  // failures with one name from one IP address
	signInFrom     = 30  // failures from one IP address
	signInAs       = 100 // failures with one name
	signInBrowser  = 10  // failures of one user in a browser that the user has signed in before
	signInAgain    = 10  // failures of a signed-in user who proves the password again
	secondFactors  = 5   // wrong codes in one sign-in
	refusalsOf     = 1   // audit entries about refusals of one user
	refusalsFrom   = 3   // audit entries about refusals from one IP address; with signInFrom, at most 3 names can reach signInPair
	linksTo        = 3   // links for a forgotten password to one user
	linkWindow     = time.Hour
	secondFactorIn = 15 * time.Minute // longer than a sign-in may take
)

// counted is a key with its limit.
type counted struct {
	key   string
	limit Limit
}

func signIn(ip, name string) []counted {
	from := []counted{{"sign-in-from:" + network(ip), Limit{signInFrom, signInWindow}}}
	if name == "" {
		return from
	}
	return append(from,
		counted{"sign-in:" + network(ip) + "/" + digest(name), Limit{signInPair, signInWindow}},
		counted{"sign-in-as:" + digest(name), Limit{signInAs, signInWindow}})
}

// SignInWait returns the time until somebody at the IP address may try to sign in with the name, or 0. It counts
// nothing. Without a name, only the limit of the IP address applies.
func (c *Counter) SignInWait(ctx context.Context, ip, name string) (wait time.Duration) {
	for _, k := range signIn(ip, name) {
		wait = max(wait, c.use(ctx, k.key, k.limit, 0))
	}
	return wait
}

// SignIn counts a try to sign in and returns 0. If a limit is reached, it counts nothing and returns the time until that
// limit allows a try again.
func (c *Counter) SignIn(ctx context.Context, ip, name string) (wait time.Duration) {
	return c.takeAll(ctx, signIn(ip, name))
}

// takeAll counts a use of each key and returns 0. If the limit of a key is reached, takeAll counts nothing and returns the
// time until the first such key can be used again.
func (c *Counter) takeAll(ctx context.Context, keys []counted) (wait time.Duration) {
	for i, k := range keys {
		if wait = c.Take(ctx, k.key, k.limit); wait > 0 {
			for _, taken := range keys[:i] {
				c.giveBack(ctx, taken.key)
			}
			return wait
		}
	}
	return 0
}

// SignInWasRight removes one SignIn from the count, because only failures are limited.
func (c *Counter) SignInWasRight(ctx context.Context, ip, name string) {
	for _, k := range signIn(ip, name) {
		c.giveBack(ctx, k.key)
	}
}

// KnownBrowserWait returns the time until a user may try to sign in with a browser that the user has signed in before,
// or 0. It counts nothing.
func (c *Counter) KnownBrowserWait(ctx context.Context, browser, user string) (wait time.Duration) {
	return c.use(ctx, browserKey(browser, user), Limit{signInBrowser, signInWindow}, 0)
}

// KnownBrowser counts a try of a user to sign in with a browser that the user has signed in before, and returns 0. If the
// limit is reached, it counts nothing and returns the time until the next try is allowed.
func (c *Counter) KnownBrowser(ctx context.Context, browser, user string) (wait time.Duration) {
	return c.Take(ctx, browserKey(browser, user), Limit{signInBrowser, signInWindow})
}

// KnownBrowserWasRight removes one KnownBrowser from the count.
func (c *Counter) KnownBrowserWasRight(ctx context.Context, browser, user string) {
	c.giveBack(ctx, browserKey(browser, user))
}

func browserKey(browser, user string) string { return "sign-in-browser:" + browser + "/" + user }

// SecondFactor counts a code that is tried in a sign-in, and returns 0. If the sign-in has ended because of too many codes,
// it returns more than 0.
func (c *Counter) SecondFactor(ctx context.Context, signIn string) (wait time.Duration) {
	return c.Take(ctx, "second-factor:"+signIn, Limit{secondFactors, secondFactorIn})
}

// Again counts a try of a signed-in user to prove the password again, and returns 0. If the limit is reached, it counts
// nothing and returns the time until the next try is allowed.
func (c *Counter) Again(ctx context.Context, user string) (wait time.Duration) {
	return c.Take(ctx, "sign-in-again:"+user, Limit{signInAgain, signInWindow})
}

// AgainWasRight removes one Again from the count.
func (c *Counter) AgainWasRight(ctx context.Context, user string) {
	c.giveBack(ctx, "sign-in-again:"+user)
}

// LinkTo counts a link for a forgotten password that is sent to a user, and returns 0. If the limit is reached, it counts
// nothing and returns the time until a link may be sent to the user again.
func (c *Counter) LinkTo(ctx context.Context, user string) (wait time.Duration) {
	return c.Take(ctx, "sign-in-link:"+user, Limit{linksTo, linkWindow})
}

// Refusal counts an audit entry about a refusal to sign in as the user, and returns 0. If a limit is reached, it counts nothing
// and returns the time until that limit allows an entry again.
func (c *Counter) Refusal(ctx context.Context, ip, user string) (wait time.Duration) {
	return c.takeAll(ctx, []counted{
		{"sign-in-refusal-from:" + network(ip), Limit{refusalsFrom, signInWindow}}, {"sign-in-refusal:" + user, Limit{refusalsOf, signInWindow}},
	})
}
