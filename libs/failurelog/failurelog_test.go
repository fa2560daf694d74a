package failurelog_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/failurelog"
)

func lines(out *bytes.Buffer) []string {
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// 100 records fail ten times a second for five minutes. The log gets one line when this begins, one each minute, and
// one when it ends.
func TestAnOutageIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := failurelog.New(slog.New(slog.NewTextHandler(&out, nil)))
		cause := failurelog.Cause{Message: "Recipients cannot be resolved.", Of: "subscribers"}
		log.Over(t.Context(), cause)
		const records, each = 100, 10 * 60 * 5
		var group sync.WaitGroup
		for range records {
			group.Go(func() {
				for range each {
					log.Failed(t.Context(), cause, errors.New("refused"), "change", "c1")
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		group.Wait()
		for range records {
			log.Over(t.Context(), cause)
		}
		got := lines(&out)
		if len(got) != 6 {
			t.Fatalf("%d lines: %q", len(got), got)
		}
		for _, part := range []string{"level=WARN", "Recipients cannot be resolved.", "of=subscribers", "error=refused", "failures=1 ", "change=c1"} {
			if !strings.Contains(got[0], part) {
				t.Errorf("the first line lacks %q: %s", part, got[0])
			}
		}
		for _, part := range []string{"level=INFO", "An outage is over.", "failures=300000", "lasted=5m0s", "Recipients cannot be resolved."} {
			if !strings.Contains(got[5], part) {
				t.Errorf("the last line lacks %q: %s", part, got[5])
			}
		}
	})
}

// If a cause fails for one record and succeeds for another, the number of lines is limited, too. Each cause has its own
// lines.
func TestACauseThatChangesIsLoggedAFewTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := failurelog.New(slog.New(slog.NewTextHandler(&out, nil)))
		a, b := failurelog.Cause{Message: "a"}, failurelog.Cause{Message: "b"}
		log.Failed(t.Context(), b, errors.New("refused"))
		for range 600 {
			log.Failed(t.Context(), a, errors.New("refused"))
			log.Over(t.Context(), a)
			time.Sleep(100 * time.Millisecond)
		}
		log.Over(t.Context(), b)
		got := lines(&out)
		if n := len(got); n < 4 || n > 16 {
			t.Errorf("%d lines in a minute: %q", n, got)
		}
		if last := got[len(got)-1]; !strings.Contains(last, "ended=b") || !strings.Contains(last, "lasted=1m0s") {
			t.Errorf("the last line is %s", last)
		}
	})
}
