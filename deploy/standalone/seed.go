package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/find"
)

//go:embed seed.json
var builtInSeed []byte

//go:embed demo.json
var demoSeed []byte

// seed describes the records that the first start creates.
type seed struct {
	Organization struct {
		Name string `json:"name"`
		Plan string `json:"plan,omitempty"`
	} `json:"organization"`
	User struct {
		Username  string   `json:"username"`
		Email     string   `json:"email"`
		FirstName string   `json:"firstName,omitempty"`
		LastName  string   `json:"lastName,omitempty"`
		Roles     []string `json:"roles"`
	} `json:"user"`
	Components []seedComponent `json:"components"`
	// Showcase is a second dashboard with its own components and events.
	Showcase *showcase `json:"showcase,omitempty"`
	Setting  string    `json:"-"` // value of BELLBUOY_SEED that names this seed
}

type seedComponent struct {
	Name        string `json:"service_name"`
	Group       string `json:"group,omitempty"`
	Description string `json:"description,omitempty"`
}

// credentials are the content of credentials.json. The first start also prints them.
type credentials struct {
	OrganizationID string `json:"organizationId"`
	UserID         string `json:"userId"`
	Username       string `json:"username"`
	LegacyKey      string `json:"legacyKey"`
	AppKey         string `json:"appKey"`
	DashboardID    string `json:"dashboardId"`
	DashboardSlug  string `json:"dashboardSlug"`
	DashboardURL   string `json:"dashboardUrl"`
	OperatorToken  string `json:"operatorToken"`
	BaseURL        string `json:"baseUrl"`
	ConsoleURL     string `json:"consoleUrl"` // link with which the user sets a password for the console
}

// File names in the data folder. The first start is complete if the file seededMark exists. The existence of credentials.json
// does not show this, because an operator may move the file to a safe place. A first start writes seedingMark before it
// creates the first record.
const (
	credentialsFile = "credentials.json"
	seedingMark     = "seeding"
	seededMark      = "seeded"
)

// pendingSeed returns the seed of a first start that is still to be done. It returns nil if the setting names no seed,
// or if the first start of this data folder is complete.
func (f *folder) pendingSeed(setting string) (*seed, error) {
	s, err := readSeed(setting)
	if err != nil {
		return nil, err
	}
	organization, _, err := f.seeded()
	if err != nil || organization != "" {
		return nil, err
	}
	return s, nil
}

// seeded returns the organization that the first start of this data folder created, and the BELLBUOY_SEED of that
// start. It returns "" if no first start is complete.
func (f *folder) seeded() (organization, setting string, err error) {
	content, err := f.read(seededMark)
	organization, setting, _ = strings.Cut(content, "\n")
	return organization, setting, err
}

// unused returns a remark if the setting names another seed than the completed first start had. The remark ends with the
// sentence instead. unused returns "" if both seeds are the same, if the setting is empty or the default, or if no first start
// is complete.
func (f *folder) unused(setting, instead string) (string, error) {
	organization, used, err := f.seeded()
	if err != nil || organization == "" || setting == "" || setting == builtIn || setting == used {
		return "", err
	}
	return noEffect(setting, instead), nil
}

func noEffect(setting, instead string) string {
	return fmt.Sprintf("BELLBUOY_SEED=%s has no effect: a seed is for an empty installation only. %s\n", setting, instead)
}

// readSeed returns the seed that the setting names, or nil if the setting is empty.
func readSeed(setting string) (*seed, error) {
	if setting == "" {
		return nil, nil
	}
	content := map[string][]byte{builtIn: builtInSeed, demo: demoSeed}[setting]
	if content == nil {
		var err error
		if content, err = os.ReadFile(setting); err != nil {
			return nil, fmt.Errorf("BELLBUOY_SEED: it must be %s, %s, a file or empty: %w", builtIn, demo, err)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	s := seed{Setting: setting}
	if err := decoder.Decode(&s); err != nil {
		return nil, fmt.Errorf("BELLBUOY_SEED: %s is not a valid seed: %w", setting, err)
	}
	if creates := len(s.Components) > 0 || s.Showcase != nil; creates && !slices.Contains(s.User.Roles, "admin") {
		return nil, fmt.Errorf("BELLBUOY_SEED: the roles of the user in %s must contain admin, because the user creates the components", setting)
	}
	return &s, nil
}

// seeder creates the records of a seed through the public address of the platform. Before it creates a record, other than
// a key or an invitation, it looks for the record. It sends an Idempotency-Key with the request that creates the record. So
// a start can complete a first start that was killed.
type seeder struct {
	base          string // base URL of the legacy interface
	dashboards    string // base URL of the dashboards
	dial          string // address to dial
	operatorToken string
	client        *http.Client
	// start is a part of each Idempotency-Key. If Redis is in this process, start differs for each process: a request of a
	// killed process cannot still be running, but Redis may still have the key of such a request. If Redis is in another
	// process, start is empty.
	start string
}

// newSeeder returns a seeder that connects to the address dial.
func newSeeder(links boot.Links, dial, operatorToken string) *seeder {
	return &seeder{
		base: links.LegacyBaseURL, dashboards: links.DashboardBaseURL, dial: dial,
		operatorToken: operatorToken, client: &http.Client{Timeout: requestTimeout},
	}
}

const organizations = "/operator/v1/organizations"

// create creates the records of the seed and returns the credentials of the user in the seed.
func (s *seeder) create(ctx context.Context, seed *seed) (credentials, error) {
	type record struct{ ID, Name, Username, Slug string }
	operator := s.as("Operator " + s.operatorToken)
	var home struct{ Organization, Dashboard record }
	err := operator.ensure(ctx, "organization", organizations, seed.Organization, func() (bool, error) {
		var list struct{ Organizations []record }
		err := operator.get(ctx, organizations+"?limit=100", &list)
		i := slices.IndexFunc(list.Organizations, func(o record) bool { return o.Name == seed.Organization.Name })
		if err != nil || i < 0 {
			return false, err
		}
		return true, operator.get(ctx, organizations+"/"+list.Organizations[i].ID, &home)
	})
	if err != nil {
		return credentials{}, err
	}
	var user record
	users := organizations + "/" + home.Organization.ID + "/users"
	err = operator.ensure(ctx, "user", users, seed.User, func() (bool, error) {
		var list struct{ Users []record }
		err := operator.get(ctx, users, &list)
		i := slices.IndexFunc(list.Users, func(u record) bool { return u.Username == seed.User.Username })
		if i >= 0 {
			user = list.Users[i]
		}
		return i >= 0, err
	})
	if err != nil {
		return credentials{}, err
	}
	var app struct{ APIKey string }
	var legacy struct{ Key string }
	var invitation struct{ URL string }
	access := "/operator/v1/users/" + user.ID
	if err := cmp.Or(
		operator.call(ctx, http.MethodPost, access+"/api-keys", map[string]string{"name": "first start"}, &app),
		operator.call(ctx, http.MethodPost, access+"/legacy-key", nil, &legacy),
		operator.call(ctx, http.MethodPost, access+"/invitation", nil, &invitation),
	); err != nil {
		return credentials{}, err
	}
	return credentials{
		OrganizationID: home.Organization.ID, UserID: user.ID, Username: seed.User.Username, LegacyKey: legacy.Key, AppKey: app.APIKey,
		DashboardID: home.Dashboard.ID, DashboardSlug: home.Dashboard.Slug, DashboardURL: s.dashboards + "/d/" + home.Dashboard.Slug,
		OperatorToken: s.operatorToken, BaseURL: s.base, ConsoleURL: invitation.URL,
	}, seed.create(ctx, s.as("Bearer "+app.APIKey), home.Dashboard.ID)
}

// knows reports whether the organization exists. If not, empty reports whether the platform has no organization at all.
func (s *seeder) knows(ctx context.Context, organization string) (exists, empty bool, err error) {
	operator := s.as("Operator " + s.operatorToken)
	err = operator.get(ctx, organizations+"/"+organization, nil)
	if refused, is := errors.AsType[*refusal](err); !is || refused.status != http.StatusNotFound {
		return err == nil, false, err
	}
	names, err := s.organizations(ctx)
	return false, len(names) == 0, err
}

// organizations returns the names of the oldest 100 organizations.
func (s *seeder) organizations(ctx context.Context) ([]string, error) {
	var list struct{ Organizations []struct{ Name string } }
	err := s.as("Operator "+s.operatorToken).get(ctx, organizations+"?limit=100", &list)
	return find.Values(list.Organizations, func(o struct{ Name string }) string { return o.Name }), err
}

// ready waits until the service at the seeder's address is ready.
func (s *seeder) ready(ctx context.Context) error { return s.as("").get(ctx, "/readyz", nil) }

// as returns a caller that sends the value in the header Authorization.
func (s *seeder) as(authorization string) caller { return caller{s, authorization} }

type caller struct {
	*seeder
	authorization string
}

// refusal is the error for a response with an error status.
type refusal struct {
	status int
	text   string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

const requestTimeout = 10 * time.Second

// patience is longer than the time for which a request of a killed process can still run.
const patience = requestTimeout + time.Second

// ensure posts a record until find finds the record. key distinguishes the records of a first start. A conflict means
// that a request of a killed process with the same Idempotency-Key is still running. That request ends within patience.
// If the record does not exist afterwards, the Idempotency-Key belongs to a record that was deleted, and ensure tries
// again with another Idempotency-Key.
func (c caller) ensure(ctx context.Context, key, path string, in any, find func() (bool, error)) error {
	var failure error
	for attempt := range 2 {
		for began, tries := time.Now(), 0; time.Since(began) < patience; tries++ {
			if found, err := find(); found || err != nil {
				return err
			}
			if tries > 0 {
				if err := pause(ctx, patience/50); err != nil {
					return err
				}
			}
			failure = c.once(ctx, fmt.Sprintf("first start %s %d %s", c.start, attempt, key), http.MethodPost, path, in, nil)
			if refused, is := errors.AsType[*refusal](failure); failure != nil && (!is || refused.status != http.StatusConflict) {
				return failure
			}
		}
	}
	return cmp.Or(failure, fmt.Errorf("POST %s created nothing", path))
}

func (c caller) get(ctx context.Context, path string, out any) error {
	return c.call(ctx, http.MethodGet, path, nil, out)
}

// call sends the request as c.once does, without an Idempotency-Key.
func (c caller) call(ctx context.Context, method, path string, in, out any) error {
	return c.once(ctx, "", method, path, in, out)
}

// once sends a request and decodes the response into out, if out is not nil. Until ctx ends, it repeats the request
// after status 503 and after an exceeded rate limit. It repeats a GET, or a request with a key, also if no response
// comes.
func (c caller) once(ctx context.Context, key, method, path string, in, out any) error {
	for {
		status, content, limited, err := c.send(ctx, key, method, path, in)
		switch {
		case err == nil && status < http.StatusBadRequest:
			if out == nil {
				return nil
			}
			return json.Unmarshal(content, out)
		case err != nil && method != http.MethodGet && key == "":
			return err
		case err == nil && status != http.StatusServiceUnavailable && limited == 0:
			return &refusal{status, fmt.Sprintf("%s %s returned status %d: %s", method, path, status, bytes.TrimSpace(content))}
		}
		if err := pause(ctx, limited); err != nil {
			return err
		}
	}
}

// pause waits for the duration least, or 5 ms if that is longer. It returns an error if ctx ends.
func pause(ctx context.Context, least time.Duration) error {
	select {
	case <-time.After(max(least, 5*time.Millisecond)):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// send sends a request once and returns the response. limited is the time that the caller must wait if the rate limit
// is exceeded.
func (c caller) send(ctx context.Context, key, method, path string, in any) (status int, content []byte, limited time.Duration, err error) {
	body := &bytes.Buffer{}
	if in != nil {
		if err := json.NewEncoder(body).Encode(in); err != nil {
			return 0, nil, 0, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.dial+path, body)
	if err != nil {
		return 0, nil, 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	for header, value := range map[string]string{"Authorization": c.authorization, "Idempotency-Key": key} {
		if value != "" {
			request.Header.Set(header, value)
		}
	}
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, 0, err
	}
	defer response.Body.Close()
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && response.StatusCode == http.StatusForbidden {
		limited = time.Duration(seconds) * time.Second
	}
	content, err = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, content, limited, err
}

// mayStart reports whether a first start may create the records of the seed: the platform has no organization, or it has the
// organization of the seed and a first start of this data folder with the same setting began. The data folder alone does
// not show this, because the first start of another data folder, or a restored backup, may have filled the platform.
func (f *folder) mayStart(ctx context.Context, seed *seed, s *seeder) (bool, error) {
	begun, err := f.read(seedingMark)
	if err != nil {
		return false, err
	}
	names, err := s.organizations(ctx)
	return len(names) == 0 || begun == seed.Setting && slices.Contains(names, seed.Organization.Name), err
}

// firstStart creates the records of the seed and writes credentials.json. It returns the content of this file, and
// ConsoleURL, which is in the content.
func (f *folder) firstStart(ctx context.Context, seed *seed, s *seeder) (content []byte, console string, err error) {
	if err := f.write(seedingMark, []byte(seed.Setting+"\n")); err != nil {
		return nil, "", err
	}
	made, err := s.create(ctx, seed)
	if err != nil {
		return nil, "", fmt.Errorf("The first start could not create the seed's records: %w", err)
	}
	if content, err = json.MarshalIndent(made, "", "  "); err != nil {
		return nil, "", err
	}
	content = append(content, '\n')
	if err := f.write(credentialsFile, content); err != nil {
		return nil, "", err
	}
	return content, made.ConsoleURL, f.write(seededMark, []byte(made.OrganizationID+"\n"+seed.Setting+"\n"))
}
