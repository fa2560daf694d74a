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

// sow creates the records. After the first error it sends no more requests.
func (s *sower) sow(ctx context.Context, seed *seed) (credentials, error) {
	var failure error
	authorization := "Operator " + s.operatorToken
	call := func(method, path string, in, out any) {
		if failure == nil {
			failure = s.call(ctx, authorization, method, path, in, out)
		}
	}
	const organizations = "/operator/v1/organizations"
	type record struct{ ID, Name, Username, Slug string }
	var found struct{ Organizations, Users []record }
	var home struct{ Organization, Dashboard record }
	call(http.MethodGet, organizations+"?limit=100", nil, &found)
	if i := slices.IndexFunc(found.Organizations, func(o record) bool { return o.Name == seed.Organization.Name }); i >= 0 {
		call(http.MethodGet, organizations+"/"+found.Organizations[i].ID, nil, &home)
	} else {
		call(http.MethodPost, organizations, seed.Organization, &home)
	}

	users := organizations + "/" + home.Organization.ID + "/users"
	var made struct{ User record }
	call(http.MethodGet, users, nil, &found)
	if i := slices.IndexFunc(found.Users, func(u record) bool { return u.Username == seed.User.Username }); i >= 0 {
		made.User = found.Users[i]
	} else {
		call(http.MethodPost, users, seed.User, &made)
	}

	var app struct{ APIKey string }
	call(http.MethodPost, "/operator/v1/users/"+made.User.ID+"/api-keys", map[string]string{"name": "first start"}, &app)
	var legacy struct{ Key string }
	call(http.MethodPost, "/operator/v1/users/"+made.User.ID+"/legacy-key", nil, &legacy)

	authorization = "ApiKey " + seed.User.Username + ":" + legacy.Key
	type named struct {
		Name string `json:"service_name"`
	}
	var list struct{ Objects []named }
	call(http.MethodGet, "/api/v1/service/?limit=1000", nil, &list)
	for _, component := range seed.Components {
		if !slices.Contains(list.Objects, named{component.Name}) {
			call(http.MethodPost, "/api/v1/service/", component, nil)
		}
	}
	return credentials{
		OrganizationID: home.Organization.ID, UserID: made.User.ID, Username: seed.User.Username, LegacyKey: legacy.Key, AppKey: app.APIKey,
		DashboardID: home.Dashboard.ID, DashboardSlug: home.Dashboard.Slug, DashboardURL: s.dashboards + "/d/" + home.Dashboard.Slug,
		OperatorToken: s.operatorToken, BaseURL: s.base,
	}, failure
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
