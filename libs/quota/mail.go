package quota

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"
)

// The limits of mail that visitors cause, over all dashboards of the installation.
const (
	mailsFrom  = 30 // by one IP address
	mailsTo    = 3  // to one mail address
	mailWindow = time.Hour
)

// MailFrom counts a mail that a visitor at the IP address causes. It returns the time until the visitor may cause
// another one, or 0.
func (c *Counter) MailFrom(ctx context.Context, ip string) (wait time.Duration) {
	return c.Take(ctx, "mail-from:"+network(ip), Limit{mailsFrom, mailWindow})
}

// MailTo counts a mail to an address, in any case of its letters. It returns the time until another mail may be sent,
// or 0.
func (c *Counter) MailTo(ctx context.Context, address string) (wait time.Duration) {
	sum := sha256.Sum256([]byte(strings.ToLower(address)))
	return c.Take(ctx, "mail-to:"+hex.EncodeToString(sum[:]), Limit{mailsTo, mailWindow})
}

// network returns what one visitor has: an IPv4 address, or the /64 network of an IPv6 address.
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
