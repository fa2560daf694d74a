package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/find"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// WhyQuery asks what became of the messages about an event for one recipient. Address or URLHash is set.
type WhyQuery struct {
	Organization string
	EventID      string
	Channel      topic.Channel
	Address      string
	URLHash      string
}

// Why says what became of the messages about an event.
type Why struct {
	Messages []WhyMessage // newest first
	More     bool         // there are older messages than the newest topic.MaxExplained
	KeptFrom time.Time    // Messages omits the changes before this time
	Older    bool         // the event was created before KeptFrom
}

// WhyMessage has the results for one change of the event.
type WhyMessage struct {
	Kind    topic.Kind
	At      time.Time
	Entry   string // StatusID of the timeline entry; empty: none
	Results []WhyResult
}

// WhyStatus is a status of a delivery, or one of those below.
type WhyStatus string

const (
	WhyWaiting WhyStatus = "waiting" // the message waits for its plan or its first attempt
	WhyNone    WhyStatus = "none"    // there was no message to the recipient
)

// The codes of a WhyResult, beside those of package deliverylog, each topic.Rule and each topic.Silence.
const (
	whyDelivered  = "delivered"
	whyPlanning   = "planning"    // the recipients are not found yet
	whyQueued     = "queued"      // the recipients are found, but not all planned deliveries of the event on the channel have begun
	whyChannelOff = "channel_off" // the channel was switched off for this change
	whyLater      = "subscribed_later"
	whyChosen     = "chosen_later" // the recipient included a component after the change; the recipient's choice before is not recorded
	whyConfirmed  = "confirmed_later"
	whyChanged    = "changed_since" // the message would be sent today, but the plan of the change did not find the recipient
)

// WhyResult says what became of a message for one recipient.
//
// The plan does not record why it leaves a recipient out: it reads an index that has only the recipients which the change
// concerns, and a record for each of the others would cost more than the messages. So the service that stores the recipients
// computes the rule from its records of today (topic.Verdict). Stored times, such as the time of the confirmation, are
// compared with the time of the change. Today is true if another rule may have applied at the time of the change, because the
// recipient was changed later or is not stored any more.
type WhyResult struct {
	DashboardID string
	Recipient   string
	Status      WhyStatus
	Code        string
	Since       time.Time
	Today       bool
	Suppression *topic.Suppression
	Delivery    *deliverylog.Delivery
	Replays     []deliverylog.Delivery // oldest first
}

// Why returns what became of each message about the event for the recipient. No code is about the entitlements of an
// organization or the settings of a dashboard, because they prevent no message.
func (p *Planner) Why(ctx context.Context, q WhyQuery) (Why, error) {
	changes, err := p.Store.ChangesOf(ctx, q.Organization, q.EventID, topic.MaxExplained+1)
	if err != nil {
		return Why{}, err
	}
	out := Why{KeptFrom: p.Logs.KeptFrom(), More: len(changes) > topic.MaxExplained}
	changes = slices.DeleteFunc(changes[:min(len(changes), topic.MaxExplained)], func(c topic.EventChange) bool { return c.OccurredAt.Before(out.KeptFrom) })
	state, err := p.Events.EventState(ctx, q.Organization, q.EventID)
	if err != nil && (len(changes) == 0 || !fault.Is(err, fault.NotFound)) {
		return Why{}, err
	}
	out.Older = !state.CreatedAt.IsZero() && state.CreatedAt.Before(out.KeptFrom)
	e := explanation{Planner: p, query: q, changes: changes, verdicts: make([]int, len(changes))}
	if err := e.read(ctx); err != nil {
		return Why{}, err
	}
	out.Messages = find.Values(indexes(changes), e.message)
	return out, nil
}

func indexes(changes []topic.EventChange) []int {
	all := make([]int, len(changes))
	for i := range all {
		all[i] = i
	}
	return all
}

// explanation has all records about the changes and the recipients of a WhyQuery.
type explanation struct {
	*Planner
	query      WhyQuery
	changes    []topic.EventChange
	verdicts   []int // for each change, the index of its verdict in ExplainedRecipient.Verdicts
	recipients []topic.ExplainedRecipient
	deliveries map[string]deliverylog.Delivery
	replays    map[string][]deliverylog.Delivery // by the id of the delivery that was replayed first
	planned    map[string]bool                   // ids of the stored pages that end a plan
	unfinished bool                              // not all planned deliveries of the event on the channel have begun
}

func (e *explanation) read(ctx context.Context) error {
	placed, err := e.explain(ctx)
	if err != nil {
		return err
	}
	ids := find.Values(e.changes, func(c topic.EventChange) string { return c.ID })
	// The ends of the plans are read before the progress, and the progress before the rows. So if a row is stored meanwhile,
	// either the row is found, or its message counts as waiting (whyPlanning or whyQueued).
	if e.planned, err = e.Store.PlannedPages(ctx, find.Values(ids, e.endOfPlan)); err != nil {
		return err
	}
	_, channels, err := e.Logs.EventProgress(ctx, e.query.Organization, e.query.EventID)
	if err != nil {
		return err
	}
	progress := channels[e.query.Channel]
	e.unfinished = progress.Planned > progress.Begun()
	rows, err := e.Store.Recorded(ctx, ids, placed)
	if err != nil {
		return err
	}
	e.deliveries = find.Index(rows, func(d deliverylog.Delivery) string { return d.ID })
	return e.readReplays(ctx, rows)
}

// endOfPlan returns the ID of the page that is stored when all recipients of a change on the channel are found.
func (e *explanation) endOfPlan(change string) string {
	return pageID(change, e.query.Channel, endOfPlan)
}

// explain requests the recipients with one verdict for each different query, and returns each recipient with its partition.
// Changes with equal queries share a verdict, so that the request stays small.
func (e *explanation) explain(ctx context.Context) ([]Placed, error) {
	query := topic.ExplainQuery{Channel: e.query.Channel, Address: e.query.Address, URLHash: e.query.URLHash, Changes: []topic.RecipientQuery{}}
	known := make(map[string]int)
	for i := range e.changes {
		one := concernedBy(&e.changes[i], e.query.Channel)
		key, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		if _, is := known[string(key)]; !is {
			known[string(key)] = len(query.Changes)
			query.Changes = append(query.Changes, one)
		}
		e.verdicts[i] = known[string(key)]
	}
	found, err := e.Explainers[e.query.Channel.RecipientService()].Explain(ctx, e.query.Organization, query)
	if err != nil {
		return nil, err
	}
	e.recipients = found.Recipients
	if len(e.recipients) == 0 && e.query.URLHash != "" {
		return e.deletedEndpoints(ctx, len(query.Changes))
	}
	return find.Values(e.recipients, func(r topic.ExplainedRecipient) Placed {
		return Placed{r.ID, deliverylog.BucketOf(e.destination(e.query.Channel, r.Destination))}
	}), nil
}

// deletedEndpoints finds the endpoints of a URL in the logs of the event, and adds them to e.recipients. Each recipient gets
// as many verdicts as verdicts says. deletedEndpoints returns fault.NotFound if the logs have no such endpoint.
func (e *explanation) deletedEndpoints(ctx context.Context, verdicts int) ([]Placed, error) {
	logs, err := e.Logs.List(ctx, deliverylog.Query{
		Organization: e.query.Organization, Channel: e.query.Channel, Limit: topic.MaxExplained,
		Filter: deliverylog.Filter{EventID: e.query.EventID, URLHash: e.query.URLHash},
	})
	if err != nil {
		return nil, err
	}
	var placed []Placed
	for _, log := range logs.Items {
		if one := (Placed{log.Recipient, log.Partition}); !slices.Contains(placed, one) && len(placed) < topic.MaxExplainedRecipients {
			placed = append(placed, one)
			e.recipients = append(e.recipients, topic.ExplainedRecipient{
				Recipient: topic.Recipient{ID: log.Recipient}, DashboardID: log.DashboardID, Missing: true,
				Verdicts: slices.Repeat([]topic.Verdict{{Rule: topic.RuleNotSubscribed}}, verdicts),
			})
		}
	}
	if len(placed) == 0 {
		return nil, fault.New(fault.NotFound, "There is no such endpoint.")
	}
	return placed, nil
}

// maxReplays limits the levels of replays of replays that readReplays reads.
const maxReplays = 5

// readReplays finds the replays of the rows, and the replays of these replays, up to maxReplays levels.
func (e *explanation) readReplays(ctx context.Context, rows []deliverylog.Delivery) error {
	e.replays = make(map[string][]deliverylog.Delivery)
	first := make(map[string]string) // by the id of a log: the id of the delivery that was replayed first
	for n := 0; len(rows) > 0 && n < maxReplays; n++ {
		var logs []string
		for i := range rows {
			id := cmp.Or(first[rows[i].ReplayOf], rows[i].ID)
			for _, log := range rows[i].LogIDs() {
				first[log] = id
				logs = append(logs, log)
			}
		}
		var err error
		if rows, err = e.Store.Replays(ctx, logs); err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(d deliverylog.Delivery) bool { return d.Organization != e.query.Organization })
		slices.SortFunc(rows, func(a, b deliverylog.Delivery) int { return a.SentAt.Compare(b.SentAt) })
		for _, row := range rows {
			e.replays[first[row.ReplayOf]] = append(e.replays[first[row.ReplayOf]], row)
		}
	}
	return nil
}

// message returns what became of the i-th change.
func (e *explanation) message(i int) WhyMessage {
	change := &e.changes[i]
	m := WhyMessage{Kind: change.Kind, At: change.OccurredAt}
	if change.Entry != nil {
		m.Entry = change.Entry.StatusID
	}
	_, on := change.Notify[e.query.Channel]
	switch {
	case len(change.Notify) == 0:
		m.Results = []WhyResult{{Status: WhyNone, Code: string(change.Silence)}}
		return m
	case !on:
		m.Results = []WhyResult{{Status: WhyNone, Code: whyChannelOff}}
		return m
	}
	for r := range e.recipients {
		m.Results = append(m.Results, e.result(change, &e.recipients[r], e.verdicts[i]))
	}
	m.Results = telling(m.Results)
	return m
}

// telling removes each result without a delivery whose code is topic.RuleNotSubscribed or topic.RuleOtherDashboard. If no result
// remains, it returns one result: the first with RuleOtherDashboard, or else a new result with RuleNotSubscribed.
func telling(results []WhyResult) []WhyResult {
	elsewhere := func(r WhyResult) bool {
		return r.Delivery == nil && (r.Code == string(topic.RuleNotSubscribed) || r.Code == string(topic.RuleOtherDashboard))
	}
	if told := slices.DeleteFunc(slices.Clone(results), elsewhere); len(told) > 0 {
		return told
	}
	for _, r := range results {
		if r.Code == string(topic.RuleOtherDashboard) {
			return []WhyResult{r}
		}
	}
	return []WhyResult{{Status: WhyNone, Code: string(topic.RuleNotSubscribed), Today: true}}
}

// result returns what became of the change for a recipient.
func (e *explanation) result(change *topic.EventChange, to *topic.ExplainedRecipient, verdict int) WhyResult {
	r := WhyResult{DashboardID: to.DashboardID, Status: WhyNone, Suppression: to.Suppression}
	if !to.Missing {
		r.Recipient = to.ID
	}
	found := to.Verdicts[verdict]
	switch row, stored := e.deliveries[topic.DeliveryID(change.ID, to.ID)]; {
	case stored:
		r.Delivery, r.Replays = &row, e.replays[row.ID]
		r.Status, r.Code = WhyStatus(row.Status), cmp.Or(string(row.ErrorCode), whyDelivered)
		if row.Status == deliverylog.StatusRetrying && len(row.Attempts) == 0 {
			r.Status = WhyWaiting
		}
	case found.Rule != "":
		r.Code, r.Today = string(found.Rule), to.Missing || to.UpdatedAt.After(change.OccurredAt)
	case found.CreatedAt.After(change.OccurredAt):
		r.Code, r.Since = whyLater, found.CreatedAt
	case found.ChosenAt.After(change.OccurredAt):
		r.Code, r.Since, r.Today = whyChosen, found.ChosenAt, true
	case found.ConfirmedAt.After(change.OccurredAt):
		r.Code, r.Since = whyConfirmed, found.ConfirmedAt
	case !e.planned[e.endOfPlan(change.ID)]:
		r.Status, r.Code = WhyWaiting, whyPlanning
	case e.unfinished:
		r.Status, r.Code = WhyWaiting, whyQueued
	default:
		r.Code, r.Today = whyChanged, true
	}
	return r
}
