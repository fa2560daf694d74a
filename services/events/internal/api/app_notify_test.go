package api

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/gin-gonic/gin"
)

// TestNotifyMember checks which values the member notify has, and the errors of all others.
func TestNotifyMember(t *testing.T) {
	read := func(value string) (optional.Value[web.Notify], error) {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"notify": `+value+`}`))
		c.Request.Header.Set("Content-Type", "application/json")
		in, err := web.Body[struct {
			Notify optional.Value[web.Notify] `json:"notify"`
		}](c)
		return in.Notify, err
	}
	all := []topic.Channel{topic.Discord, topic.Email, topic.GChat, topic.Slack, topic.SMS, topic.Teams, topic.Webhook, topic.WhatsApp}
	for value, want := range map[string][]topic.Channel{
		"true": all, "false": nil, "{}": nil, `{"email": false}`: nil,
		`{"email": true, "webhook": false}`: {topic.Email},
		`{"teams": true, "sms": true, "email": true, "webhook": true, "gchat": true, "slack": true, "discord": true, "whatsapp": true}`: all,
		`{"\u0065mail": true}`: {topic.Email},
	} {
		sent, err := read(value)
		var on []topic.Channel
		for _, channel := range slices.Sorted(maps.Keys(sent.Value)) {
			if sent.Value[channel] {
				on = append(on, channel)
			}
		}
		if err != nil || !sent.Sent || !slices.Equal(on, want) {
			t.Errorf("%s: %v (%v), want %v", value, on, err, want)
		}
	}
	const kind, channels = "must be true, false or an object with a boolean for each channel", "must be one of the channels discord, email, gchat, slack, sms, teams, webhook, whatsapp"
	for value, want := range map[string]string{
		"null": "notify: must not be null", `"true"`: "notify: " + kind, "1": "notify: " + kind, `["email"]`: "notify: " + kind,
		`{"email": 1}`: "notify.email: must be true or false", `{"email": null}`: "notify.email: must be true or false",
		`{"pigeon": true}`: "notify.pigeon: " + channels, `{"chatroom": true}`: "notify.chatroom: " + channels,
		`{"Email": true, "zebra": 1}`: "notify.Email: " + channels, `{"email": true, "email": true}`: "notify.email: must be sent once",
	} {
		if _, err := read(value); err == nil || fault.As(err).Error() != want {
			t.Errorf("%s: %v, want %s", value, err, want)
		}
	}
}
