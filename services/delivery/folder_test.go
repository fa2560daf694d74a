package delivery_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/apitest"
	"github.com/bellbuoy/bellbuoy/libs/topic"
	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// A data folder that cannot be written is logged, and its messages wait for a retry.
func TestFolder_unwritable(t *testing.T) {
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
			wait := 300 * time.Millisecond
			c := w.config(wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait, wait)
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
			if row := w.rows(id)[0]; row.Attempts[0].ErrorCode != "unwritten" || row.Status != dispatch.StatusRetrying {
				t.Errorf("row %+v", row)
			}
			if told := s.logs.String(); !strings.Contains(told, path+": not a directory") || strings.Contains(told, x.to.Address) {
				t.Errorf("the log says %s", told)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if row := w.ended(sent.ID, x.to.ID)[0]; row.Status != dispatch.StatusDelivered {
				t.Errorf("row %+v", row)
			}
			if _, err := os.Stat(filepath.Join(path, id+x.file)); err != nil {
				t.Error(err)
			}
		})
	}
}
