package legacy

import (
	"errors"

	"github.com/gin-gonic/gin"
)

func (r Resource[T]) name() string { return r.Name }

// Check implements Declared.
func (r Resource[T]) Check() error {
	if _, known := findRow(r.Name); !known {
		return errors.New("legacy: " + r.Name + " is not in the table of resources")
	}
	return nil
}

func (r Resource[T]) handler(options Options) gin.HandlerFunc {
	return func(c *gin.Context) {}
}
