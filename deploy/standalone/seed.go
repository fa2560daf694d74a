package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"
)

//go:embed seed.json
var builtInSeed []byte

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
	Components []struct {
		Name        string `json:"service_name"`
		Group       string `json:"group,omitempty"`
		Description string `json:"description,omitempty"`
	} `json:"components"`
}

// credentials are the contents of credentials.json, which the first start also prints.
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
}

// File names in the data folder. An operator may move credentials.json to a safe place, so a
// second file marks a completed first start.
const (
	credentialsFile = "credentials.json"
	seededMark      = "seeded"
)

// pendingSeed returns the seed, or nil if the setting names none or a first start of this
// data folder has created its records.
func (f *folder) pendingSeed(setting string) (*seed, error) {
	if setting == "" {
		return nil, nil
	}
	content := builtInSeed
	if setting != builtIn {
		var err error
		if content, err = os.ReadFile(setting); err != nil {
			return nil, fmt.Errorf("BELLBUOY_SEED: %w", err)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	var s seed
	if err := decoder.Decode(&s); err != nil {
		return nil, fmt.Errorf("BELLBUOY_SEED: %s is not a valid seed: %w", setting, err)
	}
	if _, err := os.Stat(f.file(seededMark)); !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return &s, nil
}

// sower creates the seed's records through the platform's public address, with the rights of an
// operator. Each step first looks for the record that a killed first start may have
// created, so a first start can be repeated.
type sower struct {
	base          string // base URL of the legacy interface
	dashboards    string // base URL of the dashboards
	dial          string // address to dial
	operatorToken string
	client        *http.Client
}

// organization is a response about the seed's organization.
type organization struct {
	Organization struct{ ID string }
	Dashboard    struct{ ID, Slug string }
}

func (s *sower) sow(ctx context.Context, seed *seed) (credentials, error) {
	operator := "Operator " + s.operatorToken
	home, err := s.organization(ctx, operator, seed)
	if err != nil {
		return credentials{}, err
	}
	user, err := s.user(ctx, operator, home.Organization.ID, seed)
	if err != nil {
		return credentials{}, err
	}
	var app struct{ APIKey string }
	if err := s.call(ctx, operator, http.MethodPost, "/operator/v1/users/"+user+"/api-keys", map[string]string{"name": "first start"}, &app); err != nil {
		return credentials{}, err
	}
	var legacy struct{ Key string }
	if err := s.call(ctx, operator, http.MethodPost, "/operator/v1/users/"+user+"/legacy-key", nil, &legacy); err != nil {
		return credentials{}, err
	}
	return credentials{
		OrganizationID: home.Organization.ID, UserID: user, Username: seed.User.Username, LegacyKey: legacy.Key, AppKey: app.APIKey,
		DashboardID: home.Dashboard.ID, DashboardSlug: home.Dashboard.Slug, DashboardURL: s.dashboards + "/d/" + home.Dashboard.Slug,
		OperatorToken: s.operatorToken, BaseURL: s.base,
	}, s.components(ctx, "ApiKey "+seed.User.Username+":"+legacy.Key, seed)
}

func (s *sower) organization(ctx context.Context, operator string, seed *seed) (made organization, err error) {
	const path = "/operator/v1/organizations"
	var list struct{ Organizations []struct{ ID, Name string } }
	if err := s.call(ctx, operator, http.MethodGet, path+"?limit=100", nil, &list); err != nil {
		return made, err
	}
	for _, o := range list.Organizations {
		if o.Name == seed.Organization.Name {
			err = s.call(ctx, operator, http.MethodGet, path+"/"+o.ID, nil, &made)
			return made, err
		}
	}
	err = s.call(ctx, operator, http.MethodPost, path, seed.Organization, &made)
	return made, err
}

func (s *sower) user(ctx context.Context, operator, organization string, seed *seed) (string, error) {
	path := "/operator/v1/organizations/" + organization + "/users"
	var list struct {
		Users []struct{ ID, Username string }
	}
	if err := s.call(ctx, operator, http.MethodGet, path, nil, &list); err != nil {
		return "", err
	}
	for _, user := range list.Users {
		if user.Username == seed.User.Username {
			return user.ID, nil
		}
	}
	var made struct{ User struct{ ID string } }
	err := s.call(ctx, operator, http.MethodPost, path, seed.User, &made)
	return made.User.ID, err
}

func (s *sower) components(ctx context.Context, legacy string, seed *seed) error {
	type named struct {
		Name string `json:"service_name"`
	}
	var found struct{ Objects []named }
	if err := s.call(ctx, legacy, http.MethodGet, "/api/v1/service/?limit=1000", nil, &found); err != nil {
		return err
	}
	for _, component := range seed.Components {
		if slices.ContainsFunc(found.Objects, func(o named) bool { return o.Name == component.Name }) {
			continue
		}
		if err := s.call(ctx, legacy, http.MethodPost, "/api/v1/service/", component, nil); err != nil {
			return err
		}
	}
	return nil
}

// ready waits until the part at the sower's address is ready.
func (s *sower) ready(ctx context.Context) error {
	return s.call(ctx, "", http.MethodGet, "/readyz", nil, nil)
}

// call sends a request and decodes the response into out, if out is not nil. It repeats a
// request that gets status 503, and a GET that gets no response, until ctx ends.
func (s *sower) call(ctx context.Context, authorization, method, path string, in, out any) error {
	for {
		status, content, err := s.send(ctx, authorization, method, path, in)
		switch {
		case err == nil && status < http.StatusBadRequest:
			if out == nil {
				return nil
			}
			return json.Unmarshal(content, out)
		case err != nil && method != http.MethodGet:
			return err
		case err == nil && status != http.StatusServiceUnavailable:
			return fmt.Errorf("%s %s returned status %d: %s", method, path, status, bytes.TrimSpace(content))
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *sower) send(ctx context.Context, authorization, method, path string, in any) (status int, content []byte, err error) {
	body := &bytes.Buffer{}
	if in != nil {
		if err := json.NewEncoder(body).Encode(in); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.dial+path, body)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, content, err
}

// firstStart creates the seed's records and writes credentials.json, whose contents it returns.
func (f *folder) firstStart(ctx context.Context, seed *seed, s *sower) ([]byte, error) {
	made, err := s.sow(ctx, seed)
	if err != nil {
		return nil, fmt.Errorf("The first start could not create the seed's records: %w", err)
	}
	content, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return nil, err
	}
	content = append(content, '\n')
	if err := f.write(credentialsFile, content); err != nil {
		return nil, err
	}
	return content, f.write(seededMark, []byte(made.OrganizationID+"\n"))
}
