package store_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/document"
	"github.com/bellbuoy/bellbuoy/libs/engines"
	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/quota"
	"github.com/bellbuoy/bellbuoy/libs/topic"

	"github.com/bellbuoy/bellbuoy/services/identity/internal/account"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/store"
	"github.com/bellbuoy/bellbuoy/services/identity/internal/telemetry"
)

// setting is the domain on real engines without Sweep, so that a test decides what happens between the
// steps of a change.
type setting struct {
	*account.Accounts
	t        *testing.T
	store    account.Store
	redis    *engines.Redis
	gateways *interrupted
	ahead    func() // called once, before the next change of a record
	user     account.User
	key      account.Key
}

// during is a collection that calls setting.ahead.
type during[T any] struct {
	find.Collection[T]
	setting *setting
}

func (d during[T]) Update(ctx context.Context, key string, change func(*T) ([]topic.Message, error)) (T, error) {
	if ahead := d.setting.ahead; ahead != nil {
		d.setting.ahead = nil
		ahead()
	}
	return d.Collection.Update(ctx, key, change)
}

// interrupted calls ahead once between the write of a change and the void.
type interrupted struct {
	*store.Gateways
	ahead func()
}

func (i *interrupted) Void(ctx context.Context, keys []account.KeyRef) error {
	if ahead := i.ahead; ahead != nil {
		i.ahead = nil
		ahead()
	}
	return i.Gateways.Void(ctx, keys)
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
	s.store.Users = during[account.User]{s.store.Users, s}
	s.store.Organizations = during[account.Organization]{s.store.Organizations, s}
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.startRedis("127.0.0.1:0")
	t.Cleanup(func() { s.redis.Close() })
	gateways, err := store.NewGateways(boot.Redis{RedisURL: apitest.Patient(s.redis.URL())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gateways.Close() })
	s.gateways = &interrupted{Gateways: gateways}
	tries, err := quota.New(boot.Redis{RedisURL: apitest.Patient(s.redis.URL())}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tries.Close() })
	s.Accounts = account.New(account.Options{
		Tries: tries, Observer: telemetry.New(prometheus.NewRegistry()), Secret: "a secret of the tests, long enough to be one",
		Store: s.store, Gateways: s.gateways, LegacyPerHour: 1000, AppPerMinute: 600,
		Dashboard: func(context.Context, string, string, string) (string, error) { return "acme", nil },
		Plan:      func(context.Context, string, account.Features) error { return nil },
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

// restartRedis restarts Redis with a stale entry of the key, from before the outage.
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
	key, err := s.AddKey(s.t.Context(), s.user.ID, optional.Of("key"), "digest")
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

func (s *setting) client() *redis.Client {
	s.t.Helper()
	options, err := redis.ParseURL(apitest.Patient(s.redis.URL()))
	if err != nil {
		s.t.Fatal(err)
	}
	client := redis.NewClient(options)
	s.t.Cleanup(func() { client.Close() })
	return client
}

// cache stores an entry of the key in Redis, as a gateway does that asked before the change.
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
func TestARepeatedRequestConfirmsAChange(t *testing.T) {
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

// A later change also confirms an earlier one.
func TestTheNextChangeConfirmsAnEarlierChange(t *testing.T) {
	s := open(t)
	s.restartRedis(func() {
		if err := s.revoke(); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("without Redis: %v", err)
		}
	})
	disabled := true
	user, err := s.ChangeUser(t.Context(), s.user.ID, account.UserPatch{Disabled: optional.Of(disabled)})
	if err != nil || user.StaleSince != nil || !s.void(s.key) {
		t.Errorf("stale since %v, void %t, %v", user.StaleSince, s.void(s.key), err)
	}
	if err := s.revoke(); !fault.Is(err, fault.NotFound) {
		t.Errorf("the revocation is confirmed, but repeating it gives %v", err)
	}
}

// A change voids the keys that exist when it is stored, also those that the caller of the change could not
// know, and an entry that a gateway filled in between.
func TestAChangeVoidsAKeyThatIsCreatedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(s *setting) error{
		"of the user": func(s *setting) error {
			_, err := s.ChangeUser(t.Context(), s.user.ID, account.UserPatch{Roles: optional.Of([]account.Role{account.Event})})
			return err
		},
		"of the organization": func(s *setting) error {
			o, err := s.ChangeOrganization(t.Context(), s.user.Organization, account.OrganizationPatch{API: optional.Of(false)})
			if o.StaleSince != nil {
				t.Errorf("stale since %v", o.StaleSince)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			var early account.Key
			s.ahead = func() {
				early = s.addKey()
				s.cache(early)
			}
			s.gateways.ahead = func() { s.cache(s.key) }
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			if !s.void(early) || !s.void(s.key) {
				t.Errorf("void: the key made before the write %t, the other %t", s.void(early), s.void(s.key))
			}
		})
	}
}

// Redis that fails between the write and the void leaves StaleSince set.
func TestAFailureOfRedisLeavesStaleSinceSet(t *testing.T) {
	s := open(t)
	s.restartRedis(func() {})
	addr := strings.TrimSuffix(strings.TrimPrefix(s.redis.URL(), "redis://"), "/0")
	s.gateways.ahead = func() { s.redis.Close() }
	if err := s.revoke(); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("without Redis: %v", err)
	}
	s.startRedis(addr)
	user, err := s.User(t.Context(), s.user.ID)
	if err != nil || user.StaleSince == nil {
		t.Fatalf("StaleSince is not set: %v", err)
	}
	if err := s.revoke(); err != nil || !s.void(s.key) {
		t.Errorf("repeated: %v, void %t", err, s.void(s.key))
	}
}

// The end of a change does not clear StaleSince of a later change, whose process may have been killed.
func TestALaterChangeStaysUnconfirmed(t *testing.T) {
	s := open(t)
	later := time.Now().UTC().Add(time.Hour).Truncate(time.Millisecond)
	s.gateways.ahead = func() {
		if _, err := s.store.Users.Change(t.Context(), s.user.ID, func(u *account.User) error {
			u.StaleSince = &later
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if err := s.revoke(); err != nil {
		t.Fatal(err)
	}
	if user, err := s.User(t.Context(), s.user.ID); err != nil || user.StaleSince == nil || !user.StaleSince.Equal(later) {
		t.Errorf("stale since %v, %v", user.StaleSince, err)
	}
}

// Two deletions of a user at the same time both succeed, and the record is removed.
func TestTwoDeletionsAtOnceBothSucceed(t *testing.T) {
	s := open(t)
	remove := func() error { return s.DeleteUser(t.Context(), s.user.ID) }
	s.gateways.ahead = func() {
		if err := remove(); err != nil {
			t.Errorf("the second: %v", err)
		}
	}
	if err := remove(); err != nil {
		t.Errorf("the first: %v", err)
	}
	if _, err := s.store.Users.Get(t.Context(), s.user.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the record: %v", err)
	}
}

// Sweep completes the operations that a killed process did not complete.
func TestSweepCompletesWhatAKilledProcessLeft(t *testing.T) {
	s := open(t)
	s.cache(s.key)
	now := time.Now().UTC()
	if _, err := s.store.Users.Change(t.Context(), s.user.ID, func(u *account.User) error {
		u.DeletedAt, u.StaleSince = &now, &now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	marked, err := s.AddUser(t.Context(), s.user.Organization, account.NewUser{Username: "bob", Email: "bob@example.com", Roles: []account.Role{account.Admin}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Users.Change(t.Context(), marked.ID, func(u *account.User) error {
		u.DeletedAt = &now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Organizations.Change(t.Context(), s.user.Organization, func(o *account.Organization) error {
		o.StaleSince = &now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	pending := account.Organization{ID: "pending", Name: "Pending", Plan: account.Team, State: account.Pending, DashboardID: "d", CreatedAt: now.Add(-time.Hour)}
	if err := s.store.Organizations.Insert(t.Context(), pending); err != nil {
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
	_, first := s.store.Users.Get(ctx, s.user.ID)
	_, second := s.store.Users.Get(ctx, marked)
	ready, third := s.Organization(ctx, "pending")
	confirmed, err := s.store.Organizations.Get(ctx, s.user.Organization)
	if err != nil {
		s.t.Fatal(err)
	}
	return fault.Is(first, fault.NotFound) && fault.Is(second, fault.NotFound) &&
		third == nil && ready.DashboardSlug == "acme" && confirmed.StaleSince == nil
}

// signIn starts a session of the user with an invitation.
func (s *setting) signIn() (id string) {
	s.t.Helper()
	link, err := s.Invite(s.t.Context(), s.user.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	_, token, _ := strings.Cut(s.LinkURL(s.user.ID, link), "?token=")
	in, err := s.AcceptLink(s.t.Context(), account.Acceptance{Token: token, Password: "correct horse battery"}, account.Client{})
	if err != nil {
		s.t.Fatal(err)
	}
	id, _, _ = strings.Cut(in.Token, ":")
	return id
}

func (s *setting) voidSession(id string) bool {
	s.t.Helper()
	return s.client().Get(s.t.Context(), peer.CredentialKey(peer.Session, id)).Val() == peer.Void
}

// The end of a session that an outage left unconfirmed is confirmed by repeating the request. A later change, also one
// without Redis in between, voids ended sessions too.
func TestAnEndedSessionIsVoidedUntilItIsConfirmed(t *testing.T) {
	s := open(t)
	one, other := s.signIn(), ""
	who := account.Who{Organization: s.user.Organization, User: s.user.ID, KeyID: s.key.ID}
	other = s.signIn() // ends the first
	if !s.voidSession(one) {
		t.Error("a new password has not voided the session")
	}
	s.restartRedis(func() {
		for range 2 {
			if err := s.EndSession(t.Context(), who, other); !fault.Is(err, fault.Unavailable) {
				t.Fatalf("without Redis: %v", err)
			}
		}
		if s.signIn(); s.mustUser().StaleSince == nil {
			t.Error("a sign-in has confirmed an end that is not void at the gateways")
		}
	})
	if err := s.EndSession(t.Context(), who, other); err != nil || !s.voidSession(other) {
		t.Errorf("repeated: %v, void %t", err, s.voidSession(other))
	}
	if err := s.EndSession(t.Context(), who, other); !fault.Is(err, fault.NotFound) {
		t.Errorf("once more: %v", err)
	}
	if s.mustUser().StaleSince != nil {
		t.Error("StaleSince is still set")
	}
}

// A gateway that looks up a session between the write that ends the session and the void cannot keep it.
func TestASessionThatIsCachedMeanwhileIsVoid(t *testing.T) {
	s := open(t)
	id := s.signIn()
	s.gateways.ahead = func() {
		if err := s.client().Set(t.Context(), peer.CredentialKey(peer.Session, id), "{}", peer.CredentialTTL).Err(); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.ChangeUser(t.Context(), s.user.ID, account.UserPatch{Disabled: optional.Of(true)}); err != nil {
		t.Fatal(err)
	}
	if !s.voidSession(id) {
		t.Error("the session is cached")
	}
}

func (s *setting) mustUser() account.User {
	s.t.Helper()
	user, err := s.User(s.t.Context(), s.user.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return user
}
