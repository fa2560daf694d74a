package channel

import (
	"context"
	"log/slog"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// mailFolder is where mail goes while no server is configured, for whoever tries the
// platform out to read.
type mailFolder struct {
	files folder
	log   *slog.Logger
}

// send writes the mail under its delivery's name; a folder that cannot be written to is
// the operator's to put right, so the mail waits.
func (f mailFolder) send(ctx context.Context, l letter) dispatch.Result {
	if err := f.files.put(l.id+".eml", l.body); err != nil {
		f.log.WarnContext(ctx, "mail cannot be written to its folder", "delivery", l.id, "error", err)
		return dispatch.Result{Code: codeUnwritten}
	}
	return dispatch.Result{}
}
