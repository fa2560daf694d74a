package main_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Strangers try to sign in with the admin's name from everywhere. The admin still signs in with a browser that is known, and
// finds the refusals in the audit log, once.
func TestStrangersDoNotKeepTheAdminFromSigningIn(t *testing.T) {
	t.Parallel()
	p, base := started(t, "BELLBUOY_TRUSTED_PROXIES=127.0.0.0/8")
	admin, of := welcomed(t, p, base)
	signIn := func(who *consoleUser, password string, status int) *consoleUser {
		t.Helper()
		return who.open("/sign-in", http.StatusOK).fill("/sign-in", typed("username", of.Username, "password", password), status)
	}
	for i := range 10 {
		stranger := newConsoleUser(t, base)
		stranger.ip = fmt.Sprint("198.51.100.", i)
		for range 10 {
			signIn(stranger, "a wrong password", http.StatusUnprocessableEntity)
		}
	}
	unknown := newConsoleUser(t, base)
	unknown.ip = "203.0.113.9"
	signIn(unknown, memberPassword, http.StatusTooManyRequests)
	admin.open("/sign-out", http.StatusOK).fill("/sign-out", nil, http.StatusOK).expect("/sign-in")
	signIn(admin, memberPassword, http.StatusOK).expect("/")
	eventually(t, 30*time.Second, "the audit entry", func() error {
		entries, err := auditLog(base, of.app(), "action=user.sign_in.refuse")
		if err == nil && len(entries) != 1 {
			err = fmt.Errorf("%d entries", len(entries))
		}
		return err
	})
	admin.open("/audit?entityType=user", http.StatusOK).expect("/audit", "Sign-in refused: "+of.Username, "too many tries", "203.0.113.9")
}
