package catalog

import (
	"cmp"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/words"
)

const (
	maxDescription     = 1000
	maxURL             = 2048
	maxDomains         = 5
	maxHost, maxLabel  = 253, 63
	maxNavigation      = 4
	maxNavigationText  = 50
	maxAllowedIPs      = 200
	minPassword        = 8
	maxPassword        = 128
	defaultTheme       = "auto"
	defaultLocale      = "en"
	defaultTimezone    = "UTC"
	alternativesFormat = "must be one of %s"
)

// Branding is how a dashboard looks. If a field is empty, the look of the platform is used.
type Branding struct {
	LogoURL      string `json:"logoUrl" audit:"logoUrl,null"`
	FaviconURL   string `json:"faviconUrl" audit:"faviconUrl,null"`
	PrimaryColor string `json:"primaryColor" audit:"primaryColor,null"` // #rrggbb
	Theme        string `json:"theme" audit:"theme"`
}

// Links is the links to other sites. An empty field means no link.
type Links struct {
	HomepageURL string           `json:"homepageUrl" audit:"homepageUrl,null"`
	SupportURL  string           `json:"supportUrl" audit:"supportUrl,null"`
	Navigation  []NavigationLink `json:"navigation" audit:"navigation"`
}

type NavigationLink struct {
	Text string `json:"text" audit:"text"`
	Href string `json:"href" audit:"href"`
}

// Subscriptions says for each channel whether visitors may subscribe to it. Channels also considers NoIntegrations.
type Subscriptions struct {
	Email    bool `json:"email" audit:"email"`
	SMS      bool `json:"sms" audit:"sms"`
	WhatsApp bool `json:"whatsapp" audit:"whatsapp"`
	Webhook  bool `json:"webhook" audit:"webhook"`
	Teams    bool `json:"teams" audit:"teams"`
	GChat    bool `json:"gchat" audit:"gchat"`
	Slack    bool `json:"slack" audit:"slack"`
	Discord  bool `json:"discord" audit:"discord"`
}

// Channels returns the channels that visitors may subscribe to: those of Subscriptions, without the channels of the
// integrations service if NoIntegrations is set.
func (d *Dashboard) Channels() []topic.Channel {
	channels, s := []topic.Channel{}, d.Subscriptions
	for _, of := range []struct {
		channel topic.Channel
		allowed bool
	}{
		{topic.Email, s.Email}, {topic.SMS, s.SMS}, {topic.WhatsApp, s.WhatsApp}, {topic.Webhook, s.Webhook}, {topic.Teams, s.Teams}, {topic.GChat, s.GChat}, {topic.Slack, s.Slack}, {topic.Discord, s.Discord},
	} {
		if of.allowed && !(d.NoIntegrations && of.channel.RecipientService() == topic.Integrations) {
			channels = append(channels, of.channel)
		}
	}
	return channels
}

// AccessMode says who sees the page of a dashboard.
type AccessMode string

const (
	AccessPublic      AccessMode = "public"
	AccessPassword    AccessMode = "password"
	AccessIPAllowlist AccessMode = "ipAllowlist"
)

// Access is who may see the page of a dashboard. PasswordHash never leaves the service. The audit log does not have it
// either, and shows a new password as a change of PasswordSetAt.
type Access struct {
	Mode          AccessMode `json:"mode" audit:"mode"`
	PasswordHash  string     `json:"passwordHash"` // seal.HashPassword; empty unless Mode is AccessPassword
	PasswordSetAt *time.Time `json:"passwordSetAt" audit:"passwordSetAt"`
	AllowedIPs    []string   `json:"allowedIps" audit:"allowedIps"` // CIDRs; used only if Mode is AccessIPAllowlist

	password string // a new password that is not hashed yet
}

// stamp sets PasswordSetAt to now if a has a PasswordHash other than that of former.
func (a *Access) stamp(former Access, now time.Time) {
	if a.PasswordHash != former.PasswordHash && a.PasswordHash != "" {
		a.PasswordSetAt = &now
	}
}

// Private reports whether some visitors must not see the page.
func (a Access) Private() bool { return a.Mode == AccessPassword || a.Mode == AccessIPAllowlist }

// NewAccess returns the Access for a mode, or a fault. The mode password requires a password. The other modes do not
// accept a password. NewAccess does not hash the password, because that is slow. AddDashboard and ChangeDashboard do.
func NewAccess(mode AccessMode, password *string, allowedIPs []string) (Access, error) {
	access := Access{Mode: mode, AllowedIPs: []string{}}
	if modes := []AccessMode{AccessPublic, AccessPassword, AccessIPAllowlist}; !slices.Contains(modes, mode) {
		return access, fault.Field("access.mode", alternativesFormat, "public, password, ipAllowlist")
	}
	switch {
	case mode == AccessPassword && password == nil:
		return access, fault.Field("access.password", "is required for the mode password")
	case mode != AccessPassword && password != nil:
		return access, fault.Field("access.password", "must be sent with the mode password only")
	case mode == AccessIPAllowlist && len(allowedIPs) == 0:
		return access, fault.Field("access.allowedIps", "must name at least one address for the mode ipAllowlist")
	case len(allowedIPs) > maxAllowedIPs:
		return access, fault.Field("access.allowedIps", "must be at most %d addresses", maxAllowedIPs)
	}
	for i, text := range allowedIPs {
		network, ok := parseNetwork(text)
		if !ok {
			return access, fault.Field("access.allowedIps["+strconv.Itoa(i)+"]", "must be an IP address or a CIDR, such as 192.0.2.0/24")
		}
		if !slices.Contains(access.AllowedIPs, network) {
			access.AllowedIPs = append(access.AllowedIPs, network)
		}
	}
	if password == nil {
		return access, nil
	}
	if n := utf8.RuneCountInString(*password); n < minPassword || n > maxPassword {
		return access, fault.Field("access.password", "must be %d to %d characters", minPassword, maxPassword)
	}
	access.password = *password
	return access, nil
}

// parseNetwork returns a network in its shortest form. It turns an address into the network with only this address, and
// an IPv4 address within IPv6 (::ffff:192.0.2.1) into the IPv4 address. It returns false if text is no such network.
func parseNetwork(text string) (string, bool) {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return "", false
		}
		network = netip.PrefixFrom(address, address.BitLen())
	}
	if address := network.Addr(); address.Is4In6() {
		if network.Bits() < 96 {
			return "", false
		}
		network = netip.PrefixFrom(address.Unmap(), network.Bits()-96)
	}
	return network.Masked().String(), true
}

// check returns an Invalid fault that names the first wrong field. It also sets the default theme, writes hosts in
// lower case and removes duplicate hosts. former is the dashboard before the change, or empty.
func (d *Dashboard) check(platform []string, former *Dashboard) error {
	switch {
	case blank(d.Name) || utf8.RuneCountInString(d.Name) > maxDashboardName:
		return fault.Field("name", "must be 1 to %d characters, not only white space", maxDashboardName)
	case utf8.RuneCountInString(d.Description) > maxDescription:
		return fault.Field("description", "must be at most %d characters", maxDescription)
	case !isZone(d.Timezone):
		return fault.Field("timezone", "must be the name of an IANA time zone, such as Europe/Berlin")
	case !slices.Contains(words.Tags(), d.Locale):
		return fault.Field("locale", alternativesFormat, strings.Join(words.Tags(), ", "))
	}
	return cmp.Or(checkChangedLine("name", d.Name, former.Name), d.checkDomains(platform), d.checkPublicIDs(), d.Branding.check(), d.Links.check(&former.Links))
}

// isZone reports whether name is a zone of the IANA database. Names of zones begin with a capital letter. LoadLocation
// also reads other files of the system, such as posixrules and right/UTC. Local and Factory are no zones either.
func isZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "" && 'A' <= name[0] && name[0] <= 'Z' && name != "Local" && name != "Factory"
}

// SetSlug checks and sets a slug that a client chose.
func (d *Dashboard) SetSlug(text string) error {
	if len(text) < minSlug || len(text) > maxSlug || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fault.Field("slug", "must be %d to %d of a-z, 0-9 and -", minSlug, maxSlug)
	}
	d.Slug = text
	return nil
}

// checkDomains checks the hosts, writes them in lower case and removes duplicates.
func (d *Dashboard) checkDomains(platform []string) error {
	hosts := []string{}
	for i, text := range d.CustomDomains {
		field, host := "customDomains["+strconv.Itoa(i)+"]", strings.ToLower(text)
		if !isHost(host) {
			return fault.Field(field, "must be a DNS name such as status.example.com, without scheme, port and path")
		}
		if slices.Contains(platform, host) {
			return fault.Field(field, "must not be a host of the platform")
		}
		if slices.Contains(hosts, host) {
			continue
		}
		if hosts = append(hosts, host); len(hosts) > maxDomains {
			return fault.Field("customDomains", "must be at most %d hosts", maxDomains)
		}
	}
	d.CustomDomains = hosts
	return nil
}

var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// isHost reports whether a text is a DNS name of at least two labels. The last label must not be a number, so that IP
// addresses are refused.
func isHost(text string) bool {
	labels := strings.Split(text, ".")
	last := labels[len(labels)-1]
	return len(text) <= maxHost && len(labels) > 1 && strings.Trim(last, "0123456789") != "" &&
		!slices.ContainsFunc(labels, func(part string) bool { return len(part) > maxLabel || !label.MatchString(part) })
}

var color = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

func (b *Branding) check() error {
	b.Theme = cmp.Or(b.Theme, defaultTheme)
	if b.PrimaryColor != "" && !color.MatchString(b.PrimaryColor) {
		return fault.Field("branding.primaryColor", "must be a colour in the form #rrggbb")
	}
	if !slices.Contains([]string{"auto", "light", "dark"}, b.Theme) {
		return fault.Field("branding.theme", alternativesFormat, "auto, light, dark")
	}
	return cmp.Or(checkURL("branding.logoUrl", b.LogoURL, "https"), checkURL("branding.faviconUrl", b.FaviconURL, "https"))
}

func (l *Links) check(former *Links) error {
	if len(l.Navigation) > maxNavigation {
		return fault.Field("links.navigation", "must be at most %d links", maxNavigation)
	}
	err := cmp.Or(
		checkURL("links.homepageUrl", l.HomepageURL, "http", "https"),
		checkURL("links.supportUrl", l.SupportURL, "http", "https", "mailto"))
	for i, link := range l.Navigation {
		field := "links.navigation[" + strconv.Itoa(i) + "]"
		if blank(link.Text) || utf8.RuneCountInString(link.Text) > maxNavigationText {
			err = cmp.Or(err, error(fault.Field(field+".text", "must be 1 to %d characters, not only white space", maxNavigationText)))
		}
		if !slices.ContainsFunc(former.Navigation, func(other NavigationLink) bool { return other.Text == link.Text }) {
			err = cmp.Or(err, checkLine(field+".text", link.Text))
		}
		if link.Href == "" {
			err = cmp.Or(err, error(fault.Field(field+".href", "must not be empty")))
		}
		err = cmp.Or(err, checkURL(field+".href", link.Href, "http", "https", "mailto"))
	}
	return err
}

// checkURL returns a fault unless text is empty or an absolute URL with one of the schemes.
func checkURL(field, text string, schemes ...string) error {
	if text == "" {
		return nil
	}
	if utf8.RuneCountInString(text) > maxURL {
		return fault.Field(field, "must be at most %d characters", maxURL)
	}
	parsed, err := url.Parse(text)
	if err == nil && parsed.Scheme == "mailto" {
		_, err = mail.ParseAddress(parsed.Opaque)
	}
	if err != nil || !slices.Contains(schemes, parsed.Scheme) || parsed.Scheme != "mailto" && (parsed.Hostname() == "" || parsed.User != nil) ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fault.Field(field, "must be an absolute URL that begins with %s:, without user name and white space", strings.Join(schemes, ": or "))
	}
	return nil
}

const (
	maxDashboardName = 100
	minSlug, maxSlug = 3, 63
	lowNumbers       = 10 // how many low numbers insertDashboard tries for a derived slug before numbers above the legacy id
	dashboardsPage   = 50 // dashboards that SetIntegrations reads at a time
)
