package api

import (
	"embed"

	"github.com/bellbuoy/bellbuoy/libs/page"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/integrations/internal/endpoint"
)

//go:embed words/*.json
var wordFiles embed.FS

// words are the words of the visitors' pages in one language.
type words struct {
	page.Words

	Subscribe, Intro                       string // %s: the dashboard
	URL, ManagementEmail, ManagementHint   string
	NoneMeansAll                           string
	WrongURL, WrongTeamsURL, WrongGChatURL string // beside the field
	Verify, VerifyButton, Verified, Secret string
	Manage, Rotate, Rotated, RotatedOften  string
	Remove, ManageInstead                  string
	Removed, RemovedText                   string
	LockedText, NotTaken, Full             string // refusals
}

func readLanguages() (page.Languages[words], error) {
	return page.ReadLanguages(wordFiles, func(w *words) *page.Words { return &w.Words })
}

// wrongURL returns the text beside the URL of an endpoint that the kind does not allow.
func (w words) wrongURL(kind endpoint.Kind) string {
	switch kind.Channel {
	case topic.Teams:
		return w.WrongTeamsURL
	case topic.GChat:
		return w.WrongGChatURL
	}
	return w.WrongURL
}

// channelName returns the name of a channel, which is the same in every language.
func channelName(channel topic.Channel) string {
	switch channel {
	case topic.Teams:
		return "Microsoft Teams"
	case topic.GChat:
		return "Google Chat"
	}
	return "Webhook"
}
