package site

import (
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
)

// subscribeFile is the page with the form of each channel.
type subscribeFile struct {
	frame
	Forms []channelForm
}

// channelForm is the form of a channel. A channel takes an e-mail address, a phone number, or the URL of a program or
// chat.
type channelForm struct {
	Channel, Title     string
	Email, Phone, Hook bool
	Open               bool
	Components         []catalog.ShownComponent
}

func (s *Site) subscribePage(o order) (File, error) {
	view := subscribeFile{frame: s.newFrame(o)}
	view.Current = "subscribe"
	view.Title = view.word("subscribe.title") + " – " + o.Dashboard.Name
	view.frame.Description = view.Title
	if o.Dashboard.Content.Modules.Subscribe {
		for i, channel := range o.Dashboard.Subscriptions.Channels() {
			view.Forms = append(view.Forms, channelForm{
				Channel: string(channel), Title: view.word("subscribe." + string(channel)), Open: i == 0, Components: o.Components,
				Email: channel == topic.Email, Phone: channel == topic.SMS || channel == topic.WhatsApp,
				Hook: channel == topic.Webhook || channel == topic.Teams || channel == topic.GChat,
			})
		}
	}
	return s.html("subscribe.html", view.frame, view)
}

// noteFile is a page with a short text.
type noteFile struct {
	frame
	Heading, Text string
}

func (s *Site) sentPage(o order) (File, error) {
	view := noteFile{frame: s.newFrame(o)}
	view.Heading, view.Text = view.word("sent.title"), view.word("sent.text")
	view.Indexed = false
	view.Title = view.Heading + " – " + o.Dashboard.Name
	return s.html("note.html", view.frame, view)
}

// missingPage says that there is no such page. Its links are absolute, because it is shown at any address. It has no key
// of feeds: a visitor without access gets it after POST /enter of a dashboard without a password.
func (s *Site) missingPage(o order) (File, error) {
	view := noteFile{frame: s.newFrame(o)}
	view.Heading, view.Text = view.word("missing.title"), view.word("missing.text")
	view.Indexed, view.Script, view.Canonical, view.key = false, "", "", ""
	view.Up = o.URL + "/"
	view.Title = view.Heading + " – " + o.Dashboard.Name
	return s.html("note.html", view.frame, view)
}

// enterFile is the password form of a private page.
type enterFile struct {
	frame
	Problem string
}

// enterPage shows no more than the name and the branding, because everybody sees it.
func (s *Site) enterPage(o order) (File, error) {
	view := enterFile{frame: s.newFrame(o)}
	switch o.name {
	case EnterWrongFile:
		view.Problem, view.Up = view.word("enter.wrong"), ""
	case EnterLateFile:
		view.Problem, view.Up = view.word("enter.late"), ""
	}
	view.Indexed, view.Bare, view.Script, view.Canonical, view.key = false, true, "", "", ""
	view.Title = o.Dashboard.Name
	return s.html("enter.html", view.frame, view)
}

// embedFile is the state of the dashboard within another site.
type embedFile struct {
	frame
	Status stateView
}

func (s *Site) embedPage(o order) (File, error) {
	view := embedFile{frame: s.newFrame(o)}
	view.Status = view.overall()
	view.Title = o.Dashboard.Name + " – " + view.Status.Word
	view.Indexed, view.Embedded, view.Canonical = false, true, o.URL+"/"
	return s.html("embed.html", view.frame, view)
}
