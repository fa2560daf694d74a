package api

import (
	"encoding/json"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/web"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
)

const (
	recoveryCodesExample = `{"recoveryCodes": ["abcde-fghij"]}`
	passkeyExample       = `{"id": "01890a5d-ac96-774b-bcce-b302099a8071", "name": "Laptop", "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null}`
	credentialExample    = `{"id": "AQID", "rawId": "AQID", "type": "public-key", "response": {"clientDataJSON": "e30"}}`
	needsRecent          = " It needs a recent sign-in."
	needsFactor          = needsRecent + " If the organization requires a second factor and the caller has one, the session must have shown it."
)

func (a api) secondFactorOperations() []web.Operation {
	return []web.Operation{
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/profile/totp", ID: "startTOTP", Tag: "second-factors", Summary: "Get a secret for an authenticator app",
			Description: "The app is not in force before its first code is sent. A further call replaces the secret." + needsFactor, Access: web.SignedIn, Status: 200, Errors: []int{409},
			Example: web.Example{Response: `{"secret": "JBSWY3DPEHPK3PXP", "url": "otpauth://totp/Bellbuoy:ada?secret=JBSWY3DPEHPK3PXP&issuer=Bellbuoy"}`},
		}, a.startTOTP),
		web.Declare(web.Operation{
			Method: "PUT", Path: "/app/profile/totp", ID: "confirmTOTP", Tag: "second-factors", Summary: "Put the authenticator app in force with its first code",
			Description: "From now on a sign-in with the password also needs a code. Only this response shows the recovery codes." + needsFactor, Access: web.SignedIn, Status: 200, Errors: []int{409},
			Example: web.Example{Request: `{"code": "123456"}`, Response: recoveryCodesExample},
		}, web.WithBody(a.confirmTOTP)),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/profile/totp", ID: "removeTOTP", Tag: "second-factors", Summary: "Remove the authenticator app and the recovery codes",
			Description: "The caller's other sessions end." + needsFactor, Access: web.SignedIn, Status: 204, Errors: []int{404},
		}, a.removeTOTP),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/profile/recovery-codes", ID: "createRecoveryCodes", Tag: "second-factors", Summary: "Replace the recovery codes",
			Description: "Only this response shows the new codes. Each works once." + needsFactor, Access: web.SignedIn, Status: 200, Errors: []int{409},
			Example: web.Example{Response: recoveryCodesExample},
		}, a.newRecoveryCodes),
		web.Declare(web.Operation{
			Method: "GET", Path: "/app/profile/passkeys", ID: "listPasskeys", Tag: "second-factors", Summary: "List the caller's own passkeys, oldest first",
			Access: web.SignedIn, Status: 200, Example: web.Example{Response: `{"passkeys": [` + passkeyExample + `]}`},
		}, a.listPasskeys),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/profile/passkeys/options", ID: "startPasskey", Tag: "second-factors", Summary: "Get the options with which a browser makes a passkey",
			Description: "They are the argument of navigator.credentials.create(), with binary values in base64url. The ticket is valid for 5 minutes, once." + needsFactor,
			Access:      web.SignedIn, Status: 200, Errors: []int{409}, Example: web.Example{Response: `{"ticket": "ticket", "options": {"publicKey": {"challenge": "AQID", "rp": {"id": "status.example.com", "name": "Bellbuoy"}}}}`},
		}, a.startPasskey),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/profile/passkeys", ID: "addPasskey", Tag: "second-factors", Summary: "Add the passkey that the browser made",
			Description: "A passkey signs in without a name and a password. A member has at most 10." + needsFactor, Access: web.SignedIn, Status: 201, Errors: []int{409},
			Example: web.Example{Request: `{"ticket": "ticket", "credential": ` + credentialExample + `, "name": "Laptop"}`, Response: `{"passkey": ` + passkeyExample + `}`},
		}, web.WithBody(a.addPasskey)),
		web.Declare(web.Operation{
			Method: "PATCH", Path: "/app/profile/passkeys/{id}", ID: "renamePasskey", Tag: "second-factors", Summary: "Rename a passkey",
			Description: "It needs a recent sign-in.", Access: web.SignedIn, Status: 200,
			Example: web.Example{Request: `{"name": "Laptop"}`, Response: `{"passkey": ` + passkeyExample + `}`},
		}, web.WithBody(a.renamePasskey)),
		web.Declare(web.Operation{
			Method: "DELETE", Path: "/app/profile/passkeys/{id}", ID: "removePasskey", Tag: "second-factors", Summary: "Remove a passkey",
			Description: "The caller's other sessions end." + needsFactor, Access: web.SignedIn, Status: 204,
		}, a.removePasskey),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in/passkey/options", ID: "startPasskeySignIn", Tag: "sign-in", Summary: "Get the options with which a browser shows a passkey",
			Description: "They are the argument of navigator.credentials.get(), with binary values in base64url. The ticket is valid for 5 minutes, once.",
			Access:      web.SignedOut, Status: 200, Errors: []int{409}, Example: web.Example{Response: `{"ticket": "ticket", "options": {"publicKey": {"challenge": "AQID", "rpId": "status.example.com"}}}`},
		}, a.startPasskeySignIn),
		web.Declare(web.Operation{
			Method: "POST", Path: "/app/sign-in/passkey", ID: "signInWithPasskey", Tag: "sign-in", Summary: "Sign in with a passkey",
			Description: "A passkey counts as two factors.", Access: web.SignedOut, Status: 200,
			Example: web.Example{Request: `{"ticket": "ticket", "credential": ` + credentialExample + `, "keep": true}`, Response: signInExample},
		}, web.WithBody(a.signInPasskey)),
	}
}

type totpView struct {
	Secret string `json:"secret" description:"In base32, for apps without a camera."`
	URL    string `json:"url" description:"The otpauth URL, for a QR code."`
}

func (a api) startTOTP(c *web.Call[web.None, web.None]) (totpView, error) {
	secret, url, err := a.accounts.StartTOTP(c, whoOf(c.Caller))
	return totpView{secret, url}, err
}

type recoveryCodesView struct {
	RecoveryCodes []string `json:"recoveryCodes"`
}

type ownCodeBody struct {
	Code optional.Value[string] `json:"code" required:"true"`
}

func (a api) confirmTOTP(c *web.Call[web.None, ownCodeBody], in ownCodeBody) (recoveryCodesView, error) {
	codes, err := a.accounts.ConfirmTOTP(c, whoOf(c.Caller), in.Code.Value)
	return recoveryCodesView{codes}, err
}

func (a api) removeTOTP(c *web.Call[web.None, web.None]) (web.None, error) {
	return web.None{}, a.accounts.RemoveTOTP(c, whoOf(c.Caller))
}

func (a api) newRecoveryCodes(c *web.Call[web.None, web.None]) (recoveryCodesView, error) {
	codes, err := a.accounts.NewRecoveryCodes(c, whoOf(c.Caller))
	return recoveryCodesView{codes}, err
}

type passkeyView struct {
	ID         string    `json:"id" format:"uuid"`
	Name       string    `json:"name"`
	CreatedAt  web.Time  `json:"createdAt"`
	LastUsedAt *web.Time `json:"lastUsedAt" description:"Null if the passkey was never used to sign in."`
}

func viewPasskey(p account.Passkey) passkeyView {
	return passkeyView{p.ID, p.Name, web.Time(p.CreatedAt), web.TimeOf(p.LastUsedAt)}
}

type passkeysView struct {
	Passkeys []passkeyView `json:"passkeys"`
}

func (a api) listPasskeys(c *web.Call[web.None, web.None]) (passkeysView, error) {
	user, err := a.accounts.Caller(c, whoOf(c.Caller))
	return passkeysView{find.Values(user.Passkeys, viewPasskey)}, err
}

type passkeyOptionsView struct {
	Ticket  string         `json:"ticket"`
	Options map[string]any `json:"options"`
}

// viewOptions returns a view with the ticket and the decoded JSON of the options.
func viewOptions(ticket string, options any, err error) (passkeyOptionsView, error) {
	if err != nil {
		return passkeyOptionsView{}, err
	}
	view := passkeyOptionsView{Ticket: ticket}
	text, err := json.Marshal(options)
	if err == nil {
		err = json.Unmarshal(text, &view.Options)
	}
	if err != nil {
		return passkeyOptionsView{}, fault.Wrap(fault.Internal, err, "The options cannot be encoded.")
	}
	return view, nil
}

func (a api) startPasskey(c *web.Call[web.None, web.None]) (passkeyOptionsView, error) {
	return viewOptions(a.accounts.NewPasskeyOptions(c, whoOf(c.Caller)))
}

func (a api) startPasskeySignIn(c *web.Call[web.None, web.None]) (passkeyOptionsView, error) {
	return viewOptions(a.accounts.PasskeyOptions(c))
}

type onePasskeyView struct {
	Passkey passkeyView `json:"passkey"`
}

type newPasskeyBody struct {
	Ticket     optional.Value[string]         `json:"ticket" required:"true"`
	Credential optional.Value[map[string]any] `json:"credential" required:"true" description:"toJSON() of the credential."`
	Name       optional.Value[string]         `json:"name" required:"true" minLength:"1" maxLength:"80"`
}

// credentialOf returns the JSON of the credential that a browser created or used.
func credentialOf(sent map[string]any) json.RawMessage {
	text, _ := json.Marshal(sent) // it was decoded from JSON
	return text
}

func (a api) addPasskey(c *web.Call[web.None, newPasskeyBody], in newPasskeyBody) (onePasskeyView, error) {
	passkey, err := a.accounts.AddPasskey(c, whoOf(c.Caller), in.Ticket.Value, credentialOf(in.Credential.Value), in.Name.Value)
	return onePasskeyView{viewPasskey(passkey)}, err
}

type passkeyParameters struct {
	ID string `path:"id" format:"uuid" record:"passkey"`
}

type passkeyPatch struct {
	Name optional.Value[string] `json:"name" minLength:"1" maxLength:"80"`
}

func (a api) renamePasskey(c *web.Call[passkeyParameters, passkeyPatch], in passkeyPatch) (onePasskeyView, error) {
	passkey, err := a.accounts.RenamePasskey(c, whoOf(c.Caller), c.Parameters.ID, in.Name.Value)
	return onePasskeyView{viewPasskey(passkey)}, err
}

func (a api) removePasskey(c *web.Call[passkeyParameters, web.None]) (web.None, error) {
	return web.None{}, a.accounts.RemovePasskey(c, whoOf(c.Caller), c.Parameters.ID)
}

type passkeySignInBody struct {
	Ticket     optional.Value[string]         `json:"ticket" required:"true"`
	Credential optional.Value[map[string]any] `json:"credential" required:"true" description:"toJSON() of the credential."`
	Keep       optional.Value[bool]           `json:"keep" default:"false"`
	Browser    optional.Value[string]         `json:"browser" description:"Ticket of a former sign-in in this browser."`
}

func (a api) signInPasskey(c *web.Call[web.None, passkeySignInBody], in passkeySignInBody) (signInView, error) {
	proof := account.PasskeyProof{Ticket: in.Ticket.Value, Credential: credentialOf(in.Credential.Value)}
	result, err := a.accounts.SignInPasskey(c, proof, in.Keep.Value, in.Browser.Value, clientOf(c))
	return viewSignIn(result), err
}
