package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// editedRecord is a record that forms of the console change.
type editedRecord struct {
	name string
	// path of the record on the App interface. Each member of the record has another value than in the record at plain, which
	// has only the required members. An empty plain checks no member.
	path, plain string
	// unset are the members that have the same value in both records, and why. Several members are separated by blanks.
	unset map[string]string
	// forms are the pages with the forms that change the record. A form with another action than its page has the action behind
	// the page.
	forms []string
}

// A form that is sent as the browser shows it changes nothing. The test sends each form of the console that changes a record,
// for a record in which no member has its default value. A new member of a record fails the test until the record has a value
// for it here, or the test names why not.
func TestAFormThatIsSentUnchangedChangesNothing(t *testing.T) {
	t.Parallel()
	ada, of, base := member(t)
	ada.open("/profile", http.StatusOK).fill("/profile", typed("firstName", "Ada", "lastName", "Lovelace", "timeZone", "America/St_Johns", "theme", "dark", "density", "compact", "shortcuts", ""), http.StatusOK)
	plain := provision(t, base, "Plain", "plain", "admin")
	records := editedRecords(t, of, plain)
	sent := []string{"/sign-on"}
	for _, r := range records {
		t.Run(r.name, func(t *testing.T) {
			ada.t = t
			before := leavesOf(t, of, r.path)
			if r.plain != "" {
				r.expectNoDefault(t, before, leavesOf(t, plain, r.plain))
			}
			for _, form := range r.forms {
				page, action, other := strings.Cut(form, " ")
				if !other {
					action = page
				}
				sent = append(sent, action)
				ada.open(page, http.StatusOK).fill(action, nil, http.StatusOK)
				if !regexp.MustCompile(`Saved\.|is corrected\.`).MatchString(ada.words()) {
					t.Errorf("the form of %s is not saved: %s", page, ada.words())
				}
				after := leavesOf(t, of, r.path)
				members := maps.Clone(before)
				maps.Copy(members, after)
				for _, member := range slices.Sorted(maps.Keys(members)) {
					if before[member] != after[member] {
						t.Errorf("the form of %s changes %s from %q to %q", page, member, before[member], after[member])
					}
				}
				before = after
			}
		})
	}
	t.Run("single sign-on", func(t *testing.T) { // no key reads it
		ada.t = t
		ada.open("/sign-on", http.StatusOK).fill("/sign-on", typed("name", "unchanged", "label", "Acme login", "issuer", "https://login.example.com", "clientId", "bellbuoy", "clientSecret", "s3cret",
			"createMembers", "on", "defaultRoles", "event", "rolesClaim", "groups", "roleMap", "a = b = admin, event", "enforced", "on", "keepPassword", "on"), http.StatusOK).expect("/sign-on", "Saved.")
		_, before := ada.form("/sign-on")
		for name, values := range before {
			if name != "clientSecret" && values[0] == "" {
				t.Errorf("%s has no value", name)
			}
		}
		ada.fill("/sign-on", nil, http.StatusOK).expect("/sign-on", "Saved.")
		if _, after := ada.form("/sign-on"); !maps.EqualFunc(before, after, slices.Equal) {
			t.Errorf("the form changes %v to %v", before, after)
		}
	})
	ada.t = t
	expectEveryForm(t, sent)
}

// withoutRecord matches the forms that do not show the present values of a record.
var withoutRecord = regexp.MustCompile(`^/(sign-in|sign-out|welcome|forgotten|parts|import|setup|deliveries|inbound$|profile/keys|profile/legacy-key|profile/security)|` +
	`/(new|new/maintenance|new/update|import|delete|confirm|clear|pause|resume|lock|unlock|resend|test|secret|publish|withdraw|timeline|notes|preview|disable|enable|invitation|second-factors|revoke)$|^/events/:id/failed/`)

// expectEveryForm fails the test unless the actions are those of all forms that change a record.
func expectEveryForm(t *testing.T, actions []string) {
	t.Helper()
	for _, page := range consolePages(t) {
		form := regexp.MustCompile("^" + regexp.MustCompile(`:[a-z]+`).ReplaceAllString(page.path, `[^/]+`) + "$")
		if page.method == http.MethodPost && !withoutRecord.MatchString(page.path) && !slices.ContainsFunc(actions, form.MatchString) {
			t.Errorf("no record for the form of %s", page.path)
		}
	}
}

// leavesOf returns the members of a record that are no objects and no lists, by their paths. It leaves out the members that
// each write changes, or that change by themselves.
func leavesOf(t *testing.T, of credentials, path string) map[string]string {
	t.Helper()
	var record any
	send(t, http.MethodGet, of.BaseURL+path, of.app(), nil).expect(t, http.StatusOK).into(t, &record)
	leaves := map[string]string{}
	var visit func(path string, value any)
	visit = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, inner := range value {
				visit(path+"."+name, inner)
			}
			if len(value) == 0 {
				leaves[path] = "{}"
			}
		case []any:
			for i, inner := range value {
				visit(fmt.Sprint(path, "[", i, "]"), inner)
			}
			if len(value) == 0 {
				leaves[path] = "[]"
			}
		default:
			if name := path[strings.LastIndex(path, ".")+1:]; !slices.Contains([]string{"version", "updatedAt", "lastUsedAt", "indicator"}, name) {
				leaves[path] = fmt.Sprint(value)
			}
		}
	}
	visit("", record)
	return leaves
}

// expectNoDefault fails the test unless unset are the members of full that have the same value in plain, or that have no value
// and are not in plain. Of several records in a list, one must have another value.
func (r editedRecord) expectNoDefault(t *testing.T, full, plain map[string]string) {
	t.Helper()
	isDefault := map[string]bool{}
	for path, value := range full {
		other, both := plain[path]
		parts := strings.Split(regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, ""), ".")
		name := strings.Join(parts[min(2, len(parts)-1):], ".") // without the name of the record
		is := value == other && both || !both && slices.Contains([]string{"<nil>", "false", "0", "", "[]", "{}"}, value)
		before, seen := isDefault[name]
		isDefault[name] = is && (before || !seen)
	}
	for names := range r.unset {
		for name := range strings.FieldsSeq(names) {
			if !isDefault[name] {
				t.Errorf("%s has no default. Remove it from unset", name)
			}
			delete(isDefault, name)
		}
	}
	for name, is := range isDefault {
		if is {
			t.Errorf("%s has its default. Give it another value, or name it in unset", name)
		}
	}
}

const (
	ofOthers = "the forms do not set it"
	ofKind   = "only for another kind of the record"
)

// editedRecords creates the records, those of full with values for all members.
func editedRecords(t *testing.T, full, plain credentials) []editedRecord {
	t.Helper()
	write := func(of credentials, method, path string, body map[string]any) answer {
		t.Helper()
		got := send(t, method, of.BaseURL+path, of.app(), body)
		if got.status >= http.StatusBadRequest {
			t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
		}
		return got
	}
	// both creates a record in each organization, and returns the values of their member id. Only full has the members of more.
	both := func(path, id string, body, more func(of credentials) map[string]any) (string, string) {
		t.Helper()
		var ids []string
		for _, of := range []credentials{full, plain} {
			in := body(of)
			if of == full {
				maps.Copy(in, more(of))
			}
			var made map[string]map[string]any // the record by its name
			write(of, http.MethodPost, path, in).into(t, &made)
			for _, record := range made {
				ids = append(ids, fmt.Sprint(record[id]))
			}
		}
		return ids[0], ids[1]
	}
	only := func(body map[string]any) func(credentials) map[string]any {
		return func(credentials) map[string]any { return maps.Clone(body) }
	}
	now := time.Now().UTC().Truncate(time.Minute).Add(17 * time.Second) // fields for times have no seconds
	at := func(in time.Duration) string { return now.Add(in).Format(time.RFC3339) }
	const day = 24 * time.Hour
	rich := func(text string) string {
		return "<p>" + text + " <strong>bold</strong> <a href=\"https://example.com/a?b=c&amp;d=e\">link</a></p><ul><li>one</li><li>two</li></ul><p>* no list, no _notation_</p>"
	}

	var all []editedRecord
	add := func(r editedRecord) { all = append(all, r) }

	add(editedRecord{name: "profile", path: "/app/profile", plain: "/app/profile", forms: []string{"/profile"}, unset: map[string]string{
		"apiKey.name capabilities.uptimeReports enabledFeatures.api enabledFeatures.integrations organization.requireTwoFactor secondFactorRequired secondFactors.passkeys secondFactors.recoveryCodes secondFactors.totp session signOn signOnOnly": ofOthers,
	}})
	add(editedRecord{name: "member", path: "/app/users/" + full.UserID, plain: "/app/users/" + plain.UserID, forms: []string{"/users/" + full.UserID}, unset: map[string]string{
		"disabled invited secondFactors.passkeys secondFactors.totp signOn": ofOthers,
	}})
	add(editedRecord{name: "organization", path: "/app/organization", plain: "/app/organization", forms: []string{"/organization"}, unset: map[string]string{
		"capabilities.uptimeReports enabledFeatures.api enabledFeatures.integrations limits.appPerMinute limits.legacyPerHour limits.maxDashboards limits.uniqueEndpoints plan": ofOthers,
		"requireTwoFactor": "the member of the test has no second factor, and would lose the roles",
	}})

	component, plainComponent := both("/app/components", "id", only(map[string]any{"name": "Component"}), only(map[string]any{
		"name": "Checkout", "groupName": "Shop", "description": "Takes orders.", "hidden": true, "hiddenFromNotifications": true, "position": 7,
		"externalRefs": []string{"checkout prod", "checkout-2"}, "checkUrl": "https://shop.example.com/health", "publicId": "b13yz5g2cw10", "startAt": at(-90 * day),
	}))
	write(full, http.MethodPatch, "/app/components/"+component, map[string]any{"statusOverride": map[string]any{"status": "degraded_performance", "until": at(30 * day), "countInUptime": true}})
	page := "/components/" + component
	add(editedRecord{name: "component", path: "/app" + page, plain: "/app/components/" + plainComponent, forms: []string{page, page + " " + page + "/state"}, unset: map[string]string{
		"activeEventIds status": ofOthers,
	}})

	dashboard, plainDashboard := both("/app/dashboards", "id", only(map[string]any{"name": "Dashboard"}), func(of credentials) map[string]any {
		return map[string]any{
			"name": "Acme at sea", "enabled": false, "description": "Ships.", "timezone": "Asia/Kathmandu", "locale": "de", "customDomains": []string{of.DashboardSlug + ".example.com", of.DashboardSlug + ".example.org"},
			"branding":       map[string]any{"logoUrl": "https://example.com/logo.svg", "faviconUrl": "https://example.com/favicon.ico", "primaryColor": "#1A73e8", "theme": "dark"},
			"links":          map[string]any{"homepageUrl": "https://example.com", "supportUrl": "mailto:help@example.com", "navigation": []any{map[string]any{"text": "All docs", "href": "https://docs.example.com"}, map[string]any{"text": "Shop", "href": "https://shop.example.com"}}},
			"subscriptions":  map[string]any{"email": false, "sms": true, "whatsapp": true, "webhook": true, "teams": true, "gchat": true, "slack": true, "discord": true},
			"searchIndexing": false, "access": map[string]any{"mode": "ipAllowlist", "allowedIps": []string{"192.0.2.0/24", "2001:db8::1"}},
			"publicId": "kctbh9vrtdwd", "groupPublicIds": map[string]any{"Own group": "4hlkm5xd7zrw", "Shop": "4hlkm5xd7zrx"},
			"components": []any{map[string]any{"componentId": component, "groupName": "Own group"}},
		}
	})
	write(full, http.MethodPut, "/app/dashboards/"+dashboard+"/content", map[string]any{
		"modules": map[string]any{"announcement": false, "overallStatus": false, "activeIncidents": false, "activeMaintenance": false, "components": false, "uptimeHistory": false, "upcomingMaintenance": false, "eventHistory": false, "subscribe": false, "about": false},
		"order":   []string{"about", "subscribe", "eventHistory", "upcomingMaintenance", "uptimeHistory", "components", "activeMaintenance", "activeIncidents", "overallStatus", "announcement"},
		"uptime":  map[string]any{"windowDays": 30, "showPercentage": false, "precision": 3, "partialOutageWeight": 0.55, "historyDays": 30}, "announcement": rich("We move."),
	})
	page = "/dashboards/" + dashboard
	add(editedRecord{name: "dashboard", path: "/app" + page, plain: "/app/dashboards/" + plainDashboard, forms: []string{page, page + "/components", page + "/access", page + "/domains", page + "/subscriptions"}, unset: map[string]string{
		"components.position domains.txt": ofOthers,
		"access.passwordSet":              "the dashboard with a password has one",
	}})
	add(editedRecord{name: "content", path: "/app" + page + "/content", plain: "/app/dashboards/" + plainDashboard + "/content", forms: []string{page + "/content"}})
	write(full, http.MethodPatch, "/app/dashboards/"+full.DashboardID, map[string]any{"access": map[string]any{"mode": "password", "password": "a watch over the harbour", "allowedIps": []string{"192.0.2.7"}}})
	add(editedRecord{name: "dashboard with a password", path: "/app/dashboards/" + full.DashboardID, forms: []string{"/dashboards/" + full.DashboardID + "/access"}})

	texts := map[string]any{
		"description": rich("Some payments fail."), "impactAnalysis": rich("Orders are lost."), "coordinator": "Grace", "hiddenFromDashboard": true, "hiddenFromUptimeReports": true, "externalId": "checkout-1",
		"notify": map[string]any{"email": true}, "notifyLater": map[string]any{"sms": true, "webhook": true}, "publish": true, "severity": "major_outage",
	}
	affects := func(impact string) []any { return []any{map[string]any{"componentId": component, "impact": impact}} }
	event := func(body map[string]any) func(credentials) map[string]any {
		return func(of credentials) map[string]any {
			in := maps.Clone(body)
			in["affectedComponents"] = []any{map[string]any{"componentId": map[credentials]string{full: component, plain: plainComponent}[of]}}
			return in
		}
	}
	withTexts := func(more map[string]any) func(credentials) map[string]any {
		in := maps.Clone(texts)
		maps.Copy(in, more)
		return only(in)
	}
	incident, plainIncident := both("/app/events", "id", event(map[string]any{"type": "incident", "title": "Incident", "status": "investigating"}), withTexts(map[string]any{
		"title": "Checkout fails", "status": "resolved", "startAt": at(-3 * time.Hour), "endAt": at(-2 * time.Hour), "affectedComponents": affects("partial_outage"), "initialTimelineMessage": rich("A certificate has expired."),
	}))
	page = "/events/" + incident
	var note struct{ Note struct{ NoteID string } }
	write(full, http.MethodPost, "/app"+page+"/notes", map[string]any{"note": "The vendor\n\n  has been called."}).into(t, &note)
	write(full, http.MethodPut, "/app"+page+"/post-mortem", map[string]any{
		"summary": rich("Summary"), "rootCause": rich("Cause"), "impact": rich("Impact"), "resolution": rich("Resolution"), "lessonsLearned": rich("Lessons"), "published": true, "notify": false, // no step of the scheduler follows the end of an event
		"actionItems": []any{
			map[string]any{"text": "Watch; certificates", "done": false}, map[string]any{"text": "x marks what is done", "done": false}, map[string]any{"text": "Renew it", "owner": "Ada; Grace", "dueDate": "2026-02-28", "done": true},
		},
	})
	var stored struct {
		Event struct{ Timeline []struct{ StatusID string } }
	}
	write(full, http.MethodGet, "/app"+page, nil).into(t, &stored)
	add(editedRecord{name: "incident", path: "/app" + page, plain: "/app/events/" + plainIncident, unset: map[string]string{
		"importKey notes.editedAt publicId source timeline.componentImpacts timeline.editedAt timeline.importKey timeline.notified timeline.previousStatus timeline.publicId type": ofOthers,
		"autoEnd autoStart reminderMinutes scheduledEndAt scheduledStartAt": ofKind,
		"publish": "a draft notifies nobody",
	}, forms: []string{
		page + "/edit", page + "/timeline/" + stored.Event.Timeline[0].StatusID, page + "/notes/" + note.Note.NoteID, page + "/post-mortem",
	}})
	maintenance, plainMaintenance := both("/app/events", "id", event(map[string]any{"type": "maintenance", "title": "Maintenance", "scheduledStartAt": at(day), "scheduledEndAt": at(2 * day)}), withTexts(map[string]any{
		"title": "New pumps", "scheduledStartAt": at(3 * day), "scheduledEndAt": at(4 * day), "autoStart": true, "autoEnd": true, "reminderMinutes": []int{60, 45}, "affectedComponents": affects("degraded_performance"),
	}))
	add(editedRecord{name: "maintenance", path: "/app/events/" + maintenance, plain: "/app/events/" + plainMaintenance, forms: []string{"/events/" + maintenance + "/edit"}, unset: map[string]string{
		"backfilled importKey notes postMortem publicId source status timeline type": ofOthers,
		"endAt":                               ofKind,
		"publish":                             "a draft notifies nobody",
		"notifyLater.sms notifyLater.webhook": "one of the channels must be on",
	}})
	var elsewhere struct{ Event struct{ ID string } }
	write(full, http.MethodPost, "/app/events", map[string]any{"type": "incident", "title": "Phones are down", "severity": "minor_outage", "dashboardIds": []string{full.DashboardID, dashboard}}).into(t, &elsewhere)
	add(editedRecord{name: "event without components", path: "/app/events/" + elsewhere.Event.ID, forms: []string{"/events/" + elsewhere.Event.ID + "/edit"}})

	for kind, status := range map[string]string{"incident": "identified", "maintenance": "verifying", "update": "update"} {
		unset := map[string]string{"kind": ofOthers}
		body := map[string]any{"name": "A " + kind, "status": status, "message": rich("A text."), "componentIds": []string{component}, "impact": "operational"}
		if kind != "update" {
			body["title"], body["severity"] = "Title", "minor_performance"
		} else {
			unset["title severity"] = ofKind
		}
		template, plainTemplate := both("/app/templates", "id", only(map[string]any{"kind": kind, "name": "Template"}), only(body))
		add(editedRecord{name: "template of the kind " + kind, path: "/app/templates/" + template, plain: "/app/templates/" + plainTemplate, forms: []string{"/templates/" + template}, unset: unset})
	}

	onFirst := func(of credentials) map[string]any { return map[string]any{"dashboardId": of.DashboardID} }
	for channel, address := range map[string][3]string{"email": {"email", "ann@example.com", "bob@example.com"}, "sms": {"phone", "+4915112345678", "+4915112345679"}, "whatsapp": {"phone", "+4915112345678", "+4915112345679"}} {
		subscriber, plainSubscriber := both("/app/subscribers/"+channel, "id", func(of credentials) map[string]any {
			in := onFirst(of)
			in[address[0]] = address[1]
			return in
		}, func(credentials) map[string]any {
			return map[string]any{address[0]: address[2], "componentIds": []string{component}, "confirmed": true, "paused": true, "locked": true, "locale": "de"}
		})
		path := "/subscribers/" + channel + "/"
		add(editedRecord{name: "subscriber of " + channel, path: "/app" + path + subscriber, plain: "/app" + path + plainSubscriber, forms: []string{path + subscriber}, unset: map[string]string{
			"channel partlyConfirmed source suppressed suppressedReason": ofOthers,
		}})
	}

	for kind, address := range map[string][2]string{
		"webhook": {"webhooks/outbound", "https://hooks.example.com/"}, "teams": {"teams", "https://acme.logic.azure.com/workflows/1/triggers/manual/paths/invoke?n="}, "gchat": {"gchat", "https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token="},
		"slack": {"slack", "https://hooks.slack.com/services/T0/B0/"}, "discord": {"discord", "https://discord.com/api/webhooks/1/"},
	} {
		list := "/app/integrations/" + address[0] + "/endpoints"
		endpoint, plainEndpoint := both(list, "urlHash", func(of credentials) map[string]any {
			in := onFirst(of)
			in["url"], in["managementEmail"], in["componentIds"] = address[1]+"1", "ops@example.com", []string{map[credentials]string{full: component, plain: plainComponent}[of]}
			return in
		}, func(credentials) map[string]any {
			in := map[string]any{"url": address[1] + "2", "managementEmail": "admin@example.com", "locked": true}
			if kind == "webhook" {
				in["eventKinds"], in["format"], in["minIntervalMs"] = []string{"maintenance.started", "incident.created"}, "template", 700
				in["template"] = map[string]any{
					"method": "PUT", "idInPath": true, "headers": map[string]any{"X-Team": "a"}, "secrets": map[string]any{"key": "s3cret"},
					"body": "{\n  \"key\": \"{{secret \"key\"}}\",\n\n  \"title\": \"{{.event.title}}\"\n}",
				}
			}
			return in
		})
		write(full, http.MethodPatch, list, map[string]any{"dashboardId": full.DashboardID, "urlHash": endpoint, "paused": true})
		page := "/integrations/" + kind + "/" + endpoint + "/" + full.DashboardID
		forms := []string{page}
		if kind == "webhook" {
			forms = append(forms, page+"/request")
		}
		one := func(hash string) string { return list + "?urlHash=" + hash }
		add(editedRecord{name: "endpoint of the kind " + kind, path: one(endpoint), plain: one(plainEndpoint), forms: forms, unset: map[string]string{
			"channel consecutiveFailures firstFailureAt lastSuccessAt limit nextToken suppressed uniqueEndpoints urlDisplay verified": ofOthers,
		}})
	}

	key, _ := both("/app/integrations/webhooks/inbound/keys", "keyId", only(map[string]any{"name": "Key"}), only(map[string]any{
		"name": "Alertmanager", "defaults": map[string]any{"publish": false, "notify": false, "severity": "minor_outage"}, "bearer": true, "openAfter": "3m30s", "resolveAfter": "7m", "minSources": 3,
		"expectEvery": "7m", "managementEmail": "ops@example.com",
	}))
	add(editedRecord{name: "inbound key", path: "/app/integrations/webhooks/inbound/keys", plain: "/app/integrations/webhooks/inbound/keys", forms: []string{"/inbound/" + key}, unset: map[string]string{
		"nextToken revokedAt silentSince": ofOthers,
	}})
	return all
}
