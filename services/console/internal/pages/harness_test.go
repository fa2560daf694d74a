package pages

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/bellbuoy/bellbuoy/libs/boot"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/web"
)

const (
	member = "01890a5d-ac96-774b-bcce-b302099a8057"
	other  = "01890a5d-ac96-774b-bcce-b302099a8058"
	// wrongToken is a nextToken that no list accepts.
	wrongToken = "of-another-list"

	session = "01890a5d-ac96-774b-bcce-b302099a8070"
	hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'{{.}}` + "\u202e\u0000\ufffe ${x}"
)

// service plays the App interface of all services.
type service struct {
	mutex     sync.Mutex
	text      string            // text of every name
	empty     bool              // every list is empty
	all       bool              // text is also the value of each other member, except ids, times and positions
	answers   map[string]answer // by method and path; others get a usual response
	passports []passport.Passport
	bodies    map[string]string // last body by method and path
	sent      []string          // method, path and query of all requests
	matched   string            // If-Match of the last request that had one
	failing   map[string]int    // by method and path: the request with this number, from 1, gets 503
	lasting   bool              // so do the requests after it
	tokens    []string          // passports of all requests
}

// fails makes the request with this number, counted from now on, fail. If lasting is true, so do the requests after it.
func (s *service) fails(at string, number int, lasting bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.failing, s.lasting = map[string]int{at: number}, lasting
}

// change changes the service. A page may end before the service has responded to its last call.
func (s *service) change(how func(*service)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	how(s)
}

// answer sets the response to a method and path.
func (s *service) answer(at string, a answer) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.answers[at] = a
}

// forget sets the response to a method and path back to the usual one.
func (s *service) forget(at string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.answers, at)
}

// body returns the last body by method and path. A page may end before its last call has reached the service.
func (s *service) body(at string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.bodies[at]
}

// version returns the If-Match of the last request that had one.
func (s *service) version() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.matched
}

// queries returns the query of each request with the method and path.
func (s *service) queries(at string) (queries []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, sent := range s.sent {
		if query, is := strings.CutPrefix(sent, at+"?"); is {
			queries = append(queries, query)
		}
	}
	return queries
}

// sentTokens returns the passports of all requests.
func (s *service) sentTokens() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.tokens)
}

// positions counts the requests with the nextToken.
func (s *service) positions(token string) (n int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, sent := range s.sent {
		if strings.Contains(sent, "nextToken="+token) {
			n++
		}
	}
	return n
}

type answer struct {
	status int
	body   string
	again  bool
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	at := r.Method + " " + r.URL.Path
	body, _ := io.ReadAll(r.Body)
	s.bodies[at] = string(body)
	s.sent = append(s.sent, at+"?"+r.URL.RawQuery)
	s.matched = cmp.Or(r.Header.Get("If-Match"), s.matched)
	s.tokens = append(s.tokens, r.Header.Get(passport.Header))
	if left, known := s.failing[at]; known {
		s.failing[at] = left - 1
	}
	if left, known := s.failing[at]; known && (left == 0 || left < 0 && s.lasting) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if a, own := s.answers[at]; own {
		if a.again {
			w.Header().Set("Bellbuoy-Sign-In", "again")
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
		return
	}
	if r.URL.Query().Get("nextToken") == wrongToken {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error": "nextToken: must be a nextToken of this list, unchanged"}`)
		return
	}
	text := s.usual(at)
	if (at == "GET /app/dashboards" || strings.HasPrefix(at, "GET /app/subscribers/")) && r.URL.Query().Get("nextToken") == "next&token" { // an export reads all pages
		text = strings.Replace(text, `"next&token"`, "null", 1)
	}
	if s.all {
		text = filledWith(text, s.text)
	}
	_, _ = io.WriteString(w, text)
}

// kept matches the values that filledWith keeps: ids, by which pages find a record, positions in lists, and times and
// months, without which a response cannot be read.
var kept = regexp.MustCompile(`^([0-9a-f-]{36}|next&token|\d{4}-\d\d(-\d\d)?(T.*Z)?)$`)

// filledWith returns the JSON with the text as the value of each string.
func filledWith(response, text string) string {
	var fill func(value any) any
	fill = func(value any) any {
		switch value := value.(type) {
		case map[string]any:
			for name := range value {
				value[name] = fill(value[name])
			}
		case []any:
			for i := range value {
				value[i] = fill(value[i])
			}
		case string:
			if !kept.MatchString(value) {
				return text
			}
		}
		return value
	}
	var all any
	if json.Unmarshal([]byte(response), &all) != nil {
		return response
	}
	filled, _ := json.Marshal(fill(all)) // cannot fail for what was decoded
	return string(filled)
}

// usual returns a response with s.text in every text.
func (s *service) usual(at string) string {
	quoted, _ := json.Marshal(s.text)
	fill := strings.NewReplacer("TEXT", string(quoted), "MEMBER", member, "OTHER", other, "SESSION", session).Replace
	const signIn = `{"session": {"token": "SESSION:secret", "expiresAt": "2026-02-01T21:30:00.000Z", "keep": true}, "browser": "ticket", "secondFactor": null, "next": ""}`
	const user = `{"userId": "OTHER", "username": TEXT, "email": TEXT, "firstName": TEXT, "lastName": TEXT, "roles": ["admin", "event"], "allowPasswordAuth": true, "disabled": false,
		"createdAt": "2026-01-31T09:30:00.000Z", "lastLoginAt": null, "secondFactors": {"totp": true, "passkeys": 2}, "signOn": true, "hasPassword": true, "invited": true, "version": 3}`
	const entry = `{"id": "OTHER", "occurredAt": "2026-01-31T09:30:00.000Z", "actor": {"type": "user", "id": "OTHER", "email": TEXT, "keyId": ""}, "action": "user.update", "entityType": "user",
		"entityId": "OTHER", "entityName": TEXT, "changedFields": [], "before": {"name": TEXT, "roles": [TEXT]}, "after": {"name": "new", "flag": true}, "ip": "192.0.2.1", "requestId": "r-1", "surface": "console"}`
	const event = `"id": "OTHER", "type": "incident", "title": TEXT, "description": TEXT, "impactAnalysis": TEXT, "coordinator": TEXT, "status": "investigating", "severity": "minor_outage", "startAt": "2026-01-31T09:30:00.000Z", "endAt": null,
		"scheduledStartAt": null, "scheduledEndAt": null, "reminderMinutes": [], "publish": true, "affectedComponents": [{"componentId": "OTHER", "name": TEXT, "impact": "partial_outage"}, {"componentId": "MEMBER", "name": TEXT, "impact": "major_outage"}],
		"source": "app", "createdBy": {"name": TEXT}, "updatedAt": "2026-01-31T09:30:00.000Z", "version": 4`
	const component = `{"id": "OTHER", "name": TEXT, "description": TEXT, "groupName": TEXT, "hidden": true, "hiddenFromNotifications": true, "status": "partial_outage",
		"statusOverride": {"status": "partial_outage", "until": "2026-02-02T09:30:00.000Z", "countInUptime": true, "since": "2026-01-31T09:30:00.000Z", "setBy": {"name": TEXT}},
		"activeEventIds": ["OTHER"], "dashboardIds": ["OTHER"], "externalRefs": [TEXT], "checkUrl": TEXT, "publicId": TEXT, "startAt": "2026-01-31T09:30:00.000Z", "version": 4}`
	const log = `"logId": "OTHER", "sentAt": "2026-01-31T09:30:00.000Z", "deliveryId": "OTHER", "urlHash": TEXT, "urlDisplay": TEXT, "eventId": "OTHER", "eventKind": "incident.created", "status": "failed", "attempt": 7, "maxAttempts": 7,
		"httpStatus": null, "durationMs": 2300, "errorCode": TEXT, "nextAttemptAt": null, "replayOf": null`
	const template = `{"id": "OTHER", "kind": "incident", "name": TEXT, "title": TEXT, "status": "identified", "message": TEXT, "severity": "major_outage", "impact": null, "componentIds": ["OTHER"], "version": 1}`
	const subscriber = `{"id": "OTHER", "channel": "email", "dashboardId": "OTHER", "email": TEXT, "componentIds": ["MEMBER", "OTHER"], "confirmed": false, "confirmedAt": null, "paused": true, "locked": true,
		"suppressed": true, "suppressedReason": "bounce", "locale": "de", "source": "public", "createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z"}`
	const inboundKey = `"keyId": "OTHER", "name": TEXT, "createdBy": {"userId": "OTHER", "name": TEXT}, "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null, "defaults": {"publish": true, "notify": false, "severity": "minor_outage"}, "bearer": true, "openAfter": "1m30s", "resolveAfter": "0s", "minSources": 2, "expectEvery": "15m", "managementEmail": "ops@example.com", "silentSince": "2026-01-31T09:30:00.000Z"`
	const endpoint = `{"version": 3, "dashboardId": "OTHER", "dashboardName": TEXT, "urlHash": "OTHER", "urlDisplay": TEXT, "managementEmail": TEXT, "verified": false, "paused": true, "locked": true, "suppressed": true,
		"componentIds": ["OTHER"], "eventKinds": ["incident.created", "incident.resolved"], "format": "slack", "minIntervalMs": 2500, "template": {"method": "PUT", "idInPath": true, "headerNames": [TEXT, "X-Team"], "secretNames": [TEXT], "body": TEXT}, "consecutiveFailures": 12, "firstFailureAt": "2026-01-31T09:30:00.000Z", "lastSuccessAt": null, "createdAt": "2026-01-31T09:30:00.000Z"}`
	const dashboard = `{"id": "OTHER", "name": TEXT, "slug": "acme", "publicId": TEXT, "groupPublicIds": {}, "url": "https://status.example.com/d/acme", "enabled": true, "description": TEXT, "timezone": "Europe/Berlin", "locale": "en", "customDomains": [], "domains": [DOMAINS],
		"branding": {"logoUrl": TEXT, "faviconUrl": null, "primaryColor": "#1a73e8", "theme": "auto"}, "links": {"homepageUrl": null, "supportUrl": TEXT, "navigation": [{"text": TEXT, "href": TEXT}]},
		"subscriptions": {"email": true, "webhook": true}, "searchIndexing": true, "access": {"mode": "password", "passwordSet": true, "allowedIps": ["192.0.2.1"]},
		"components": [FULL], "indicator": "major", "createdAt": "2026-01-31T09:30:00.000Z", "updatedAt": "2026-01-31T09:30:00.000Z", "version": 2}`
	filled := strings.NewReplacer("FULL", `{"componentId": "OTHER", "name": TEXT, "groupName": TEXT}, {"componentId": "MEMBER", "name": TEXT, "groupName": TEXT}`,
		"DOMAINS", `{"host": "status.example.com", "verified": true, "txt": TEXT}, {"host": "other.example.com", "verified": false, "txt": TEXT}`)
	list := func(name, item string) string {
		if s.empty {
			return `{"` + name + `": [], "nextToken": null}`
		}
		return `{"` + name + `": [` + item + `], "nextToken": "next&token"}`
	}
	switch {
	case at == "GET /app/profile", at == "PATCH /app/profile":
		return fill(`{"profile": {"userId": "MEMBER", "username": TEXT, "email": TEXT, "firstName": TEXT, "lastName": TEXT, "roles": ["admin"], "organization": {"id": "ORGANIZATION", "name": TEXT, "requireTwoFactor": false}, "hasPassword": true, "allowPasswordAuth": true,
			"secondFactors": {"totp": true, "passkeys": 1, "recoveryCodes": 2}, "secondFactorRequired": false, "signOn": true, "signOnOnly": false, "preferences": {"timeZone": "Europe/Berlin", "theme": "dark", "density": "compact", "shortcuts": true}}}`)
	case at == "GET /app/users":
		return fill(list("users", user+","+strings.Replace(user, "OTHER", "MEMBER", 1)))
	case at == "POST /app/users":
		return fill(`{"user": ` + user + `, "invitation": {"url": "https://status.example.com/console/welcome?token=t", "expiresAt": "2026-02-03T09:30:00.000Z"}}`)
	case strings.HasSuffix(at, "/invitation"):
		return `{"invitation": {"url": null, "expiresAt": null}}`
	case strings.Contains(at, " /app/users/"):
		return fill(`{"user": ` + user + `}`)
	case at == "GET /app/sessions":
		return fill(list("sessions", `{"id": "SESSION", "current": true, "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": "2026-01-31T09:30:00.000Z", "expiresAt": "2026-01-31T09:30:00.000Z", "keep": true, "ip": "192.0.2.1", "userAgent": TEXT, "method": "password"},
			{"id": "OTHER", "current": false, "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": "2026-01-31T09:30:00.000Z", "expiresAt": "2026-01-31T09:30:00.000Z", "keep": true, "ip": "192.0.2.1", "userAgent": "Firefox/1 Linux", "method": "passkey"}`))
	case at == "GET /app/profile/passkeys":
		return fill(list("passkeys", `{"id": "OTHER", "name": TEXT, "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null}`))
	case at == "GET /app/api-keys":
		return fill(list("apiKeys", `{"keyId": "OTHER", "name": TEXT, "createdAt": "2026-01-31T09:30:00.000Z", "lastUsedAt": null}`))
	case at == "POST /app/api-keys":
		return fill(`{"keyId": "OTHER", "apiKey": "OTHER:secret"}`)
	case at == "PUT /app/legacy-key":
		return fill(`{"username": TEXT, "key": "secret"}`)
	case at == "GET /app/legacy-key":
		return `{"legacyKey": null}`
	case strings.HasPrefix(at, "GET /app/organization/sign-on"):
		if s.empty {
			return `{"signOn": null}`
		}
		return fill(`{"signOn": {"name": "acme", "label": TEXT, "issuer": TEXT, "clientId": TEXT, "enforced": false, "createMembers": true, "defaultRoles": ["event"], "rolesClaim": TEXT, "roleMap": {"a": ["admin", "event"]}, "redirectUrl": TEXT}}`)
	case strings.HasSuffix(at, "/sign-on/test"):
		return fill(`{"ok": false, "error": TEXT}`)
	case strings.HasSuffix(at, "/app/organization"):
		return fill(`{"organization": {"id": "OTHER", "name": TEXT, "plan": "team", "limits": {"maxDashboards": 50, "uniqueEndpoints": null}, "requireTwoFactor": true, "version": 2}}`)
	case strings.HasSuffix(at, "/replay"):
		return `{"deliveryId": "d"}`
	case at == "GET /app/notifications/counts":
		if s.empty {
			return `{"counts": {}}`
		}
		return `{"counts": {"email": {"delivered": 1204, "retrying": 2, "failed": 1, "skipped": 3, "suppressed": 4}, "sms": {"delivered": 0, "retrying": 0, "failed": 0, "skipped": 0, "suppressed": 0}}}`
	case at == "GET /app/integrations/counts":
		if s.empty {
			return `{"counts": {}}`
		}
		return `{"counts": {"webhook": {"failing": 1, "paused": 0, "suppressed": 1}}}`
	case at == "GET /app/integrations/webhooks/inbound/keys":
		return fill(list("keys", "{"+inboundKey+`, "revokedAt": null}, {`+strings.Replace(inboundKey, "OTHER", "MEMBER", 1)+`, "revokedAt": "2026-01-31T09:30:00.000Z"}`))
	case at == "POST /app/integrations/webhooks/inbound/keys":
		return fill(`{"key": {` + inboundKey + `, "secret": "whsec_c2VjcmV0"}}`)
	case strings.HasPrefix(at, "PATCH /app/integrations/webhooks/inbound/keys/"):
		return fill(`{"key": {` + inboundKey + `, "revokedAt": null}}`)
	case at == "GET /app/integrations/webhooks/inbound/problems":
		return fill(list("problems", `{"keyId": "OTHER", "externalId": TEXT, "state": "waiting", "sources": [TEXT], "since": "2026-01-31T09:30:00.000Z", "dueAt": "2026-01-31T09:32:00.000Z", "eventId": null},
			{"keyId": "MEMBER", "externalId": TEXT, "state": "open", "sources": ["default"], "since": "2026-01-31T09:30:00.000Z", "dueAt": null, "eventId": "OTHER"}`))
	case at == "GET /app/integrations/webhooks/inbound/logs":
		return fill(list("logs", `{"logId": "OTHER", "receivedAt": "2026-01-31T09:30:00.000Z", "keyId": "OTHER", "remoteIp": "192.0.2.1", "action": "trigger", "externalId": TEXT, "eventId": "OTHER", "result": "created", "httpStatus": 200, "error": null},
			{"logId": "MEMBER", "receivedAt": "2026-01-31T09:30:00.000Z", "keyId": "MEMBER", "remoteIp": "192.0.2.1", "format": "gatus", "source": "frankfurt", "action": null, "externalId": null, "eventId": null, "result": null, "httpStatus": 403, "error": TEXT}`))
	case at == "GET /app/integrations/webhooks/outbound/templates":
		return fill(`{"templates": [{"name": "matrix", "template": {"method": "PUT", "idInPath": true, "headers": {"Authorization": TEXT}, "secrets": {"key": TEXT}, "body": TEXT}}, {"name": "pagerduty", "template": {"method": "POST", "idInPath": false, "headers": {}, "secrets": {"routing_key": TEXT}, "body": TEXT}}]}`)
	case strings.HasPrefix(at, "GET /app/integrations/") && strings.HasSuffix(at, "/suppression"):
		return fill(list("entries", `{"kind": "webhook", "urlHash": "OTHER", "urlDisplay": TEXT, "reason": "failures", "consecutiveFailures": 10, "firstFailureAt": "2026-01-31T09:30:00.000Z",
			"suppressedAt": "2026-01-31T09:30:00.000Z", "lastHttpStatus": 500, "lastError": TEXT, "dashboards": [{"id": "OTHER", "name": TEXT}, {"id": "MEMBER", "name": TEXT}]}`))
	case strings.HasPrefix(at, "GET /app/integrations/"):
		return strings.Replace(fill(list("endpoints", endpoint+","+strings.Replace(endpoint, `"dashboardId": "OTHER"`, `"dashboardId": "MEMBER"`, 1))), `"nextToken"`, `"usage": {"uniqueEndpoints": 3, "limit": 25}, "nextToken"`, 1)
	case strings.HasSuffix(at, "/endpoints/test"):
		return fill(`{"deliveryId": "OTHER"}`)
	case strings.HasSuffix(at, "/endpoints"):
		return fill(`{"endpoint": ` + strings.Replace(endpoint, `"urlDisplay"`, `"secret": "whsec_secret", "urlDisplay"`, 1) + `}`)
	case at == "GET /app/notifications/channels":
		return fill(`{"channels": {"email": {"configured": true, "server": {"host": TEXT, "port": 587, "security": "startTLSIfOffered"}, "from": TEXT, "missing": null}, "sms": {"configured": false, "server": null, "from": null, "missing": TEXT}, "whatsapp": {"configured": false, "from": null, "missing": null}}}`)
	case strings.HasPrefix(at, "GET /app/setup/"):
		if s.empty {
			return fill(`{"service": {"version": TEXT, "database": {"reachable": true, "engine": "mongodb"}, "kafka": {"reachable": true}, "outbox": {"messages": 0, "more": false, "oldestAt": null}, "lastBackupAt": null}}`)
		}
		return fill(`{"service": {"version": TEXT, "database": {"reachable": true, "engine": "sqlite"}, "kafka": {"reachable": true}, "outbox": {"messages": 10000, "more": true, "oldestAt": "2026-01-31T09:30:00.000Z"}, "lastBackupAt": "2026-01-31T09:30:00.000Z"}}`)
	case strings.HasPrefix(at, "POST /app/notifications/") && strings.HasSuffix(at, "/test"):
		return fill(`{"deliveryId": "OTHER"}`)
	case strings.HasSuffix(at, "/counts") && strings.Contains(at, "/subscribers/"):
		return `{"counts": {"total": 1204, "confirmed": 1100, "unconfirmed": 104, "paused": 3, "suppressed": 2}}`
	case strings.HasPrefix(at, "POST /app/subscribers/") && strings.HasSuffix(at, "/import"):
		return s.imported(at)
	case strings.HasSuffix(at, "/resend-confirmation"):
		return `{"deliveryId": "d"}`
	case strings.HasPrefix(at, "GET /app/subscribers/") && strings.Count(at, "/") == 3:
		return fill(list("subscribers", subscriber+","+strings.Replace(subscriber, `["MEMBER", "OTHER"]`, "null", 1)))
	case strings.Contains(at, " /app/subscribers/"):
		return fill(`{"subscriber": ` + subscriber + `}`)
	case strings.HasSuffix(at, "/logs"):
		return fill(list("logs", "{"+log+"}"))
	case strings.HasPrefix(at, "GET /app/notifications/"):
		if s.empty {
			return fill(`{"log": {` + log + `, "request": null, "response": null, "attempts": []}}`)
		}
		return fill(`{"log": {` + log + `, "request": {"method": "POST", "urlDisplay": TEXT, "headers": {"Webhook-Signature": TEXT}, "body": TEXT}, "response": {"httpStatus": 500, "headers": {"Date": TEXT}, "body": TEXT},
			"attempts": [{"logId": "MEMBER", "at": "2026-01-31T09:29:00.000Z", "durationMs": 12, "httpStatus": 500, "errorCode": TEXT}, {"logId": "OTHER", "at": "2026-01-31T09:30:00.000Z", "durationMs": 2300, "httpStatus": null, "errorCode": "timeout"}]}}`)
	case at == "POST /app/notifications/why":
		const none = `"since": null, "suppression": null, "log": null, "attempts": 0, "nextAttemptAt": null, "replays": []`
		if s.empty {
			return `{"why": {"messages": [], "more": false, "keptFrom": "2026-01-02T09:30:00.000Z", "older": true}}`
		}
		return fill(`{"why": {"messages": [
			{"eventKind": "incident.resolved", "occurredAt": "2026-01-31T09:31:00.000Z", "statusId": "OTHER", "results": [
				{"dashboardId": "OTHER", "recipientId": "OTHER", "status": "failed", "code": "http_5xx", "text": TEXT, "asOfToday": false, "since": null, "suppression": {"reason": "bounce", "since": "2026-01-31T09:30:00.000Z"},
				"log": {"logId": "OTHER", "sentAt": "2026-01-31T09:30:00.000Z", "status": "failed"}, "attempts": 7, "nextAttemptAt": "2026-01-31T09:35:00.000Z", "replays": [{"logId": "MEMBER", "sentAt": "2026-01-31T09:30:00.000Z", "status": "retrying"}]},
				{"dashboardId": "MEMBER", "recipientId": "OTHER", "status": "none", "code": "paused", "text": TEXT, "asOfToday": true, ` + none + `}]},
			{"eventKind": "incident.created", "occurredAt": "2026-01-31T09:30:00.000Z", "statusId": null, "results": [
				{"dashboardId": null, "recipientId": null, "status": "none", "code": "notify_off", "text": TEXT, "asOfToday": false, ` + none + `}]}],
			"more": true, "keptFrom": "2026-01-02T09:30:00.000Z", "older": true}}`)
	case at == "POST /app/notifications/audience":
		return `{"audience": {"email": {"recipients": 1204, "more": false}, "webhook": {"recipients": 3, "more": false}, "sms": {"recipients": 10000, "more": true}, "teams": {"recipients": 0, "more": false}}}`
	case strings.HasSuffix(at, "/deliveries"):
		return `{"deliveries": {"planned": 7, "delivered": 3, "retrying": 1, "failed": 1, "skipped": 1, "suppressed": 1, "channels": {"email": {"planned": 7, "delivered": 3, "retrying": 1, "failed": 1, "skipped": 1, "suppressed": 1}}}}`
	case at == "GET /app/reports/uptime":
		if s.empty {
			return `{"report": {"month": "2026-02", "timezone": "UTC", "rangeStart": "2026-02-01T00:00:00.000Z", "rangeEnd": "2026-02-01T09:30:00.000Z", "partial": true, "overallUptimePercent": null, "components": [], "partialOutageWeight": 0.3, "formula": "f"}}`
		}
		return fill(`{"report": {"month": "2026-02", "timezone": "Europe/Berlin", "rangeStart": "2026-01-31T23:00:00.000Z", "rangeEnd": "2026-02-01T09:30:00.000Z", "partial": true, "overallUptimePercent": 99.993729, "components": [
			{"componentId": "OTHER", "name": TEXT, "uptimePercent": 99.993729, "downtimeSeconds": 168, "majorOutageSeconds": 168, "partialOutageSeconds": 0, "degradedSeconds": 60, "maintenanceSeconds": 0, "measuredSeconds": 2678400,
			"days": [{"date": "2026-02-01", "uptimePercent": null, "worstStatus": null}, {"date": "2026-02-02", "uptimePercent": 99.8, "worstStatus": "major_outage"}], "eventIds": ["OTHER", "MEMBER"]}],
			"partialOutageWeight": 0.3, "formula": "uptime = 1 - (major + 0.3 * partial) / (measured - maintenance)"}}`)
	case strings.HasPrefix(at, "GET /app/events/"), at == "POST /app/events", strings.HasPrefix(at, "PATCH /app/events/"):
		if s.empty {
			return fill(`{"event": {` + event + `, "timeline": [], "notes": [], "postMortem": null}}`)
		}
		return fill(`{"event": {` + event + `, "timeline": [{"statusId": "OTHER", "status": "investigating", "previousStatus": null, "message": TEXT, "timestamp": "2026-01-31T09:30:00.000Z", "author": {"name": TEXT}, "notified": true, "editedAt": "2026-01-31T09:30:00.000Z"}],
			"notes": [{"noteId": "OTHER", "note": TEXT, "author": {"name": TEXT}, "createdAt": "2026-01-31T09:30:00.000Z", "editedAt": null}],
			"postMortem": {"summary": TEXT, "rootCause": TEXT, "impact": null, "resolution": null, "lessonsLearned": null, "actionItems": [{"text": TEXT, "owner": TEXT, "dueDate": "2026-03-01", "done": true}], "published": true, "updatedAt": "2026-01-31T09:30:00.000Z"}}}`)
	case at == "GET /app/events":
		return fill(list("events", "{"+event+"}"))
	case at == "GET /app/components":
		return fill(list("components", component+","+strings.Replace(component, "OTHER", "MEMBER", 1)))
	case strings.HasSuffix(at, "/app/components/counts"):
		return `{"counts": {"total": 4, "operational": 1, "underMaintenance": 0, "degradedPerformance": 1, "partialOutage": 1, "majorOutage": 1}}`
	case strings.HasPrefix(at, "GET /app/components/"), strings.HasPrefix(at, "PATCH /app/components/"), at == "POST /app/components":
		return fill(`{"component": ` + component + `}`)
	case at == "GET /app/templates":
		return fill(list("templates", template))
	case strings.HasPrefix(at, "GET /app/templates/"):
		return fill(`{"template": ` + template + `}`)
	case strings.HasSuffix(at, "/preview"):
		return `{"html": "<!doctype html><title>Acme</title>", "policy": "default-src 'none'; style-src 'sha256-x'; base-uri 'none'; frame-ancestors 'none'"}`
	case strings.HasSuffix(at, "/content"):
		return fill(`{"content": {"modules": {"announcement": true, "components": true}, "order": ["announcement", "overallStatus", "activeIncidents", "activeMaintenance", "components", "uptimeHistory", "upcomingMaintenance", "eventHistory", "subscribe", "about"],
			"uptime": {"windowDays": 90, "showPercentage": true, "precision": 2, "partialOutageWeight": 0.3, "historyDays": 14}, "announcement": TEXT}}`)
	case strings.Contains(at, " /app/dashboards/"), at == "POST /app/dashboards":
		if s.empty {
			return fill(`{"dashboard": ` + strings.NewReplacer("FULL", "", "DOMAINS", "").Replace(dashboard) + `}`)
		}
		return fill(`{"dashboard": ` + filled.Replace(dashboard) + `}`)
	case at == "GET /app/dashboards":
		dashboard := filled.Replace(dashboard)
		return fill(list("dashboards", dashboard+","+strings.Replace(dashboard, "OTHER", "MEMBER", 1)))
	case at == "GET /app/audit":
		return fill(list("entries", entry))
	case at == "GET /app/sign-in/providers":
		return fill(`{"provider": {"name": "acme", "label": TEXT}}`)
	case at == "POST /app/sign-in/sso":
		return `{"url": "https://login.example.com/authorize?x=1", "state": "state"}`
	case at == "POST /app/invitations/read":
		return fill(`{"invitation": {"kind": "invitation", "username": TEXT, "email": TEXT, "firstName": TEXT, "lastName": TEXT, "organization": {"name": TEXT}, "expiresAt": "2026-02-03T09:30:00.000Z"}}`)
	case at == "POST /app/profile/totp":
		return fill(`{"secret": "JBSWY3DPEHPK3PXP", "url": "otpauth://totp/Bellbuoy:ada?secret=JBSWY3DPEHPK3PXP&issuer=Bellbuoy"}`)
	case at == "PUT /app/profile/totp", at == "POST /app/profile/recovery-codes":
		return `{"recoveryCodes": ["aaaa-bbbb", "cccc-dddd"]}`
	case strings.Contains(at, "/options"):
		return `{"ticket": "t", "options": {"publicKey": {}}}`
	case strings.HasPrefix(at, "POST /app/sign-in"), strings.HasPrefix(at, "POST /app/invitations"):
		return fill(signIn)
	}
	return `{}`
}

// browser sends requests to the console, as the gateway forwards them.
type browser struct {
	t       *testing.T
	app     *service
	engine  *gin.Engine
	pages   []route
	signer  *passport.Signer
	member  passport.Passport // passport of the requests
	cookies map[string]string
	// download sends the requests to the products of sources.
	download *http.Client
}

func open(t *testing.T, text string) *browser {
	t.Helper()
	app := &service{text: text, answers: map[string]answer{}, failing: map[string]int{}, bodies: map[string]string{}}
	server := httptest.NewServer(app)
	t.Cleanup(server.Close)
	now := func() time.Time { return time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC) }
	signer := passport.NewSigner(strings.Repeat("s", 32), now)
	process := boot.Process{
		Log: slog.New(slog.DiscardHandler), Tracer: noop.NewTracerProvider(), Propagator: propagation.TraceContext{}, Metrics: prometheus.NewRegistry(), Now: now,
	}
	engine, download := web.NewEngine("console", process, signer), &http.Client{}
	if err := Mount(engine, Options{
		Services: map[string]string{"identity": server.URL, "events": server.URL, "delivery": server.URL, "subscribers": server.URL, "integrations": server.URL}, Signer: signer, Process: process, Download: download,
		Links:         boot.Links{ConsoleBaseURL: "https://console.example.com", AppBaseURL: "https://app.example.com", DashboardBaseURL: "https://status.example.com", LegacyBaseURL: "https://app.example.com"},
		SetupPatience: time.Minute, // a slow test machine is not a service that does not respond
	}); err != nil {
		t.Fatal(err)
	}
	return &browser{t, app, engine, (&pages{}).table(), signer, passport.Passport{
		Surface: passport.Console, Organization: "o", User: member, Session: session, Roles: []string{"admin"}, IP: "192.0.2.1", Features: passport.Features{Integrations: true, UptimeReports: true},
	}, map[string]string{}, download}
}

// page is a response of the console.
type response struct {
	status int
	header http.Header
	text   string
	size   int // bytes that were sent
}

func (b *browser) send(method, path string, form url.Values, header ...string) response {
	b.t.Helper()
	if form != nil {
		return b.sendBody(method, path, strings.NewReader(form.Encode()), "application/x-www-form-urlencoded", header...)
	}
	return b.sendBody(method, path, nil, "", header...)
}

// sendBody is send with a body of a media type.
func (b *browser) sendBody(method, path string, body io.Reader, media string, header ...string) response {
	b.t.Helper()
	r := httptest.NewRequest(method, path, body)
	p := b.member
	p.Audience, p.Surface = "console", passport.Console
	r.Header.Set(passport.Header, b.signer.Sign(p))
	r.Header.Set("X-Request-Id", "request-1")
	r.Header.Set("Accept-Encoding", "gzip")
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	recorder := httptest.NewRecorder()
	b.engine.ServeHTTP(recorder, r)
	got := recorder.Result()
	for _, cookie := range got.Cookies() {
		if b.cookies[cookie.Name] = cookie.Value; cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		}
	}
	sent := recorder.Body.Bytes()
	text := sent
	if got.Header.Get("Content-Encoding") == "gzip" {
		reader, err := gzip.NewReader(strings.NewReader(string(sent)))
		if err != nil {
			b.t.Fatal(err)
		}
		if text, err = io.ReadAll(reader); err != nil {
			b.t.Fatal(err)
		}
	}
	return response{got.StatusCode, got.Header, string(text), len(sent)}
}

func (b *browser) get(path string) response { return b.send(get, path, nil) }

func (b *browser) post(path string, fields ...string) response {
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.send(post, path, form)
}

// expect fails unless the response has the status and contains the texts.
func (b *browser) expect(got response, status int, texts ...string) {
	b.t.Helper()
	if got.status != status {
		b.t.Errorf("the status is %d, not %d: %s", got.status, status, got.text)
	}
	for _, text := range texts {
		if !strings.Contains(got.text, text) {
			b.t.Errorf("the page lacks %q: %s", text, got.text)
		}
	}
}

// address returns the path of a route with ids in it.
func address(r route) string {
	return root + regexp.MustCompile(`:[a-z]+`).ReplaceAllString(r.path, other)
}

func (r route) String() string { return fmt.Sprintf("%s %s", r.method, r.path) }
