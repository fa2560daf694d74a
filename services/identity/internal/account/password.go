package account

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
)

// FieldPassword is the member of requests that has a new password.
const FieldPassword = "password"

const (
	minPassword = 12  // characters
	maxPassword = 128 // characters
	minDistinct = 5   // different characters
	minNamed    = 4   // minimum length of a name that a password must not contain, in characters
	hashWait    = 2 * time.Second
	// hashQueue is the number of requests per slot that may wait: about as many as get a slot within hashWait.
	hashQueue = 64
)

// hasher computes the hashes of passwords. A hash needs 19 MiB of memory and a processor core for about 30 ms, so only
// half of the cores hash at once, and at most four. The other cores serve all other requests.
//
// A request occupies a place before it reads a record, and a slot while it hashes. Requests without a place are refused at
// once, so that a thousand sign-ins at once cost neither memory nor the time of other requests.
type hasher struct {
	places chan struct{}
	slots  chan struct{}
	none   func() string // hash of a random password; computed at the first call, so that the start does not wait for it
	hashed func()        // called for each hash
}

func newHasher(slots int, hashed func()) *hasher {
	return &hasher{make(chan struct{}, slots*hashQueue), make(chan struct{}, slots), sync.OnceValue(func() string { return seal.HashPassword(seal.Random()) }), hashed}
}

// maxHashes bounds the number of hashes at once, because their memory must not grow with the cores: without a limit of
// processor time, a container sees all cores of its machine, and has 256 MiB.
const maxHashes = 4

// hashSlots returns the number of hashes at once on a machine with the number of cores.
func hashSlots(cores int) int { return min(maxHashes, max(1, cores/2)) }

func errBusy() error {
	return fault.New(fault.Unavailable, "Too many people sign in at the moment. Try again shortly.")
}

// enter occupies a place until leave is called. It returns Unavailable if no place is free.
func (h *hasher) enter() (leave func(), err error) {
	select {
	case h.places <- struct{}{}:
		return func() { <-h.places }, nil
	default:
		return nil, errBusy()
	}
}

// isRight reports whether hash is the hash of the password. If hash is empty, it returns false after the same time.
// isRight must be called within run.
func (h *hasher) isRight(hash, password string) bool {
	h.hashed()
	if hash == "" {
		_ = seal.CheckPassword(h.none(), normal(password))
		return false
	}
	return seal.CheckPassword(hash, normal(password))
}

// hash returns the hash of a password. It returns Unavailable if no place or slot is free.
func (h *hasher) hash(ctx context.Context, password string) (hash string, err error) {
	leave, err := h.enter()
	if err != nil {
		return "", err
	}
	defer leave()
	err = h.run(ctx, func() {
		h.hashed()
		hash = seal.HashPassword(normal(password))
	})
	return hash, err
}

// normal returns one form of a password that keyboards write in several ways: an ä may be one character or two.
func normal(password string) string { return norm.NFKC.String(password) }

// run calls do while it has a slot. It returns Unavailable if no slot is free within hashWait.
func (h *hasher) run(ctx context.Context, do func()) error {
	timer := time.NewTimer(hashWait)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
		do()
		return nil
	case <-timer.C:
		return errBusy()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayUsePassword reports whether the user has a password and may sign in with it.
func (a *Accounts) mayUsePassword(ctx context.Context, u User) (bool, error) {
	if u.Password == "" {
		return false, nil
	}
	o, err := a.Organization(ctx, u.Organization)
	return err == nil && u.AllowsPassword(o), fault.UnlessMissing(err)
}

// AllowsPassword reports whether the user has a password and may sign in with it.
func (u User) AllowsPassword(o Organization) bool { return u.Password != "" && u.admitsPassword(o) }

// admitsPassword reports whether the user may sign in with a password or a passkey: as PasswordAuth says, or, if it is nil,
// if the organization does not enforce single sign-on.
func (u User) admitsPassword(o Organization) bool {
	if u.PasswordAuth != nil {
		return *u.PasswordAuth
	}
	return o.SignOn == nil || !o.SignOn.Enforced
}

// SignOnOnly reports whether neither a password nor a passkey of the user is accepted.
func (u User) SignOnOnly(o Organization) bool { return !u.admitsPassword(o) }

// checkPassword returns an error if the password is too short or long, has control characters, is easy to guess, or
// contains the user name, the part of the mail address before the @, or the name of the organization. Names with fewer
// than minNamed characters are not checked.
func checkPassword(password string, u User, o Organization) error {
	switch length := utf8.RuneCountInString(password); {
	case length < minPassword || length > maxPassword:
		return fault.Field(FieldPassword, "must be %d to %d characters", minPassword, maxPassword)
	case strings.ContainsFunc(password, unicode.IsControl):
		return fault.Field(FieldPassword, "must not contain control characters")
	case isCommon(password):
		return fault.Field(FieldPassword, "is too easy to guess: many people use it, or it repeats itself")
	}
	mailbox, _, _ := strings.Cut(u.Email, "@")
	for _, name := range []struct{ what, text string }{
		{"the user name", u.Username}, {"the mail address", mailbox}, {"the name of the organization", o.Name},
	} {
		if utf8.RuneCountInString(name.text) >= minNamed && strings.Contains(strings.ToLower(password), strings.ToLower(name.text)) {
			return fault.Field(FieldPassword, "must not contain %s", name.what)
		}
	}
	return nil
}

// commonText has about 49,000 passwords that many people use, in lower case, one a line. It is the list of the npm
// package @zxcvbn-ts/language-common 4.1.3 (MIT, see common_passwords.LICENSE).
//
//go:embed common_passwords.txt.gz
var commonText []byte

// commonPasswords returns the sorted list of common passwords. The first call reads it. Most processes never need it.
var commonPasswords = sync.OnceValue(func() []string {
	reader, err := gzip.NewReader(bytes.NewReader(commonText))
	if err != nil {
		panic(err) // the embedded file is damaged
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		panic(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
})

// leet replaces digits and signs by the letters that they resemble.
var leet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// isCommon reports whether a password is easy to guess: it has few different characters, has only digits, or follows the
// alphabet. It is also easy to guess if it is a common password, also after the characters around its letters or its
// repetitions are removed, or its digits and signs are replaced by the letters that they resemble.
func isCommon(password string) bool {
	text := strings.ToLower(password)
	distinct := slices.Compact(slices.Sorted(slices.Values([]rune(text))))
	if len(distinct) < minDistinct || isSequence([]rune(text)) || !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsDigit(r) }) {
		return true
	}
	for _, form := range []string{text, leet.Replace(text)} {
		core := strings.TrimFunc(form, func(r rune) bool { return !unicode.IsLetter(r) })
		for _, candidate := range []string{form, core, unit(form), unit(core)} {
			if _, found := slices.BinarySearch(commonPasswords(), candidate); found || candidate == "" {
				return true
			}
		}
	}
	return false
}

// isSequence reports whether each character follows the one before it, upward or downward, such as abcdef.
func isSequence(text []rune) bool {
	step := text[1] - text[0]
	for i := 1; i < len(text); i++ {
		if text[i]-text[i-1] != step {
			return false
		}
	}
	return step == 1 || step == -1
}

// unit returns the shortest text that is repeated to form the text, or the text if nothing is repeated.
func unit(text string) string {
	for size := 1; size <= len(text)/2; size++ {
		if len(text)%size == 0 && strings.Repeat(text[:size], len(text)/size) == text {
			return text[:size]
		}
	}
	return text
}
