package store

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/peer"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const voidBatch = 500 // maximum number of entries in one round trip

// Gateways implements account.Gateways with the Redis that the gateways use.
type Gateways struct {
	client redis.UniversalClient
	tag    string
}

// NewGateways returns a client for the Redis of the settings. It does not connect yet.
func NewGateways(settings boot.Redis) (*Gateways, error) {
	client, _, err := settings.Connect(1) // one retry, because the caller handles a failure
	return &Gateways{client, settings.Tag(peer.GatewayTag)}, err
}

// Void implements account.Gateways.
func (g *Gateways) Void(ctx context.Context, keys []account.KeyRef) error {
	for batch := range slices.Chunk(keys, voidBatch) {
		pipe := g.client.Pipeline()
		for _, key := range batch {
			pipe.Set(ctx, g.tag+peer.CredentialKey(peer.Scheme(key.Scheme), key.ID), peer.Void, peer.VoidTTL)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fault.Wrap(fault.Unavailable, err, "Redis cannot be reached. Try again shortly.")
		}
	}
	return nil
}

// Close closes the connections.
func (g *Gateways) Close() error { return g.client.Close() }
