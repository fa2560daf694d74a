package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/bellbuoy/bellbuoy/libs/fault"
	"github.com/bellbuoy/bellbuoy/libs/seal"
	"github.com/gin-gonic/gin"
)

// Page bounds of the App interface (specification, "List (GET) query parameters").
const (
	defaultLimit = 10
	maxLimit     = 100
)

// Pages reads and writes the paging of App lists. A token holds a position only,
// authenticated for the organization and the path it was made for.
type Pages struct{ key []byte }

// NewPages makes the pages of a platform secret.
func NewPages(secret string) Pages { return Pages{seal.Key(secret, "page")} }

// Asked reads limit and nextToken of the request: how many rows, and behind which position.
func (p Pages) Asked(c *gin.Context) (limit int, after string, err error) {
	limit = defaultLimit
	if text, given := c.GetQuery("limit"); given {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxLimit {
			return 0, "", fault.Field("limit", "must be a whole number from 1 to %d", maxLimit)
		}
	}
	token, given := c.GetQuery("nextToken")
	if !given {
		return limit, "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < sha256.Size || !hmac.Equal(raw[:sha256.Size], p.sign(c, raw[sha256.Size:])) {
		return 0, "", fault.Field("nextToken", "is not a token of this list")
	}
	return limit, string(raw[sha256.Size:]), nil
}

// Token makes the nextToken of an answer from the position behind its last row;
// nil, so null, when nothing follows.
func (p Pages) Token(c *gin.Context, next string) *string {
	if next == "" {
		return nil
	}
	token := base64.RawURLEncoding.EncodeToString(append(p.sign(c, []byte(next)), next...))
	return &token
}

func (p Pages) sign(c *gin.Context, position []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	for _, part := range []string{Caller(c).Organization, c.Request.URL.Path} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	mac.Write(position)
	return mac.Sum(nil)
}
