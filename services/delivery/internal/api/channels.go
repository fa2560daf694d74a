package api

import (
	"github.com/bellbuoy/bellbuoy/libs/optional"
	"github.com/bellbuoy/bellbuoy/libs/passport"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/libs/web"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/channel"
)

func (a *API) channelsOperation() web.Operation {
	return web.Declare(web.Operation{
		Method: "GET", Path: "/app/notifications/channels", ID: "listChannels", Tag: "delivery logs",
		Summary: "Show which channels are set up",
		Description: "The operator sets channels up for the whole installation. Messages on a channel that is not set up are written to files in the data folder. " +
			"WhatsApp without a template accepts messages only within 24 hours after a message of the recipient.",
		Roles: []string{passport.RoleEvent, passport.RoleSubscriber}, Status: 200,
		Example: web.Example{Response: `{"channels": {
			"email": {"configured": true, "server": {"host": "smtp.example.com", "port": 587, "security": "startTLSIfOffered"}, "from": "Acme status <status@example.com>", "missing": null},
			"gchat": {"configured": true, "server": null, "from": null, "missing": null}, "slack": {"configured": true, "server": null, "from": null, "missing": null}, "discord": {"configured": true, "server": null, "from": null, "missing": null}, "sms": {"configured": false, "server": null, "from": null, "missing": "SMS_URL"},
			"teams": {"configured": true, "server": null, "from": null, "missing": null}, "webhook": {"configured": true, "server": null, "from": null, "missing": null},
			"whatsapp": {"configured": false, "server": null, "from": null, "missing": "SMS_URL"}}}`},
	}, a.channels)
}

type channelSetupView struct {
	Configured bool        `json:"configured"`
	Server     *serverView `json:"server" description:"The server through which all messages of the channel are sent. Null if none is set up, or each endpoint has its own."`
	From       *string     `json:"from" description:"The sender of messages."`
	Missing    *string     `json:"missing" enum:"SMTP_URL,SMS_URL,WHATSAPP_TEMPLATE" description:"The setting that the operator must add."`
}

type serverView struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Security string `json:"security" enum:"tls,startTLSIfOffered,none" description:"startTLSIfOffered: the connection is encrypted if the server offers STARTTLS."`
}

func viewServer(s *channel.Server) *serverView {
	if s == nil {
		return nil
	}
	return &serverView{s.Host, s.Port, s.Security}
}

type channelsView struct {
	Channels map[topic.Channel]channelSetupView `json:"channels" description:"All channels of the App interface."`
}

func (a *API) channels(*web.Call[web.None, web.None]) (channelsView, error) {
	view := channelsView{make(map[topic.Channel]channelSetupView)}
	for _, name := range topic.AppChannels() {
		setup := channel.SetupOf(name, a.Mail, a.Texts)
		view.Channels[name] = channelSetupView{setup.Missing == "", viewServer(setup.Server), optional.OrNull(setup.From), optional.OrNull(setup.Missing)}
	}
	return view, nil
}
