package audience

import (
	"context"

	"github.com/bellbuoy/bellbuoy/libs/find"
)

// Leave removes all subscriptions of an address, and nothing else: the address
// stays, so that its organization can see whom it may not subscribe again by mistake.
// One without subscriptions, that is gone, or that is another by now, is left as it is.
func (a *Audience) Leave(ctx context.Context, organization, id string, edition int64) error {
	found, err := a.store.AddressesByID(ctx, []string{id})
	if err != nil {
		return err
	}
	for _, address := range found {
		if address.OrganizationID != organization || address.Edition() != edition {
			continue
		}
		err := a.store.DeleteSubscriptions(ctx, find.Query{
			Where: of(organization, address.Channel, find.Eq(FieldAddress, address.ID)), Scan: IndexAddress,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
