package store_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/peer"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/store"
)

// setting is a directory on real engines, without its sweep, so that a test decides
// what happens between its steps.
type setting struct {
	*account.Directory
	t        *testing.T
	store    *store.Store
	redis    *engines.Redis
	gateways *interrupted
	user     account.User
	key      account.Key
}

// interrupted lets something happen right behind a void.
type interrupted struct {
	*store.Gateways
	behind func() // called once
}

func (i *interrupted) Void(ctx context.Context, keys []account.KeyRef) error {
	err := i.Gateways.Void(ctx, keys)
	if behind := i.behind; behind != nil {
		i.behind = nil
		behind()
	}
	return err
}

func open(t *testing.T) *setting {
	t.Helper()
	s := &setting{t: t}
	db, err := document.Open("sqlite:"+t.TempDir(), "identity", document.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s.store = store.New(db)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.startRedis("127.0.0.1:0")
	t.Cleanup(func() { s.redis.Close() })
	redis, err := boot.Redis{RedisURL: s.redis.URL()}.Options()
	if err != nil {
		t.Fatal(err)
	}
	gateways := store.NewGateways(redis)
	t.Cleanup(func() { gateways.Close() })
	s.gateways = &interrupted{Gateways: gateways}
	s.Directory = account.New(account.Options{
		Store: s.store, Gateways: s.gateways, LegacyPerHour: 1000, AppPerMinute: 600,
		Dashboard: func(context.Context, string, string, string) (string, error) { return "acme", nil },
		Log:       slog.New(slog.DiscardHandler),
		Now:       func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) },
	})
	organization, err := s.AddOrganization(t.Context(), account.NewOrganization{Name: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	s.user, err = s.AddUser(t.Context(), organization.ID, account.NewUser{
		Username: "ann", Email: "ann@example.com", Roles: []account.Role{account.Admin},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.key = s.addKey()
	return s
}

func (s *setting) startRedis(addr string) {
	s.t.Helper()
	var err error
	if s.redis, err = engines.StartRedis(addr); err != nil {
		s.t.Fatal(err)
	}
}

// restartRedis brings Redis back with a stale entry of the key, from before the outage.
func (s *setting) restartRedis(outage func()) {
	s.t.Helper()
	addr := strings.TrimSuffix(strings.TrimPrefix(s.redis.URL(), "redis://"), "/0")
	s.redis.Close()
	outage()
	s.startRedis(addr)
	s.cache(s.key)
}

func (s *setting) addKey() account.Key {
	s.t.Helper()
	key, err := s.AddKey(s.t.Context(), s.user.ID, "", "digest")
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

func (s *setting) client() *redis.Client {
	s.t.Helper()
	options, err := redis.ParseURL(s.redis.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	client := redis.NewClient(options)
	s.t.Cleanup(func() { client.Close() })
	return client
}

// cache puts an entry there like a gateway that asked before the change.
func (s *setting) cache(key account.Key) {
	s.t.Helper()
	if err := s.client().Set(s.t.Context(), peer.CredentialKey(peer.Bearer, key.ID), "{}", peer.CredentialTTL).Err(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *setting) void(key account.Key) bool {
	s.t.Helper()
	return s.client().Get(s.t.Context(), peer.CredentialKey(peer.Bearer, key.ID)).Val() == peer.Void
}

func (s *setting) revoke() error {
	return s.RevokeKey(s.t.Context(), s.user.Organization, s.user.ID, s.key.ID)
}

// A change that an outage left unconfirmed is confirmed by repeating the request.
func TestRepeatConfirms(t *testing.T) {
	for name, change := range map[string]func(s *setting) error{
		"revoke": (*setting).revoke,
		"delete": func(s *setting) error { return s.DeleteUser(s.t.Context(), s.user.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			s.cache(s.key)
			s.restartRedis(func() {
				for range 2 {
					if err := change(s); !fault.Is(err, fault.Unavailable) {
						t.Fatalf("without Redis: %v", err)
					}
				}
			})
			if err := change(s); err != nil {
				t.Fatalf("repeated: %v", err)
			}
			if !s.void(s.key) {
				t.Error("the entry from before the outage is still there")
			}
			if err := change(s); !fault.Is(err, fault.NotFound) {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// A later change pays for what an earlier one owed.
func TestNextChangeSettles(t *testing.T) {
	s := open(t)
	s.restartRedis(func() {
		if err := s.revoke(); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("without Redis: %v", err)
		}
	})
	disabled := true
	user, err := s.ChangeUser(t.Context(), s.user.ID, account.UserPatch{Disabled: optional.Of(disabled)})
	if err != nil || user.Unsettled != nil || !s.void(s.key) {
		t.Errorf("owed since %v, void %t, %v", user.Unsettled, s.void(s.key), err)
	}
	if err := s.revoke(); !fault.Is(err, fault.NotFound) {
		t.Errorf("the revocation is settled, but repeating it gives %v", err)
	}
}

// A key that is made, and cached, between void and write does not escape the change.
func TestKeyMadeBehindTheVoid(t *testing.T) {
	s := open(t)
	var late account.Key
	s.gateways.behind = func() {
		late = s.addKey()
		s.cache(late)
	}
	roles := []account.Role{account.Event}
	if _, err := s.ChangeUser(t.Context(), s.user.ID, account.UserPatch{Roles: optional.Of(roles)}); err != nil {
		t.Fatal(err)
	}
	if !s.void(late) || !s.void(s.key) {
		t.Errorf("void: the late key %t, the other %t", s.void(late), s.void(s.key))
	}
}

// The same for a change of the organization.
func TestKeyMadeBehindTheVoidOfItsOrganization(t *testing.T) {
	s := open(t)
	var late account.Key
	s.gateways.behind = func() {
		late = s.addKey()
		s.cache(late)
	}
	off := false
	o, err := s.ChangeOrganization(t.Context(), s.user.Organization, account.OrganizationPatch{API: optional.Of(off)})
	if err != nil || o.Unsettled != nil {
		t.Fatalf("owed since %v, %v", o.Unsettled, err)
	}
	if !s.void(late) || !s.void(s.key) {
		t.Errorf("void: the late key %t, the other %t", s.void(late), s.void(s.key))
	}
}

// A write that takes longer than a void entry lives lets a gateway fill in what it read
// before; the void behind the write takes it out.
func TestSlowWrite(t *testing.T) {
	s := open(t)
	s.gateways.behind = func() { s.cache(s.key) }
	if err := s.revoke(); err != nil {
		t.Fatal(err)
	}
	if !s.void(s.key) {
		t.Error("the entry that was filled meanwhile is still there")
	}
}

// Redis that fails between the two voids leaves a debt.
func TestRedisFailsBehindTheVoid(t *testing.T) {
	s := open(t)
	s.restartRedis(func() {})
	addr := strings.TrimSuffix(strings.TrimPrefix(s.redis.URL(), "redis://"), "/0")
	s.gateways.behind = func() { s.redis.Close() }
	if err := s.revoke(); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("without Redis: %v", err)
	}
	s.startRedis(addr)
	user, err := s.User(t.Context(), s.user.ID)
	if err != nil || user.Unsettled == nil {
		t.Fatalf("nothing is owed: %v", err)
	}
	if err := s.revoke(); err != nil || !s.void(s.key) {
		t.Errorf("repeated: %v, void %t", err, s.void(s.key))
	}
}

// What a killed process left half-done is ended by the sweep.
func TestSweepEndsWhatACrashLeft(t *testing.T) {
	s := open(t)
	s.cache(s.key)
	now := time.Now().UTC()
	if _, err := s.store.ChangeUser(t.Context(), s.user.ID, func(u *account.User) error {
		u.DeletedAt, u.Unsettled = &now, &now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	marked, err := s.AddUser(t.Context(), s.user.Organization, account.NewUser{Username: "bob", Email: "bob@example.com", Roles: []account.Role{account.Admin}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.ChangeUser(t.Context(), marked.ID, func(u *account.User) error {
		u.DeletedAt = &now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.ChangeOrganization(t.Context(), s.user.Organization, func(o *account.Organization) error {
		o.Unsettled = &now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	pending := account.Organization{ID: "pending", Name: "Pending", Plan: account.Team, State: account.Pending, DashboardID: "d", CreatedAt: now.Add(-time.Hour)}
	if err := s.store.AddOrganization(t.Context(), pending); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	swept := make(chan error)
	go func() { swept <- s.Sweep(ctx) }()
	apitest.Eventually(t, "the sweep ends what was begun", func() bool { return s.ended(marked.ID) })
	cancel()
	if err := <-swept; err != nil {
		t.Error(err)
	}
	if !s.void(s.key) {
		t.Error("the deleted user's key is not void")
	}
}

func (s *setting) ended(marked string) bool {
	s.t.Helper()
	ctx := s.t.Context()
	_, first := s.store.User(ctx, s.user.ID)
	_, second := s.store.User(ctx, marked)
	ready, third := s.Organization(ctx, "pending")
	settled, err := s.store.Organization(ctx, s.user.Organization)
	if err != nil {
		s.t.Fatal(err)
	}
	return fault.Is(first, fault.NotFound) && fault.Is(second, fault.NotFound) &&
		third == nil && ready.DashboardSlug == "acme" && settled.Unsettled == nil
}
