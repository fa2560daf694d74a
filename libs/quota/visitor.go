package quota

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"
)

// Limits of visitors, for all dashboards of the installation together.
const (
	mailsFrom  = 30 // mails that one IP address causes
	mailWindow = time.Hour
	textsFrom  = 10 // SMS and WhatsApp messages that one IP address causes
	textWindow = 4 * time.Hour
	messagesTo = 3 // messages to one mail address or phone number
	toWindow   = time.Hour
	codesFrom  = 30 // codes that one IP address tries
	codeWindow = 24 * time.Hour
)

// MailFrom counts a mail that a visitor at the IP address causes, and returns 0. If the limit is reached, it counts nothing
// and returns the time until the visitor may cause a mail again.
func (c *Counter) MailFrom(ctx context.Context, ip string) (wait time.Duration) {
	return c.Take(ctx, "mail-from:"+network(ip), Limit{mailsFrom, mailWindow})
}

// TextFrom counts an SMS or WhatsApp message that a visitor at the IP address causes, and returns 0. If the limit is reached,
// it counts nothing and returns the time until the visitor may cause such a message again.
func (c *Counter) TextFrom(ctx context.Context, ip string) (wait time.Duration) {
	return c.Take(ctx, "text-from:"+network(ip), Limit{textsFrom, textWindow})
}

// MailTo counts a mail to an address, and returns 0. It ignores upper and lower case. If the limit is reached, it counts
// nothing and returns the time until a mail may be sent to the address again.
func (c *Counter) MailTo(ctx context.Context, address string) (wait time.Duration) {
	return c.Take(ctx, "mail-to:"+digest(address), Limit{messagesTo, toWindow})
}

// TextTo counts an SMS or WhatsApp message to a phone number, and returns 0. If the limit is reached, it counts nothing and
// returns the time until a message may be sent to the number again.
func (c *Counter) TextTo(ctx context.Context, number string) (wait time.Duration) {
	return c.Take(ctx, "text-to:"+digest(number), Limit{messagesTo, toWindow})
}

// Code counts a try of a code by a visitor at the IP address, and returns 0. If the limit is reached, it counts nothing and
// returns the time until the next try is allowed. There is no limit for a phone number, because anybody could then prevent
// the owner of the number from confirming. Each code has its own limit instead.
func (c *Counter) Code(ctx context.Context, ip string) (wait time.Duration) {
	return c.Take(ctx, "code-from:"+network(ip), Limit{codesFrom, codeWindow})
}

func digest(address string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(address)))
	return hex.EncodeToString(sum[:])
}

// network returns the address range that counts as one visitor: an IPv4 address, or the /64 network of an IPv6 address.
func network(ip string) string {
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if address = address.Unmap().WithZone(""); address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}

const (
	passwordsTried = 10 // wrong passwords of one visitor for one dashboard
	passwordWindow = time.Hour
)

// Try counts a try of a dashboard's password by a visitor at the IP address, and returns 0. If the limit is reached, it
// counts nothing and returns the time until the next try is allowed.
func (c *Counter) Try(ctx context.Context, ip, dashboard string) (wait time.Duration) {
	return c.Take(ctx, tryKey(ip, dashboard), Limit{passwordsTried, passwordWindow})
}

// TryWasRight removes one Try from the count, because only wrong passwords are limited.
func (c *Counter) TryWasRight(ctx context.Context, ip, dashboard string) {
	c.giveBack(ctx, tryKey(ip, dashboard))
}

func tryKey(ip, dashboard string) string { return "password-from:" + network(ip) + "/" + dashboard }
