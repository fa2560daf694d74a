package site

import (
	"cmp"
	"html/template"
	"strings"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/richtext"
	"github.com/bellbuoy/bellbuoy/services/events/internal/catalog"
	"github.com/bellbuoy/bellbuoy/services/events/internal/edition"
)

// eventView is an event on any page.
type eventView struct {
	ID, Href, Title string
	State           stateView // result of eventState
	Kind, Status    string
	Open            bool
	Affected        []affectedView
	Began, Ended    *moment  // Began is nil if the event has not begun. Ended is nil if the event has not begun or has no end.
	Planned         []moment // planned start, and planned end if it is known
	Lasts           []moment // start, and actual or planned end; equals Planned until the event has begun
	Lasted          string
	description     catalog.Rich
	analysis        catalog.Rich
	Newest          *entryView // nil if the event has no entries
	Earlier         []entryView
	EarlierText     string
}

type affectedView struct {
	Name, Href string // Href is empty if the dashboard does not show the component
	State      stateView
}

type entryView struct {
	ID, Status string
	At         moment
	message    catalog.Rich
}

// Description returns the description as HTML. Texts are rendered only when a template shows them, because most pages
// show few texts.
func (v eventView) Description() template.HTML { return richHTML(v.description) }

// Analysis returns the impact analysis as HTML.
func (v eventView) Analysis() template.HTML { return richHTML(v.analysis) }

func (v entryView) Message() template.HTML { return richHTML(v.message) }

var headings = strings.NewReplacer(
	"<h1>", "<p><strong>", "<h2>", "<p><strong>", "<h3>", "<p><strong>", "<h4>", "<p><strong>", "<h5>", "<p><strong>", "<h6>", "<p><strong>",
	"</h1>", "</strong></p>", "</h2>", "</strong></p>", "</h3>", "</strong></p>", "</h4>", "</strong></p>", "</h5>", "</strong></p>", "</h6>", "</strong></p>",
)

// richHTML returns a text of an operator as HTML. Headings in the text become bold paragraphs, because their levels
// would not fit the headings of the page.
func richHTML(text catalog.Rich) template.HTML { return template.HTML(headings.Replace(text.HTML())) } // richtext.HTML is safe

// begun reports whether the event has begun at the time of the snapshot.
func (f frame) begun(e *edition.ShownEvent) bool {
	return e.Status != catalog.Planning && !e.StartAt.After(f.At)
}

// endOf returns the actual end of an event. If a closed event has none, it returns the planned end.
func endOf(e *edition.ShownEvent) *time.Time {
	if e.EndAt != nil || !e.Status.Closed() {
		return e.EndAt
	}
	return e.ScheduledEndAt
}

// eventState returns the state whose icon and colour pages show for an event: its worst present impact, or its worst
// impact ever if the event is closed. If this impact is operational or the event has no impacts, eventState returns
// UnderMaintenance for a maintenance and Degraded for an incident.
func eventState(e *edition.ShownEvent) catalog.Impact {
	var states []catalog.Impact
	for _, impact := range e.Impacts {
		if e.Status.Closed() {
			states = append(states, impact.Worst)
		} else {
			states = append(states, impact.Impact)
		}
	}
	state := worst(states...)
	switch {
	case state != catalog.Operational:
		return state
	case e.Type == catalog.Maintenance:
		return catalog.UnderMaintenance
	}
	return catalog.Degraded // an incident is never shown as operational
}

func (f frame) newEvent(e *edition.ShownEvent) eventView {
	v := eventView{
		ID: e.ID, Href: f.Up + "events/" + e.ID, Title: e.Title, State: f.state(eventState(e)), Kind: f.Word("kind." + string(e.Type)),
		Status: f.Word("status." + string(e.Status)), Open: !e.Status.Closed(), description: e.Description, analysis: e.Analysis,
	}
	var until *time.Time
	if e.Type == catalog.Maintenance {
		until = e.ScheduledEndAt
		if e.ScheduledStartAt != nil {
			v.Planned = f.dates.period(*e.ScheduledStartAt, until)
		}
	}
	if f.begun(e) {
		v.Began = f.dates.maybe(&e.StartAt)
		end := endOf(e)
		if end != nil {
			v.Ended = f.dates.maybe(end)
			v.Lasted = f.duration(end.Sub(e.StartAt))
		} else if until != nil && until.After(f.At) {
			end = until
		}
		v.Lasts = f.dates.period(e.StartAt, end)
	} else {
		if v.Planned == nil {
			v.Planned = f.dates.period(e.StartAt, until)
		}
		v.Lasts = v.Planned
	}
	for _, impact := range e.Impacts {
		state := impact.Impact
		if e.Status.Closed() {
			state = impact.Worst
		}
		v.Affected = append(v.Affected, affectedView{impact.Name, f.componentHref(impact.ComponentID), f.state(state)})
	}
	for i, entry := range e.Entries {
		one := entryView{entry.StatusID, f.Word("status." + string(entry.Status)), f.dates.moment(entry.Timestamp), entry.Message}
		if i == 0 {
			v.Newest = &one
		} else {
			v.Earlier = append(v.Earlier, one)
		}
	}
	v.EarlierText = f.Count("event.earlier", len(v.Earlier))
	return v
}

// componentHref returns the URL of a component's page. It is empty if the dashboard does not show the component.
func (f frame) componentHref(id string) string {
	if f.Snapshot.Component(id) == nil {
		return ""
	}
	return f.Up + "components/" + id
}

// eventsWhere returns the views of the events for which is returns true.
func (f frame) eventsWhere(is func(*edition.ShownEvent) bool) []eventView {
	var found []eventView
	for i := range f.Events {
		if is(&f.Events[i]) {
			found = append(found, f.newEvent(&f.Events[i]))
		}
	}
	return found
}

// eventFile is the page of an event.
type eventFile struct {
	frame
	Event      eventView
	PostMortem *postMortemView
}

type postMortemView struct {
	Published moment
	Sections  []postMortemSection
	Actions   []actionView
}

type postMortemSection struct {
	Heading string
	Text    template.HTML
}

type actionView struct {
	Text string
	Done bool
	Due  *moment
}

func (s *Site) eventPage(r renderRequest) (File, error) {
	f := s.newFrame(r)
	id := strings.TrimPrefix(r.name, "events/")
	shown := cmp.Or(r.extra.Event, f.event(id))
	if shown == nil || shown.ID != id {
		return File{}, unknownFile()
	}
	view := eventFile{frame: f, Event: f.newEvent(shown), PostMortem: f.postMortem(shown.PostMortem)}
	view.Title = shown.Title + " – " + r.Dashboard.Name
	view.Description = view.Event.Kind + ", " + view.Event.Status
	return s.html("event.html", view.frame, view)
}

func (f frame) postMortem(p *edition.ShownPostMortem) *postMortemView {
	if p == nil {
		return nil
	}
	view := &postMortemView{Published: f.dates.moment(p.PublishedAt), Sections: []postMortemSection{{"", richHTML(p.Summary)}}}
	for _, one := range []struct {
		key  string
		text *catalog.Rich
	}{{"postmortem.cause", p.RootCause}, {"postmortem.impact", p.Impact}, {"postmortem.resolution", p.Resolution}, {"postmortem.lessons", p.LessonsLearned}} {
		if one.text != nil && strings.TrimSpace(one.text.Text) != "" {
			view.Sections = append(view.Sections, postMortemSection{f.Word(one.key), richHTML(*one.text)})
		}
	}
	for _, item := range p.ActionItems {
		action := actionView{Text: richtext.Text(item.Text), Done: item.Done}
		if item.DueDate != nil {
			if due, err := time.Parse(time.DateOnly, *item.DueDate); err == nil {
				action.Due = new(f.dates.title(day{due}))
			}
		}
		view.Actions = append(view.Actions, action)
	}
	return view
}
