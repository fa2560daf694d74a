package account

import "time"

// Passkey is a WebAuthn credential of a user.
type Passkey struct {
	ID         string     `json:"id" audit:"id"` // uuid v7
	Name       string     `json:"name" audit:"name"`
	CreatedAt  time.Time  `json:"createdAt" audit:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}
