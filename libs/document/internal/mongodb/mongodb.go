package mongodb

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/bellbuoy/bellbuoy/libs/document/internal/engine"
	"github.com/bellbuoy/bellbuoy/libs/document/internal/plan"
)

// Engine stores a database on MongoDB. Each write changes one document, without a transaction, so the engine works on a
// replica set and on a single server. A majority of the servers must acknowledge and journal a write.
type Engine struct {
	uri      string
	database string
	app      string
	id       bson.ObjectID // identifies the outboxes to which this process was the last to add
	// Monitor observes the commands. It must not change after the first command.
	Monitor *event.CommandMonitor

	mu     sync.Mutex // guards the creation of the client
	client *mongo.Client
	closed bool
}

const (
	// operationTime bounds an operation whose caller set no deadline.
	operationTime = 10 * time.Second
	// selectionTime bounds the search for a server.
	selectionTime = 4 * time.Second
	defaultPrefix = "bellbuoy"
	counters      = "_counters" // the name of a declared collection cannot start with _
	declarations  = "_declared"
	repetitions   = "_doubts"
)

var prefixName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

func New(address, name string, observe func(string)) (*Engine, error) {
	server, rest, _ := strings.Cut(address, "//")
	hosts, rest, _ := strings.Cut(rest, "/")
	prefix, query, _ := strings.Cut(rest, "?")
	if prefix == "" {
		prefix = defaultPrefix
	}
	if hosts == "" || !prefixName.MatchString(prefix) {
		// The address may contain a password, so the error does not quote it.
		return nil, errors.New("document: a MongoDB address must be mongodb://host/prefix, with letters, digits, _ and - in the prefix")
	}
	// The URI has no prefix, because the driver would authenticate against a database of that name.
	e := &Engine{
		uri: server + "//" + hosts + "/", database: prefix + "_" + name, app: prefix + "-" + name, id: bson.NewObjectID(),
		Monitor: &event.CommandMonitor{Started: func(_ context.Context, started *event.CommandStartedEvent) { observe(started.CommandName) }},
	}
	if query != "" {
		e.uri += "?" + query
	}
	if server == "mongodb:" && options.Client().ApplyURI(e.uri).Validate() != nil {
		return nil, errors.New("document: the MongoDB address is not valid")
	}
	return e, nil
}

// connect returns the database. It creates the client at the first call; the client connects in the background.
func (e *Engine) connect() (*mongo.Database, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &engine.UnavailableError{Err: errors.New("the database is closed")}
	}
	if e.client == nil {
		journal := true
		client, err := mongo.Connect(options.Client().SetAppName(e.app).
			SetTimeout(operationTime).SetServerSelectionTimeout(selectionTime).
			ApplyURI(e.uri). // the URI may override the timeouts
			SetMonitor(e.Monitor).
			SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal}))
		if err != nil {
			return nil, &engine.UnavailableError{Err: err}
		}
		e.client = client
	}
	return e.client.Database(e.database), nil
}

func (e *Engine) collection(s *plan.Shape) (*mongo.Collection, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	return db.Collection(s.Name), nil
}

func (e *Engine) Ping(ctx context.Context) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	return classified(db.Client().Ping(ctx, nil))
}

func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), operationTime)
	defer cancel()
	client := e.client
	e.client = nil
	return client.Disconnect(ctx)
}

func (e *Engine) Next(ctx context.Context, counter string, n int64) (int64, error) {
	db, err := e.connect()
	if err != nil {
		return 0, err
	}
	return setNumber(ctx, db.Collection(counters), counter, "value", func(last int64) (int64, error) { return last + n, nil })
}

// setNumber loads the number in a field of the document with the key, passes it to next, and stores and returns the
// result of next. It passes 0 if there is no such document. It writes nothing if the document exists and next returns
// the stored number. If another process has changed the number meanwhile, setNumber starts over.
func setNumber(ctx context.Context, c *mongo.Collection, key, field string, next func(int64) (int64, error)) (int64, error) {
	id := bson.E{Key: "_id", Value: key}
	for try := 0; ; try++ {
		found, err := c.FindOne(ctx, bson.D{id}).Raw()
		missing := errors.Is(err, mongo.ErrNoDocuments)
		if err != nil && !missing {
			return 0, classified(err)
		}
		stored, _ := found.Lookup(field).AsInt64OK()
		number, err := next(stored)
		if err != nil || number == stored && !missing {
			return number, err
		}
		var result *mongo.UpdateResult
		if missing {
			_, err = c.InsertOne(ctx, bson.D{id, {Key: field, Value: number}})
		} else {
			// The filter contains the number that was read. $inc is not used: if the driver repeated it after a lost
			// response, it would increment twice.
			result, err = c.UpdateOne(ctx, bson.D{id, {Key: field, Value: stored}}, bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: number}}}})
		}
		switch {
		case err == nil && (missing || result.MatchedCount == 1):
			return number, nil
		case err != nil && !mongo.IsDuplicateKeyError(err):
			return 0, classified(err)
		case !engine.Backoff(ctx, try):
			return 0, ctx.Err()
		}
	}
}

func (e *Engine) Last(ctx context.Context, counter string) (int64, error) {
	db, err := e.connect()
	if err != nil {
		return 0, err
	}
	found, err := db.Collection(counters).FindOne(ctx, bson.D{{Key: "_id", Value: counter}}).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, nil
	}
	last, _ := found.Lookup("value").AsInt64OK()
	return last, classified(err)
}

// unreadyCodes are the codes of a server that changes its role in the replica set, stops, or builds an index.
var unreadyCodes = []int{91, 189, 10107, 11600, 11602, 12587, 13435, 13436}

// classified converts an error of the driver to an engine.ConflictError or engine.UnavailableError. It returns any
// other error as it is.
func classified(err error) error {
	if err == nil || errors.Is(err, engine.ErrStale) {
		return err
	}
	_, unselected := errors.AsType[topology.ServerSelectionError](err)
	_, unconnected := errors.AsType[topology.ConnectionError](err)
	server, responded := errors.AsType[mongo.ServerError](err)
	switch {
	case unconfirmed(err):
		return &engine.UnavailableError{Err: err}
	case mongo.IsDuplicateKeyError(err):
		return &engine.ConflictError{Index: violatedBy(err), Err: err}
	case mongo.IsTimeout(err), mongo.IsNetworkError(err), errors.Is(err, mongo.ErrClientDisconnected), unselected, unconnected,
		responded && (server.HasErrorLabel("RetryableWriteError") || slices.ContainsFunc(unreadyCodes, server.HasErrorCode)):
		return &engine.UnavailableError{Err: err}
	}
	return err
}

// unconfirmed reports whether the majority did not acknowledge a write in time. err may also contain other errors.
func unconfirmed(err error) bool {
	one, isOne := errors.AsType[mongo.WriteException](err)
	many, isMany := errors.AsType[mongo.BulkWriteException](err)
	return isOne && one.WriteConcernError != nil || isMany && many.WriteConcernError != nil
}

var duplicate = regexp.MustCompile(`index: (\S+)`)

// uniqueSuffix is the suffix of the name of an index that enforces uniqueness. Queries use the index whose name lacks
// the suffix.
const uniqueSuffix = ".unique"

// violatedBy returns the name of the unique index from a duplicate-key error. It finds the name in the error's key
// pattern, its key value or its text. It returns "" if the key of the record exists already.
func violatedBy(err error) string {
	write, _ := errors.AsType[mongo.WriteError](err)
	if one, ok := errors.AsType[mongo.WriteException](err); ok && len(one.WriteErrors) > 0 {
		write = one.WriteErrors[0]
	}
	if many, ok := errors.AsType[mongo.BulkWriteException](err); ok && len(many.WriteErrors) > 0 {
		write = many.WriteErrors[0].WriteError
	}
	for _, part := range []string{"keyPattern", "keyValue"} {
		if pattern, ok := write.Raw.Lookup(part).DocumentOK(); ok {
			if first, err := pattern.IndexErr(0); err == nil {
				return strings.TrimPrefix(strings.TrimSuffix(first.Key(), "_id"), uniquePath)
			}
		}
	}
	found := duplicate.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	// A server before 4.2 writes database.collection.$index.
	name := found[1][strings.LastIndex(found[1], "$")+1:]
	return strings.TrimSuffix(strings.TrimSuffix(name, uniqueSuffix), "_id_")
}

// uniquePath is the prefix of the paths to the values of the unique indexes.
const uniquePath = "u."

func path(name string) string { return "f." + name }

func there(name string, exists bool) bson.E {
	return bson.E{Key: name, Value: bson.D{{Key: "$exists", Value: exists}}}
}

func oneOfMany(keys []string) bson.E {
	return bson.E{Key: "_id", Value: bson.D{{Key: "$in", Value: keys}}}
}
