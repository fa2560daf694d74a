package channel

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bellbuoy/bellbuoy/services/delivery/internal/dispatch"
)

// codeUnwritten is a file that could not be written.
const codeUnwritten = dispatch.Code("unwritten")

// folder keeps what there is no server for: a file each, complete as soon as it can be
// seen, for nobody else to read. The same name again is the same message again.
type folder string

// put writes a file; a name that is there already gets the content anew.
func (f folder) put(name string, content []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	draft, err := os.CreateTemp(string(f), ".draft-*") // mode 0600
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	defer os.Remove(draft.Name()) // it is renamed when all went well
	_, err = draft.Write(content)
	if err == nil {
		err = draft.Sync()
	}
	if ended := draft.Close(); err == nil {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	if err := os.Rename(draft.Name(), filepath.Join(string(f), name)); err != nil {
		return fmt.Errorf("name the file: %w", err)
	}
	return nil
}
