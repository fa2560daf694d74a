package seal_test

import (
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/seal"
)

func TestOnlyTheHashedPasswordIsAccepted(t *testing.T) {
	hash := seal.HashPassword("correct horse")
	if !seal.CheckPassword(hash, "correct horse") {
		t.Error("the right password is refused")
	}
	for _, wrong := range []string{"", "correct hors", "correct horse ", "Correct horse"} {
		if seal.CheckPassword(hash, wrong) {
			t.Errorf("%q is accepted", wrong)
		}
	}
	for _, broken := range []string{"", "correct horse", "$argon2id$v=19$m=19456,t=2,p=1$$", "$argon2id$v=18" + hash[len("$argon2id$v=19"):], "$argon2id$v=19$m=1,t=0,p=0$AAAA$AAAA", hash + "$x"} {
		if seal.CheckPassword(broken, "correct horse") {
			t.Errorf("the hash %q is accepted", broken)
		}
	}
}

func TestATicketIsValidForItsOwnerUntilItExpires(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tickets := seal.NewTickets("secret", "door", func() time.Time { return now })
	ticket := tickets.Issue("ann", time.Hour)
	other := seal.NewTickets("secret", "window", func() time.Time { return now })
	if !tickets.Valid(ticket, "ann") || tickets.Valid(ticket, "bob") || other.Valid(ticket, "ann") || tickets.Valid("", "ann") || tickets.Valid(ticket[1:], "ann") {
		t.Error("the ticket is not valid for its owner and purpose alone")
	}
	if now = now.Add(time.Hour); tickets.Valid(ticket, "ann") {
		t.Error("the ticket has not expired")
	}
}

func TestASignatureDependsOnSecretPurposeAndText(t *testing.T) {
	one := seal.Sign("secret", "feeds", "a")
	if one != seal.Sign("secret", "feeds", "a") {
		t.Error("two signatures of a text differ")
	}
	for _, other := range []string{seal.Sign("another", "feeds", "a"), seal.Sign("secret", "pages", "a"), seal.Sign("secret", "feeds", "b")} {
		if one == other {
			t.Error("signatures of another secret, purpose or text are equal")
		}
	}
}
