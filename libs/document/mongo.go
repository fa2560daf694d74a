package document

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// mongoEngine keeps a database on MongoDB. Every write is one document's, acknowledged by the majority and
// journalled, so it works on a replica set and on a single server alike.
type mongoEngine struct {
	uri      string
	database string
	app      string

	mu     sync.Mutex // guards connecting
	client *mongo.Client
	closed bool
}

const (
	// mongoTimeout bounds an operation whose caller set no deadline.
	mongoTimeout = 10 * time.Second
	// mongoSelection is how long to look for a server before it counts as unreachable.
	mongoSelection = 4 * time.Second
	defaultPrefix  = "bellbuoy"
	counters       = "_counters" // no declared collection's name begins so
	declarations   = "_declared"
	doubtful       = "_doubts"
)

var prefixName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

func newMongo(address, name string) (*mongoEngine, error) {
	server, rest, _ := strings.Cut(address, "//")
	hosts, rest, _ := strings.Cut(rest, "/")
	prefix, query, _ := strings.Cut(rest, "?")
	if prefix == "" {
		prefix = defaultPrefix
	}
	if hosts == "" || !prefixName.MatchString(prefix) {
		// The address may hold a password, so it is not quoted.
		return nil, errors.New("document: a MongoDB address is mongodb://host/prefix, the prefix a simple name")
	}
	// Without the prefix: the driver would take it for the database to authenticate against.
	e := &mongoEngine{uri: server + "//" + hosts + "/", database: prefix + "_" + name, app: prefix + "-" + name}
	if query != "" {
		e.uri += "?" + query
	}
	if server == "mongodb:" && options.Client().ApplyURI(e.uri).Validate() != nil {
		return nil, errors.New("document: the MongoDB address cannot be understood")
	}
	return e, nil
}

// connect makes the client at the first use; it dials in the background.
func (e *mongoEngine) connect() (*mongo.Database, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &unavailableError{errors.New("the database is closed")}
	}
	if e.client == nil {
		journal := true
		client, err := mongo.Connect(options.Client().SetAppName(e.app).
			SetTimeout(mongoTimeout).SetServerSelectionTimeout(mongoSelection).
			ApplyURI(e.uri). // which may set these otherwise
			SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal}))
		if err != nil {
			return nil, &unavailableError{err}
		}
		e.client = client
	}
	return e.client.Database(e.database), nil
}

func (e *mongoEngine) collection(s *shape) (*mongo.Collection, error) {
	db, err := e.connect()
	if err != nil {
		return nil, err
	}
	return db.Collection(s.name), nil
}

func (e *mongoEngine) ping(ctx context.Context) error {
	db, err := e.connect()
	if err != nil {
		return err
	}
	return mongoError(db.Client().Ping(ctx, nil))
}

func (e *mongoEngine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), mongoTimeout)
	defer cancel()
	client := e.client
	e.client = nil
	return client.Disconnect(ctx)
}

func (e *mongoEngine) next(ctx context.Context, counter string, n int64) (int64, error) {
	db, err := e.connect()
	if err != nil {
		return 0, err
	}
	c := db.Collection(counters)
	for try := 0; ; try++ {
		var now struct {
			Value int64 `bson:"value"`
		}
		id := bson.D{{Key: "_id", Value: counter}}
		err := c.FindOne(ctx, id).Decode(&now)
		if errors.Is(err, mongo.ErrNoDocuments) {
			_, err = c.InsertOne(ctx, append(id, bson.E{Key: "value", Value: n}))
			if err == nil {
				return n, nil
			}
		} else if err == nil {
			// Guarded by the value instead of $inc: no answer can then stand for two increments.
			result, failed := c.UpdateOne(ctx, append(id, bson.E{Key: "value", Value: now.Value}),
				bson.D{{Key: "$set", Value: bson.D{{Key: "value", Value: now.Value + n}}}})
			if err = failed; err == nil && result.MatchedCount == 1 {
				return now.Value + n, nil
			}
		}
		if err != nil && !mongo.IsDuplicateKeyError(err) {
			return 0, mongoError(err)
		}
		if !backoff(ctx, try) {
			return 0, ctx.Err()
		}
	}
}

// Codes of a server that is changing its part in the replica set, stopping, or building an index that stands in the way.
var unreadyCodes = []int{91, 189, 10107, 11600, 11602, 12587, 13435, 13436}

// mongoError sorts the driver's errors.
func mongoError(err error) error {
	if err == nil || errors.Is(err, errStale) {
		return err
	}
	if unconfirmed(err) {
		return &unavailableError{err}
	}
	if mongo.IsDuplicateKeyError(err) {
		return &conflictError{index: violatedIn(err.Error()), err: err}
	}
	if mongo.IsTimeout(err) || mongo.IsNetworkError(err) || errors.Is(err, mongo.ErrClientDisconnected) {
		return &unavailableError{err}
	}
	if _, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		return &unavailableError{err}
	}
	if _, ok := errors.AsType[topology.ConnectionError](err); ok {
		return &unavailableError{err}
	}
	server, ok := errors.AsType[mongo.ServerError](err)
	if ok && (server.HasErrorLabel("RetryableWriteError") || slices.ContainsFunc(unreadyCodes, server.HasErrorCode)) {
		return &unavailableError{err}
	}
	return err
}

// unconfirmed: the majority did not acknowledge a write in time, whatever else is said of it.
func unconfirmed(err error) bool {
	one, isOne := errors.AsType[mongo.WriteException](err)
	many, isMany := errors.AsType[mongo.BulkWriteException](err)
	return isOne && one.WriteConcernError != nil || isMany && many.WriteConcernError != nil
}

var duplicate = regexp.MustCompile(`index: (\S+)`)

// uniqueSuffix tells the index that enforces uniqueness from the one that queries use.
const uniqueSuffix = ".unique"

// violatedIn finds the index in the server's words; it is empty for the key.
func violatedIn(message string) string {
	found := duplicate.FindStringSubmatch(message)
	if found == nil || !strings.HasSuffix(found[1], uniqueSuffix) {
		return ""
	}
	// A server before 4.2 writes database.collection.$index.
	name := found[1][strings.LastIndex(found[1], "$")+1:]
	return strings.TrimSuffix(name, uniqueSuffix)
}

func path(name string) string { return "f." + name }

func there(name string, exists bool) bson.E {
	return bson.E{Key: name, Value: bson.D{{Key: "$exists", Value: exists}}}
}

func oneOfMany(keys []string) bson.E {
	return bson.E{Key: "_id", Value: bson.D{{Key: "$in", Value: keys}}}
}
