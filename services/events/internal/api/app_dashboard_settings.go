package api

import (
	"slices"

	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/words"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

type brandingView struct {
	LogoURL      *string `json:"logoUrl" format:"uri"`
	FaviconURL   *string `json:"faviconUrl" format:"uri"`
	PrimaryColor *string `json:"primaryColor" pattern:"^#[0-9A-Fa-f]{6}$"`
	Theme        string  `json:"theme" enum:"auto,light,dark"`
}

func viewBranding(b catalog.Branding) brandingView {
	return brandingView{optional.OrNull(b.LogoURL), optional.OrNull(b.FaviconURL), optional.OrNull(b.PrimaryColor), b.Theme}
}

type linksView struct {
	HomepageURL *string              `json:"homepageUrl" format:"uri"`
	SupportURL  *string              `json:"supportUrl" format:"uri"`
	Navigation  []navigationLinkView `json:"navigation"`
}

type navigationLinkView struct {
	Text string `json:"text"`
	Href string `json:"href" format:"uri"`
}

func viewLinks(l catalog.Links) linksView {
	return linksView{
		optional.OrNull(l.HomepageURL), optional.OrNull(l.SupportURL),
		find.Values(l.Navigation, func(link catalog.NavigationLink) navigationLinkView { return navigationLinkView(link) }),
	}
}

type accessView struct {
	Mode        catalog.AccessMode `json:"mode" enum:"public,password,ipAllowlist"`
	PasswordSet bool               `json:"passwordSet"`
	AllowedIPs  []string           `json:"allowedIps"`
}

func viewAccess(a catalog.Access) accessView {
	return accessView{a.Mode, a.PasswordHash != "", append([]string{}, a.AllowedIPs...)}
}

type domainView struct {
	Host     string  `json:"host"`
	Verified bool    `json:"verified" description:"The dashboard is served on the host."`
	TXT      *string `json:"txt" description:"The text that the TXT record _bellbuoy.{host} must contain once. Null if the installation asks for no proof."`
}

func (a api) viewDomains(d *catalog.Dashboard) []domainView {
	served := a.Addresses.Hosts(d)
	return find.Values(d.CustomDomains, func(host string) domainView {
		view := domainView{Host: host, Verified: slices.Contains(served, host)}
		if a.Addresses.NeedsProof {
			view.TXT = new(a.ProofToken(d.OrganizationID, host))
		}
		return view
	})
}

// dashboardPatch is the members that a create and a change have in common.
type dashboardPatch struct {
	Slug           optional.Value[string]            `json:"slug" minLength:"3" maxLength:"63" pattern:"^[a-z0-9-]+$" description:"Unique on the installation. On create it is derived from the name if absent."`
	Enabled        optional.Value[bool]              `json:"enabled" description:"False: the public dashboard gives 404."`
	Description    optional.Value[string]            `json:"description" maxLength:"1000"`
	Timezone       optional.Value[string]            `json:"timezone" description:"The name of an IANA time zone."`
	Locale         optional.Value[localeTag]         `json:"locale"`
	CustomDomains  optional.Value[[]string]          `json:"customDomains" description:"At most 5 hosts. A host belongs to one dashboard of the installation."`
	Branding       optional.Value[brandingBody]      `json:"branding"`
	Links          optional.Value[linksBody]         `json:"links"`
	Subscriptions  optional.Value[subscriptionsBody] `json:"subscriptions"`
	SearchIndexing optional.Value[bool]              `json:"searchIndexing"`
	Access         optional.Value[accessBody]        `json:"access"`
	PublicID       optional.Value[string]            `json:"publicId" nullable:"true" pattern:"^[A-Za-z0-9_-]{1,64}$" description:"The id of the page in api/v2 and in webhooks of the format statuspage, such as its id on a former page. Unique in the organization. Null and on create absent: that of id."`
	GroupPublicIDs optional.Value[map[string]string] `json:"groupPublicIds" description:"The ids of groups in api/v2, by the names of the groups, such as their ids on a former page; they replace the present ones. 1 to 64 of A-Z, a-z, 0-9, _ and - each, unique in the organization. At most 500."`
}

// localeTag is the tag of a shipped locale.
type localeTag string

// Choices returns the allowed values, for the API document.
func (localeTag) Choices() []string { return words.Tags() }

type brandingBody struct {
	LogoURL      optional.Value[string] `json:"logoUrl" nullable:"true" format:"uri" maxLength:"2048" description:"https."`
	FaviconURL   optional.Value[string] `json:"faviconUrl" nullable:"true" format:"uri" maxLength:"2048" description:"https."`
	PrimaryColor optional.Value[string] `json:"primaryColor" nullable:"true" pattern:"^#[0-9A-Fa-f]{6}$"`
	Theme        optional.Value[string] `json:"theme" enum:"auto,light,dark" default:"auto"`
}

type linksBody struct {
	HomepageURL optional.Value[string]               `json:"homepageUrl" nullable:"true" format:"uri" maxLength:"2048" description:"http or https."`
	SupportURL  optional.Value[string]               `json:"supportUrl" nullable:"true" format:"uri" maxLength:"2048" description:"http, https or mailto."`
	Navigation  optional.Value[[]navigationLinkBody] `json:"navigation" maxItems:"4"`
}

type navigationLinkBody struct {
	Text optional.Value[string] `json:"text" required:"true" minLength:"1" maxLength:"50"`
	Href optional.Value[string] `json:"href" required:"true" format:"uri" maxLength:"2048" description:"http, https or mailto."`
}

type subscriptionsBody struct {
	Email    optional.Value[bool] `json:"email"`
	SMS      optional.Value[bool] `json:"sms"`
	WhatsApp optional.Value[bool] `json:"whatsapp"`
	Webhook  optional.Value[bool] `json:"webhook"`
	Teams    optional.Value[bool] `json:"teams"`
	GChat    optional.Value[bool] `json:"gchat"`
	Slack    optional.Value[bool] `json:"slack"`
	Discord  optional.Value[bool] `json:"discord"`
}

type accessBody struct {
	Mode       optional.Value[string]   `json:"mode" required:"true" enum:"public,password,ipAllowlist"`
	Password   optional.Value[string]   `json:"password" minLength:"8" maxLength:"128" description:"Required for the mode password, and for no other. It is never shown."`
	AllowedIPs optional.Value[[]string] `json:"allowedIps" maxItems:"200" description:"IP addresses and CIDRs. At least one is required for the mode ipAllowlist."`
}

// apply sets the fields of d whose members were sent.
func (b *dashboardPatch) apply(d *catalog.Dashboard) (err error) {
	if b.Slug.Sent {
		if err := d.SetSlug(b.Slug.Value); err != nil {
			return err
		}
	}
	optional.Assign(&d.Enabled, b.Enabled.Pointer())
	former := d.Description
	optional.Assign(&d.Description, b.Description.Pointer())
	if err := catalog.CheckPlain("description", d.Description, former); err != nil {
		return err
	}
	optional.Assign(&d.Timezone, b.Timezone.Pointer())
	optional.Assign(&d.Locale, (*string)(b.Locale.Pointer()))
	optional.Assign(&d.CustomDomains, b.CustomDomains.Pointer())
	optional.Assign(&d.SearchIndexing, b.SearchIndexing.Pointer())
	if b.Branding.Sent {
		in := b.Branding.Value
		d.Branding = catalog.Branding{LogoURL: in.LogoURL.Value, FaviconURL: in.FaviconURL.Value, PrimaryColor: in.PrimaryColor.Value, Theme: in.Theme.Value}
	}
	if b.Links.Sent {
		d.Links = b.Links.Value.links()
	}
	if b.PublicID.Sent {
		d.PublicID = b.PublicID.Value
	}
	optional.Assign(&d.GroupPublicIDs, b.GroupPublicIDs.Pointer())
	b.Subscriptions.Value.apply(&d.Subscriptions)
	if b.Access.Sent {
		in := b.Access.Value
		d.Access, err = catalog.NewAccess(catalog.AccessMode(in.Mode.Value), in.Password.Pointer(), in.AllowedIPs.Value)
	}
	return err
}

func (b linksBody) links() catalog.Links {
	return catalog.Links{
		HomepageURL: b.HomepageURL.Value, SupportURL: b.SupportURL.Value,
		Navigation: find.Values(b.Navigation.Value, func(link navigationLinkBody) catalog.NavigationLink {
			return catalog.NavigationLink{Text: link.Text.Value, Href: link.Href.Value}
		}),
	}
}

func (b subscriptionsBody) apply(s *catalog.Subscriptions) {
	optional.Assign(&s.Email, b.Email.Pointer())
	optional.Assign(&s.SMS, b.SMS.Pointer())
	optional.Assign(&s.WhatsApp, b.WhatsApp.Pointer())
	optional.Assign(&s.Webhook, b.Webhook.Pointer())
	optional.Assign(&s.Teams, b.Teams.Pointer())
	optional.Assign(&s.GChat, b.GChat.Pointer())
	optional.Assign(&s.Slack, b.Slack.Pointer())
	optional.Assign(&s.Discord, b.Discord.Pointer())
}
