package delivery_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/deliverylog"
)

// A data folder that cannot be written is logged, and its messages wait for a retry.
func TestMessagesWaitWhileTheDataFolderCannotBeWritten(t *testing.T) {
	for folder, x := range map[string]struct {
		to     topic.Destination
		file   string
		notify topic.Notify
	}{
		"mail": {reader("p1"), ".eml", topic.Notify{topic.Email: {}}},
		"sms":  {phone(), ".json", topic.Notify{topic.SMS: {}}},
	} {
		t.Run(folder, func(t *testing.T) {
			w := newWorld(t)
			c := w.config(slices.Repeat([]time.Duration{time.Second}, 60)...) // more than pass until the folder can be written
			c.Data, c.LogLevel = filepath.Join(w.dir, "data"), "warn"
			path := filepath.Join(c.Data, folder)
			if err := os.Mkdir(c.Data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil { // root cannot write into a file as a folder either
				t.Fatal(err)
			}
			w.person(&c, x.to)
			s := w.start(c)
			sent := change(newEvent(), 1)
			sent.Notify = x.notify
			w.publish(sent, nil)
			id := topic.DeliveryID(sent.ID, x.to.ID)
			apitest.Eventually(t, "the first attempt", func() bool { return len(w.rows(id)) == 1 })
			if row := w.rows(id)[0]; row.Attempts[0].ErrorCode != "unwritten" || row.Status != deliverylog.StatusRetrying {
				t.Errorf("row %+v", row)
			}
			if logged := s.logs.String(); !strings.Contains(logged, "A message cannot be written") || !strings.Contains(logged, path+": not a directory") || strings.Contains(logged, x.to.Address) {
				t.Errorf("the log says %s", logged)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if row := w.ended(sent.ID, x.to.ID)[0]; row.Status != deliverylog.StatusDelivered {
				t.Errorf("row %+v", row)
			}
			if _, err := os.Stat(filepath.Join(path, id+x.file)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Messages in files that are older than the delivery logs are deleted, also after servers were configured, and files of a
// process that was killed while it wrote them. Other files stay.
func TestMessagesInFilesAreDeletedWithTheirLogs(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.Data = filepath.Join(w.dir, "data")
	c.SMTPURL, c.MailFrom = "smtp://127.0.0.1:1", "status@example.com"
	const day = 24 * time.Hour
	ages := map[string]time.Duration{
		"mail/old.eml": 31 * day, "mail/young.eml": 29 * day, "mail/1.draft": 31 * day, "mail/notes.txt": 31 * day, "mail/more/old.eml": 31 * day, "mail/sub.eml/x": 31 * day,
		"sms/old.json": 31 * day, "sms/young.json": 29 * day, "sms/old.eml": 31 * day, "old.eml": 31 * day,
	}
	for name, age := range ages {
		path := filepath.Join(c.Data, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	w.start(c)
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(c.Data, name))
		return err == nil
	}
	gone := []string{"mail/old.eml", "mail/1.draft", "sms/old.json"}
	apitest.Eventually(t, "the old messages to go", func() bool { return !slices.ContainsFunc(gone, exists) })
	for name := range ages {
		if !exists(name) && !slices.Contains(gone, name) {
			t.Errorf("%s was deleted", name)
		}
	}
}
