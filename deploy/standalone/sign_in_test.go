package main_test

import (
	"fmt"
	"net/http"
	"testing"
)

// Strangers try to sign in with the admin's name from everywhere. The admin still signs in with a browser that is known.
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
}
