package site

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bellbuoy/bellbuoy/libs/peer"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// subscribeFile is the page with a form for each channel.
type subscribeFile struct {
	frame
	Forms []channelForm
}

// channelForm is the form to subscribe to a channel. Email is true if the channel needs an e-mail address, Phone if it
// needs a phone number, and Hook if it needs the URL of a program or chat.
type channelForm struct {
	Channel, Title     string
	Email, Phone, Hook bool
	Open               bool
	Components         []edition.ShownComponent
}

func (s *Site) subscribePage(r renderRequest) (File, error) {
	view := subscribeFile{frame: s.newFrame(r)}
	view.Current = "subscribe"
	view.Title = view.Word("subscribe.title") + " – " + r.Dashboard.Name
	view.frame.Description = view.Title
	if r.Dashboard.Content.Modules.Subscribe {
		for i, channel := range r.Dashboard.Channels() {
			view.Forms = append(view.Forms, channelForm{
				Channel: string(channel), Title: view.Word("subscribe." + string(channel)), Open: i == 0, Components: r.Components,
				Email: channel == topic.Email, Phone: channel == topic.SMS || channel == topic.WhatsApp,
				Hook: channel.RecipientService() == topic.Integrations,
			})
		}
	}
	return s.html("subscribe.html", view.frame, view)
}

// noteFile is a page with a heading and a short text.
type noteFile struct {
	frame
	Heading, Text string
}

// sentFile is the page after the form of a channel was sent. It is the same for every channel and address. So it has a
// form for a confirmation code for each channel of the dashboard that has codes, SMS and WhatsApp.
type sentFile struct {
	noteFile
	Confirm string // the URL to which the forms send a code
	Codes   []channelForm
}

func (s *Site) sentPage(r renderRequest) (File, error) {
	view := sentFile{noteFile: noteFile{frame: s.newFrame(r)}, Confirm: s.confirm}
	view.Heading, view.Text = view.Word("sent.title"), view.Word("sent.text")
	view.Indexed = false
	view.Title = view.Heading + " – " + r.Dashboard.Name
	if view.Subscribable() {
		for _, channel := range r.Dashboard.Channels() {
			if channel == topic.SMS || channel == topic.WhatsApp {
				view.Codes = append(view.Codes, channelForm{Channel: string(channel), Title: view.Word("sent." + string(channel))})
				view.Forms = originOf(s.confirm)
			}
		}
	}
	return s.html("sent.html", view.frame, view)
}

// shellFile is a page without content. Mark is a random text in the places of the title and of the content.
type shellFile struct {
	frame
	Mark string
}

// frameFile returns the HTML around the content of pages that other services render, as JSON of peer.Frame. Its links
// are absolute, because these pages are also on the host of the platform. If the dashboard is not public, the frame
// shows only the name and the branding, because everybody who has a link to a subscription can see the frame.
func (s *Site) frameFile(r renderRequest) (File, error) {
	view := shellFile{s.newFrame(r), rand.Text()}
	view.Indexed, view.Script, view.Canonical = false, "", ""
	view.Bare = r.Dashboard.Access.Mode != catalog.AccessPublic
	view.Up = r.URL + "/"
	view.Title = view.Mark + " – " + r.Dashboard.Name
	page, err := s.html("shell.html", view.frame, view)
	if err != nil {
		return File{}, err
	}
	parts := strings.Split(string(page.Body), view.Mark)
	if len(parts) != 3 {
		return File{}, fmt.Errorf("site: the frame has %d parts", len(parts))
	}
	body, err := json.Marshal(peer.Frame{Before: parts[0], Between: parts[1], After: parts[2], Policy: page.Policy, Lang: view.Tag})
	return File{Body: body}, err
}

// missingPage returns the page of the response 404. Its links are absolute, because the page is shown at any address.
// The page does not contain the key of the feeds, because visitors without access can get the page: by POST /enter of a
// dashboard without a password.
func (s *Site) missingPage(r renderRequest) (File, error) {
	view := noteFile{frame: s.newFrame(r)}
	view.Heading, view.Text = view.Word("missing.title"), view.Word("missing.text")
	view.Indexed, view.Script, view.Canonical, view.key = false, "", "", ""
	view.Up = r.URL + "/"
	view.Title = view.Heading + " – " + r.Dashboard.Name
	return s.html("note.html", view.frame, view)
}

// enterFile is the page with the password form of a private page.
type enterFile struct {
	frame
	Problem string
}

// enterPage returns the page with the password form. It shows only the name and the branding of the dashboard, because
// everybody can see the page.
func (s *Site) enterPage(r renderRequest) (File, error) {
	view := enterFile{frame: s.newFrame(r)}
	switch r.name {
	case peer.EnterWrongFile:
		view.Problem, view.Up = view.Word("enter.wrong"), ""
	case peer.EnterLateFile:
		view.Problem, view.Up = view.Word("enter.late"), ""
	}
	view.Indexed, view.Bare, view.Script, view.Canonical, view.key = false, true, "", "", ""
	view.Title = r.Dashboard.Name
	return s.html("enter.html", view.frame, view)
}

// embedFile is the page that other sites can embed. It shows the state of the dashboard.
type embedFile struct {
	frame
	Status stateView
}

func (s *Site) embedPage(r renderRequest) (File, error) {
	view := embedFile{frame: s.newFrame(r)}
	view.Status = view.overall()
	view.Title = r.Dashboard.Name + " – " + view.Status.Word
	view.Indexed, view.Embedded, view.Canonical = false, true, r.URL+"/"
	return s.html("embed.html", view.frame, view)
}
