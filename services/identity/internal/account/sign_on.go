package account

// SignOn is the single sign-on of an organization: its OpenID Connect provider.
type SignOn struct {
	Name  string `json:"name" audit:"name"` // unique in the installation
	Label string `json:"label" audit:"label"`
	// Enforced: members may use a password only if an admin allows it explicitly.
	Enforced bool `json:"enforced" audit:"enforced"`
}
