package engine

import "fmt"

// Format is document.Format.
const Format = 1

// NewerError means that a newer program has written the data.
type NewerError struct {
	Place  string
	Stored int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has data of format %d, and this program knows formats up to %d; start the newer version that has used them, or restore a backup from before the upgrade",
		e.Place, e.Stored, Format)
}

// CheckFormat returns a NewerError if stored, the format of the data at place, is higher than Format.
func CheckFormat(place string, stored int) error {
	if stored > Format {
		return &NewerError{place, stored}
	}
	return nil
}
