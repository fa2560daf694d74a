package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
)

// Addresses returns the addresses of dashboards.
type Addresses struct {
	Base string // URL below which /d/{slug} is
	// NeedsProof means that a custom domain is served only after its proof.
	NeedsProof bool
}

// Hosts returns the custom domains on which the dashboard is served.
func (a Addresses) Hosts(d *Dashboard) []string {
	if !a.NeedsProof {
		return d.CustomDomains
	}
	return slices.DeleteFunc(slices.Clone(d.CustomDomains), func(host string) bool { return !d.proven(host) })
}

// URL returns the address of the dashboard: on the first host on which it is served, or /d/{slug} below Base if there is
// no such host.
func (a Addresses) URL(d *Dashboard) string {
	if hosts := a.Hosts(d); len(hosts) > 0 {
		return "https://" + hosts[0]
	}
	return a.Base + "/d/" + d.Slug
}

// DomainProof says whether a custom domain was proven to belong to the organization.
type DomainProof struct {
	Host      string    `json:"host"`
	Proven    bool      `json:"proven"`
	AddedAt   time.Time `json:"addedAt"`   // time of the first check
	CheckedAt time.Time `json:"checkedAt"` // time of the last check
}

// A host that is not proven yet is checked again after a tenth of the time from AddedAt to CheckedAt, within these bounds.
const (
	minProofWait = 10 * time.Second
	maxProofWait = time.Hour
	// proofTime is the timeout of a query of the DNS.
	proofTime = 10 * time.Second
)

// proof returns the proof of the host, or nil if the host was never checked.
func (d *Dashboard) proof(host string) *DomainProof {
	at := slices.IndexFunc(d.DomainProofs, func(p DomainProof) bool { return p.Host == host })
	if at < 0 {
		return nil
	}
	return &d.DomainProofs[at]
}

func (d *Dashboard) proven(host string) bool {
	proof := d.proof(host)
	return proof != nil && proof.Proven
}

// proofDueAt returns the time of the next check of a host that is not proven. A host that was never checked is due at once.
func (d *Dashboard) proofDueAt(host string) time.Time {
	proof := d.proof(host)
	if proof == nil {
		return d.CreatedAt
	}
	return proof.CheckedAt.Add(min(max(proof.CheckedAt.Sub(proof.AddedAt)/10, minProofWait), maxProofWait))
}

// ProofDueAt returns the time at which the next custom domain must be checked. It returns nil if all domains are proven.
func (d *Dashboard) ProofDueAt() (next *time.Time) {
	for _, host := range d.CustomDomains {
		if at := d.proofDueAt(host); !d.proven(host) && (next == nil || at.Before(*next)) {
			next = &at
		}
	}
	return next
}

// dropProofs removes the proofs of hosts that the dashboard does not have any more. A host that is added again must be
// proven again.
func (d *Dashboard) dropProofs() {
	stays := func(p DomainProof) bool { return slices.Contains(d.CustomDomains, p.Host) }
	if !slices.ContainsFunc(d.DomainProofs, func(p DomainProof) bool { return !stays(p) }) {
		return
	}
	d.DomainProofs = slices.DeleteFunc(slices.Clone(d.DomainProofs), func(p DomainProof) bool { return !stays(p) })
}

// ProofName returns the name of the TXT record that proves a host.
func ProofName(host string) string { return "_bellbuoy." + host }

// DomainProofs has the functions for the checks of custom domains.
type DomainProofs struct {
	// Token returns the text that the TXT record of a host of an organization must contain.
	Token func(organization, host string) string
	// Lookup returns the texts of the TXT records with the name.
	Lookup func(ctx context.Context, name string) ([]string, error)
}

// RunDomainProofs checks the custom domains for which a check is due. Several processes may call it at once.
func (c *Catalog) RunDomainProofs(ctx context.Context, proofs DomainProofs) error {
	due := find.Query{Where: []find.Condition{find.Lte(FieldDueAt, c.now())}, Order: []find.Order{{Field: FieldDueAt}}}
	rows, err := c.store.Dashboards.Keys(ctx, due)
	return errors.Join(err, AtOnce(ctx, rows, func(row find.Row) error {
		if err := c.proveDomains(ctx, row.Key, proofs); fault.UnlessMissing(err) != nil {
			return fmt.Errorf("dashboard %s: %w", row.Key, err)
		}
		return nil
	}))
}

// proveDomains checks each host of the dashboard for which a check is due. A host without the TXT record, and a name
// server that does not respond, are no errors. A check leaves no audit entry.
func (c *Catalog) proveDomains(ctx context.Context, id string, proofs DomainProofs) error {
	dashboard, err := c.store.Dashboards.Get(ctx, id)
	if err != nil {
		return err
	}
	now, found := c.now(), map[string]bool{}
	for _, host := range dashboard.CustomDomains {
		if !dashboard.proven(host) && !dashboard.proofDueAt(host).After(now) {
			found[host] = proofs.has(ctx, dashboard.OrganizationID, host)
		}
	}
	_, err = c.store.Dashboards.Update(ctx, id, func(d *Dashboard) ([]topic.Message, error) {
		checked := slices.Clone(d.DomainProofs)
		for host, proven := range found {
			if !slices.Contains(d.CustomDomains, host) || d.proven(host) {
				continue
			}
			next := DomainProof{Host: host, AddedAt: now}
			if former := d.proof(host); former != nil {
				next.AddedAt = former.AddedAt
			}
			next.Proven, next.CheckedAt = proven, c.now()
			checked = append(slices.DeleteFunc(checked, func(p DomainProof) bool { return p.Host == host }), next)
		}
		if slices.Equal(checked, d.DomainProofs) {
			return nil, fault.ErrUnchanged
		}
		d.DomainProofs = checked
		return nil, nil
	})
	return err
}

// has reports whether a TXT record of the host contains the token of the organization. It returns false if the query fails.
func (p DomainProofs) has(ctx context.Context, organization, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	texts, err := p.Lookup(ctx, ProofName(host))
	token := p.Token(organization, host)
	return err == nil && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, token) })
}
