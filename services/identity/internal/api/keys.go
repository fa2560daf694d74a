package api

import (
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

func (a api) keyOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/api-keys", ID: "listKeys", Tag: "api-keys", Summary: "List the caller's own keys",
			Description: "Without their secrets.", Status: 200,
			Example: web.Example{Response: `{"apiKeys": [{"keyId": "01890a5d-ac96-774b-bcce-b302099a8059", "name": "deploy",
				"createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null}], "nextToken": null}`},
		}, a.listKeys),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/api-keys", ID: "createOwnKey", Tag: "api-keys", Summary: "Create a key for the caller",
			Description: "Only a signed-in member may: a key never creates a key. Needs a recent sign-in.", Access: web.SignedIn, Status: 201, Errors: []int{409},
			Example: web.Example{Request: `{"name": "deploy"}`, Response: `{"keyId": "01890a5d-ac96-774b-bcce-b302099a8059", "apiKey": "01890a5d-ac96-774b-bcce-b302099a8059:secret"}`},
		}, web.WithBody(a.addOwnKey)),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/api-keys/{keyId}", ID: "revokeKey", Tag: "api-keys", Summary: "Revoke one of the caller's own keys",
			Description: "The revocation is permanent. The next request with the key gets 403. A key of another member gets 403 too.", Status: 204,
		}, a.revokeKey),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/legacy-key", ID: "getLegacyKey", Tag: "api-keys", Summary: "Get the caller's key for the legacy interface",
			Description: "Without its secret.", Access: web.SignedIn, Status: 200,
			Example: web.Example{Response: `{"legacyKey": {"createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null}}`},
		}, a.legacyKey),
		web.Declare(web.Operation{
			Method: "PUT", Path: "/app/legacy-key", ID: "setOwnLegacyKey", Tag: "api-keys", Summary: "Set the caller's key for the legacy interface",
			Description: "The previous legacy key stops working. Needs a recent sign-in.", Access: web.SignedIn, Status: 200,
			Example: web.Example{Response: `{"username": "ada", "key": "secret"}`},
		}, a.setOwnLegacyKey),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/legacy-key", ID: "deleteLegacyKey", Tag: "api-keys", Summary: "Delete the caller's key for the legacy interface",
			Description: "The next request with the key gets 403.", Access: web.SignedIn, Status: 204, Errors: []int{404},
		}, a.deleteLegacyKey),
	}
}

type keyView struct {
	KeyID      string    `json:"keyId" description:"The part of the key before the colon."`
	Name       string    `json:"name"`
	CreatedAt  web.Time  `json:"createdAt"`
	LastUsedAt *web.Time `json:"lastUsedAt" description:"To the minute; null if the key was never used."`
}

func viewKey(k account.Key) keyView {
	return keyView{KeyID: k.ID, Name: k.Name, CreatedAt: web.Time(k.CreatedAt), LastUsedAt: web.TimeOf(k.LastUsedAt)}
}

type keysView struct {
	APIKeys   []keyView `json:"apiKeys"`
	NextToken *string   `json:"nextToken"`
}

func (a api) listKeys(c *web.Call[web.Paging, web.None]) (keysView, error) {
	keys, next, err := web.Listed(a.pages, c.List, c.Parameters, func(limit int, after string) (find.Page[account.Key], error) {
		user, err := a.accounts.Caller(c, whoOf(c.Caller))
		return user.KeysAfter(after, limit), err
	}, viewKey)
	return keysView{keys, next}, err
}

func (a api) addOwnKey(c *web.Call[web.None, keyBody], in keyBody) (newKeyView, error) {
	if err := a.accounts.MayHoldKeys(c, whoOf(c.Caller)); err != nil {
		return newKeyView{}, err
	}
	secret := seal.Random()
	key, err := a.accounts.AddKey(c, c.Caller.User, in.Name, seal.Digest(secret))
	return newKeyView{key.ID, key.ID + ":" + secret}, err
}

type keyParameters struct {
	KeyID string `path:"keyId" format:"uuid" description:"The part of the key before the colon."`
}

func (a api) revokeKey(c *web.Call[keyParameters, web.None]) (web.None, error) {
	return web.None{}, a.accounts.RevokeKey(c, c.Caller.Organization, c.Caller.User, c.Parameters.KeyID)
}

type legacyKeyView struct {
	LegacyKey *legacyKeyTimes `json:"legacyKey" description:"Null: the caller has none."`
}

type legacyKeyTimes struct {
	CreatedAt  web.Time  `json:"createdAt"`
	LastUsedAt *web.Time `json:"lastUsedAt" description:"To the minute; null if the key was never used."`
}

func (a api) legacyKey(c *web.Call[web.None, web.None]) (legacyKeyView, error) {
	user, err := a.accounts.Caller(c, whoOf(c.Caller))
	key := user.LegacyKey
	if err != nil || key == nil || key.RevokedAt != nil {
		return legacyKeyView{}, err
	}
	return legacyKeyView{&legacyKeyTimes{web.Time(key.CreatedAt), web.TimeOf(key.LastUsedAt)}}, nil
}

func (a api) setOwnLegacyKey(c *web.Call[web.None, web.None]) (newLegacyKeyView, error) {
	if err := a.accounts.MayHoldKeys(c, whoOf(c.Caller)); err != nil {
		return newLegacyKeyView{}, err
	}
	secret := seal.Random()
	user, err := a.accounts.SetLegacyKey(c, c.Caller.User, seal.Digest(secret))
	return newLegacyKeyView{user.Username, secret}, err
}

func (a api) deleteLegacyKey(c *web.Call[web.None, web.None]) (web.None, error) {
	if _, err := a.accounts.Caller(c, whoOf(c.Caller)); err != nil {
		return web.None{}, err
	}
	return web.None{}, a.accounts.DeleteLegacyKey(c, c.Caller.User)
}
