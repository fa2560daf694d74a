package backup

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bellbuoy/bellbuoy/libs/engines"
)

// The topics of busyBroker. The value of a record of deliveries is the offset of the record of changes from which it
// was made. The backup opens the partitions in this order.
const (
	deliveries = "deliveries"
	changes    = "event-changes"
	group      = "planner"
)

// busyBroker is a broker with a consumer that reads changes and publishes deliveries.
type busyBroker struct {
	t      *testing.T
	broker *engines.Broker
	client *kgo.Client
	admin  *kadm.Client
	rounds int
}

func startBroker(t *testing.T, folder string) *busyBroker {
	t.Helper()
	broker, err := engines.StartKafka(t.Context(), engines.Kafka{Addr: "127.0.0.1:0", Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() }) // always returns nil
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DisableIdempotentWrite(), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &busyBroker{t: t, broker: broker, client: client, admin: kadm.NewClient(client)}
}

func (b *busyBroker) create(topic string) {
	b.t.Helper()
	perRecord := "1" // one byte: each record begins a new segment and so has its own files
	if _, err := b.admin.CreateTopic(b.t.Context(), 1, 1, map[string]*string{"segment.bytes": &perRecord}, topic); err != nil {
		b.t.Fatal(err)
	}
}

// produce appends a record and returns its offset.
func (b *busyBroker) produce(topic string, value int) int64 {
	b.t.Helper()
	record, err := b.client.ProduceSync(b.t.Context(), &kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(value))}).First()
	if err != nil {
		b.t.Fatal(err)
	}
	return record.Offset
}

// round publishes a change and its delivery, and then commits the offset of the change.
func (b *busyBroker) round() {
	b.t.Helper()
	b.produce(changes, b.rounds)
	b.produce(deliveries, b.rounds)
	b.rounds++
	commit := kadm.Offsets{}
	commit.AddOffset(changes, 0, int64(b.rounds), -1)
	if err := b.admin.CommitAllOffsets(b.t.Context(), group, commit); err != nil {
		b.t.Fatal(err)
	}
}

// trim deletes the changes before the offset.
func (b *busyBroker) trim(before int) {
	b.t.Helper()
	offsets := kadm.Offsets{}
	offsets.AddOffset(changes, 0, int64(before), -1)
	deleted, err := b.admin.DeleteRecords(b.t.Context(), offsets)
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *busyBroker) committed() int64 {
	b.t.Helper()
	found, err := b.admin.FetchOffsets(b.t.Context(), group)
	if err != nil {
		b.t.Fatal(err)
	}
	offset, known := found.Lookup(changes, 0)
	if !known || offset.Err != nil {
		b.t.Fatalf("no offset is committed: %v", offset.Err)
	}
	return offset.At
}

// end returns the offset after the last record of the topic. It fails the test unless the topic has all records from
// the offset on, with the produced values.
func (b *busyBroker) end(topic string, from int64) int64 {
	b.t.Helper()
	ends, err := b.admin.ListEndOffsets(b.t.Context(), topic)
	if err != nil || ends.Error() != nil {
		b.t.Fatal(err, ends.Error())
	}
	end, _ := ends.Lookup(topic, 0)
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.broker.Addr()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}))
	if err != nil {
		b.t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	for next := from; next < end.Offset; {
		fetched := reader.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			b.t.Fatalf("%s: record %d of %d: %v", topic, next, end.Offset, err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			if r.Offset != next || string(r.Value) != strconv.FormatInt(next, 10) {
				b.t.Errorf("%s: record %d is %q at the offset %d", topic, next, r.Value, r.Offset)
			}
			next = r.Offset + 1
		})
	}
	return end.Offset
}

// steppedFS calls step before each access to a file or folder.
type steppedFS struct {
	fs.FS
	step func(name string)
}

// Open implements fs.FS.
func (s steppedFS) Open(name string) (fs.File, error) { s.step(name); return s.FS.Open(name) }

// ReadDir implements fs.ReadDirFS.
func (s steppedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	s.step(name)
	return fs.ReadDir(s.FS, name)
}

// Before each access of a backup to the data folder, the broker begins new segments, commits an offset and creates
// topics. Files are deleted before the backup opens or copies them. The restored broker has each record that was not
// deleted. For each committed offset, it has the results that the consumer made of the earlier records.
func TestABackupOfABusyBrokerIsConsistent(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	b := startBroker(t, filepath.Join(data, "kafka"))
	b.create(changes)
	b.create(deliveries)
	const before = 6 // number of rounds before the backup
	for range before {
		b.round()
	}
	for _, name := range []string{"redis.new", "kafka/topics.json.tmp"} { // temporary files as a kill leaves them
		if err := os.WriteFile(filepath.Join(data, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trimmed := 0
	files, err := list(steppedFS{os.DirFS(data), func(name string) {
		b.round()
		switch inside, found := strings.CutPrefix(name, "kafka/partitions/"); {
		case !found:
			created := fmt.Sprintf("new-%d", b.rounds)
			b.create(created)
			b.produce(created, 0)
		case strings.HasPrefix(inside, changes+"-0/") && trimmed < before: // delete only records that all groups have finished long ago
			trimmed++
			b.trim(trimmed)
		}
	}})
	defer closeAll(files)
	if err != nil || trimmed < before {
		t.Fatalf("%d of %d finished changes were deleted: %v", trimmed, before, err)
	}
	b.round()
	b.trim(b.rounds - 1)
	t.Logf("%d rounds, %d files", b.rounds, len(files))
	m := Manifest{Format: format, Version: version}
	archive := filepath.Join(t.TempDir(), "backup.zip")
	if err := writeArchive(archive, &m, func(w *archiveWriter) error { return w.addKept(t.Context(), data, files) }); err != nil {
		t.Fatal(err)
	}

	restored := filepath.Join(t.TempDir(), "restored")
	if m, err = Restore(t.Context(), archive, restored); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		if unfinished(filepath.Base(f.Name)) {
			t.Errorf("the backup has the unfinished file %s", f.Name)
		}
	}
	again := startBroker(t, filepath.Join(restored, "kafka"))
	committed := again.committed()
	if committed < before || committed > int64(b.rounds) {
		t.Errorf("the committed offset is %d after %d rounds before the backup and %d until its end", committed, before, b.rounds)
	}
	for topic, from := range map[string]int64{changes: before, deliveries: 0} {
		end := again.end(topic, from)
		if end < committed {
			t.Errorf("%s ends at %d, although %d changes are finished", topic, end, committed)
		}
		if next := again.produce(topic, int(end)); next != end {
			t.Errorf("the next record of %s is at %d instead of %d", topic, next, end)
		}
	}
	again.expectTopics(restored)
}

// expectTopics fails the test unless the broker knows the topic of each partition in the folder. Otherwise, a topic
// that is created again would continue the old files.
func (b *busyBroker) expectTopics(data string) {
	b.t.Helper()
	topics, err := b.admin.ListTopics(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	folders, err := os.ReadDir(filepath.Join(data, "kafka", "partitions"))
	if err != nil {
		b.t.Fatal(err)
	}
	created := 0
	for _, folder := range folders {
		name, err := url.PathUnescape(strings.TrimSuffix(folder.Name(), "-0"))
		if err != nil || !topics.Has(name) {
			b.t.Errorf("the broker does not know the topic of the partition %s, %v", folder.Name(), err)
		}
		if strings.HasPrefix(name, "new-") {
			created++
		}
	}
	if created == 0 {
		b.t.Error("the backup has none of the new topics")
	}
}

// The data folder itself may be a symbolic link. A link inside the folder is refused, because the backup would not
// contain its target.
func TestBackupFollowsNoLinkInTheFolder(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	files, err := list(os.DirFS(link))
	closeAll(files)
	if err != nil || len(files) != 1 || files[0].name != "secret" {
		t.Errorf("a link to the folder has the files %v, %v", files, err)
	}
	for _, name := range []string{"documents", "kafka", "secret-of-another-folder"} {
		inside := filepath.Join(data, name)
		if err := os.Symlink(t.TempDir(), inside); err != nil {
			t.Fatal(err)
		}
		files, err := list(os.DirFS(data))
		closeAll(files)
		if err == nil || !strings.Contains(err.Error(), name+" is a symbolic link") {
			t.Errorf("with a link %s in the folder: %v", name, err)
		}
		if err := os.Remove(inside); err != nil {
			t.Fatal(err)
		}
	}
}

// A mail that is deleted while the backup copies files is left out. The temporary file of a mail is never copied.
func TestABackupOmitsDeletedMails(t *testing.T) {
	data, archive := t.TempDir(), filepath.Join(t.TempDir(), "backup.zip")
	if err := os.Mkdir(filepath.Join(data, "mail"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1.eml", "2.eml", "3.draft"} {
		if err := os.WriteFile(filepath.Join(data, "mail", name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := list(os.DirFS(data))
	defer closeAll(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, "mail", "1.eml")); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Format: format, Version: version}
	if err := writeArchive(archive, &m, func(w *archiveWriter) error { return w.addKept(t.Context(), data, files) }); err != nil {
		t.Fatal(err)
	}
	if len(m.Files) != 1 || !m.Has("mail/2.eml") {
		t.Errorf("the backup has %v", m.Files)
	}
}
